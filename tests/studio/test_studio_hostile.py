"""Hostile names, links, uploads and messages to every route: nothing outside is touched, no 500, no traceback."""

from __future__ import annotations

import asyncio
import json
import multiprocessing.process
import os
import random
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

pytest.importorskip("starlette")

from asgi_kit import Answer, InProcess, addresses, good_headers, in_process
from hostile_names import ODD_VALUES, mutated, names, noise
from hostile_place import GOOD, SECRET, tree, watched, workspace_with_links
from hostile_table import PNG, SCENE, TABLE, Takes
from starlette.requests import Request

from keyfluid.runs.run import run
from keyfluid.studio import events
from keyfluid.studio.answers import Refused, body_of, json_in
from keyfluid.studio.workspace import Workspace

MESSAGES = 10_000
ROUTES = sorted(place for place in set(addresses()) if place[0] != "HEAD" and not place[1].startswith("/static"))
KNOWN = [place for place in ROUTES if place in TABLE]
NAMED = [place for place in KNOWN if TABLE[place].names]


@pytest.fixture(scope="module")
def a_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "run"
    run(GOOD, folder)
    return folder


@pytest.fixture
def studio(tmp_path: Path, a_run: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[InProcess]:
    """A workspace with links that lead out; no process is started, and no disk waited for."""

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(1, "no process in this test")

    workspace_with_links(tmp_path / "work", tmp_path / "outside", a_run)
    monkeypatch.setattr(os, "fsync", lambda _: None)
    monkeypatch.setattr(subprocess.Popen, "__init__", refuse)
    monkeypatch.setattr(multiprocessing.process.BaseProcess, "start", refuse)
    with in_process(tmp_path / "work") as studio:
        yield studio


@contextmanager
def untouched(folder: Path) -> Iterator[None]:
    """Nothing outside the workspace is read, written or listed."""
    outside = folder / "outside"
    before = tree(outside)
    with watched(folder / "work", outside) as seen:
        yield
    assert seen == []
    assert tree(outside) == before
    assert {path.name for path in folder.iterdir()} == {"work", "outside"}


def send(studio: InProcess, place: tuple[str, str], takes: Takes, messages: Sequence[str | bytes] = ("{}",)) -> Answer:
    method, path = place
    if method == "WS":
        return studio.socket(f"{path}?{urlencode(takes.query, errors='surrogatepass')}", messages)
    return studio.ask(method, path, takes.query, b"" if takes.body is None else takes.body)


def with_name(takes: Takes, key: str, value: Any) -> Takes:
    """The same request with another value of `key`, where it stands or would stand."""
    if isinstance(takes.body, dict) and key not in takes.query:
        return Takes(takes.names, takes.query, {**takes.body, key: value})
    kept = {} if key == "gallery" else takes.query
    return Takes(takes.names, {**kept, key: value}, takes.body)


def revision(studio: InProcess) -> str:
    """Of the scene as it is, so that a change of it is taken."""
    opened = studio.ask("GET", "/api/scene", {"path": SCENE})
    return str(opened.json["revision"]) if opened.status == 200 else ""


def check(answer: Answer, said: Any) -> None:
    """An answer that says yes or no, and gives nothing away."""
    text = answer.content + b"".join(one.encode() if isinstance(one, str) else one for one in answer.sent)
    assert answer.raised is None, (said, answer.raised)
    answered = answer.status < 500 or answer.status == 507 if answer.status else answer.accepted or answer.closed
    assert answered, (said, answer.status, text)
    assert not [word for word in (b"Traceback", b'File "', SECRET.encode()) if word in text], (said, text)


def test_every_route_has_a_line_in_the_table() -> None:
    assert [place for place in ROUTES if place not in TABLE] == []
    assert [place for place in TABLE if place not in ROUTES] == []


@pytest.mark.parametrize("place", NAMED, ids=" ".join)
def test_hostile_names(studio: InProcess, tmp_path: Path, place: tuple[str, str]) -> None:
    takes = TABLE[place]
    found = names(tmp_path / "outside")
    assert len(found) >= 200
    with untouched(tmp_path):
        for key in takes.names:
            for value in [*found, *ODD_VALUES]:
                check(send(studio, place, with_name(takes, key, value)), (key, value))


def test_what_the_workspace_finds_lies_inside(tmp_path: Path, a_run: Path) -> None:
    """And is no link and not hidden."""
    workspace_with_links(tmp_path / "work", tmp_path / "outside", a_run)
    workspace, given = Workspace(tmp_path / "work"), []
    finders: list[Callable[[str], Path]] = [
        workspace.inside, workspace.scene, workspace.run, lambda name: workspace.inside(name, must_exist=False)
    ]  # fmt: skip
    with untouched(tmp_path):
        for name, find in product(names(tmp_path / "outside"), finders):
            with suppress(Refused):
                given.append(find(name))
    assert len(given) > 10
    assert {path.resolve() == path and path.is_relative_to(workspace.root) for path in given} == {True}
    assert not [path for path in given if ".studio" in path.parts or not path.name.isprintable()]
    assert {workspace.name_of(path) for path in workspace.scenes()} == {SCENE, "scenes/other/scene.toml"}
    assert [workspace.name_of(path) for path in workspace.runs()] == ["runs/word"]
    readable = {"link.png": False, "loop.toml": False, "dangling.toml": False, "new.png": True, "\0": False}
    assert {name: workspace.may_read(workspace.root / "scenes/word" / name) for name in readable} == readable


def test_new_names_are_plain(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "work")
    for name in names(tmp_path / "outside"):
        with suppress(Refused):
            made = workspace.free("scenes", name)
            assert made.parent == workspace.root / "scenes"
            assert made.name[0] != "."
            assert len(made.name.encode()) < 200
            made.mkdir()
    assert len(list((tmp_path / "work/scenes").iterdir())) > 100
    assert {path.name for path in tmp_path.iterdir()} == {"work"}


def test_deleting_a_scene_leaves_its_neighbours(tmp_path: Path, a_run: Path) -> None:
    workspace_with_links(tmp_path / "work", tmp_path / "outside", a_run)
    workspace = Workspace(tmp_path / "work")
    neighbour = workspace.root / "scenes/other/second.toml"
    neighbour.write_text("")
    workspace.discard(neighbour)
    assert workspace.scene("scenes/other/scene.toml")
    workspace.discard(workspace.scene("scenes/other/scene.toml"))
    assert not (workspace.root / "scenes/other").exists()
    assert len(list((workspace.root / "trash").iterdir())) == 3


def test_static_files_stay_in_their_folder(studio: InProcess) -> None:
    ends = [
        "../guard.py",
        "..%2fguard.py",
        "%2e%2e/guard.py",
        "%2e%2e%2f%2e%2e%2ferrors.py",
        "",
        "/etc/passwd",
        "~root",
    ]
    ends += [
        "%2fetc%2fpasswd",
        "..%5cguard.py",
        "main.js%00.png",
        "pages",
        "a" * 3000,
        "%ff%fe",
        "pages/../../guard.py",
    ]
    ends += ["pages/%2e%2e/%2e%2e/guard.py", "MAIN.JS", "./../guard.py", "%252e%252e/guard.py"]
    for target in (*(f"/static/{end}" for end in ends), "/static", "/STATIC/main.js", "//static/main.js"):
        assert studio.ask("GET", target).status == 404, target
    assert studio.ask("POST", "/static/main.js").status == 405
    assert studio.ask("GET", "/static/pages/../main.js").status == 200


def test_odd_header_lines_change_nothing(studio: InProcess) -> None:
    lines = [
        ("range", "bytes=0-0," * 500), ("range", "bytes=-1"), ("if-none-match", "*" * 5000), ("expect", "x"),
        ("x-http-method-override", "PUT"), ("content-length", "-1"), ("content-length", "9" * 400),
        ("transfer-encoding", "x"), ("x-original-url", "/api/jobs"), ("content-type", "\xff" * 300),
        ("if-modified-since", "\x00"), ("accept-encoding", "x" * 5000), ("cookie", ";" * 5000),
    ]  # fmt: skip
    for line, target in product(lines, ("/", "/static/main.js", "/api/hello")):
        check(studio.ask("GET", target, headers=[*good_headers(), line]), (line, target))


@pytest.mark.parametrize("place", [place for place in KNOWN if TABLE[place].body is not None], ids=" ".join)
def test_bodies_are_limited(studio: InProcess, place: tuple[str, str]) -> None:
    """Before they are read where their length is given, while they come where it is not."""
    method, path = place
    assert studio.ask(method, path, TABLE[place].query, [bytes(4 << 20)] * 40).status == 413
    claimed = [*good_headers(), ("content-length", "1" + "0" * 40)]
    assert studio.ask(method, path, TABLE[place].query, b"", claimed).status == 413


def test_a_body_has_to_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("keyfluid.studio.answers.PATIENCE", 0.02)
    parts = [{"type": "http.request", "body": b"{", "more_body": True}]

    async def stops() -> dict[str, Any]:
        return parts.pop() if parts else await asyncio.sleep(10, {})

    async def breaks_off() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    for receive, status in ((stops, 408), (breaks_off, 400)):
        with pytest.raises(Refused) as refused:
            asyncio.run(body_of(Request({"type": "http", "method": "PUT", "headers": []}, receive)))
        assert refused.value.status == status


def test_an_upload_bomb_is_refused(studio: InProcess, tmp_path: Path) -> None:
    """Files whose header claims more than they hold, or that are not what their name says."""
    array = b"\x93NUMPY\x01\x00v\x00{'descr': '%s', 'fortran_order': False, 'shape': (%s,), }"
    bad = {
        "wide.png": PNG[:16] + (60_000).to_bytes(4, "big") * 2 + PNG[24:],
        "cut.png": PNG[:33],
        "svg.png": b"<svg onload=alert(1)>",
        "drawing.svg": b"<svg/>",
        "page.html": b"<script>",
        "scene.toml": b"x = 1",
        "program.py": b"import os",
        "": b"",
        ".png": PNG,
        "empty.png": b"",
        "long.npy": (array % (b"<f8", b"1" + b"0" * 12)).ljust(127) + b"\n",
        "pickle.npy": (array % (b"|O", b"1")).ljust(127) + b"\ncos\nsystem\n",
        "many.ply": b"ply\nformat ascii 1.0\nelement vertex 4000000000\nproperty float x\nend_header\n",
        "cut.glb": b"glTF" + bytes(100),
        "cut.vdb": b" BDV" + bytes(100),
        "cut.ttf": bytes(64),
        "nothing.obj": b"f 1 2 3\n",
    }
    before = tree(tmp_path / "work")
    with untouched(tmp_path):
        for name, content in bad.items():
            answer = studio.ask("PUT", "/api/file", {"scene": SCENE, "name": name}, content)
            check(answer, name)
            assert answer.status in (400, 413, 415, 422), name
        assert tree(tmp_path / "work") == before
        assert studio.ask("PUT", "/api/file", {"scene": SCENE, "name": "good.png"}, PNG).status == 200


def test_random_messages(studio: InProcess, tmp_path: Path) -> None:
    chance = random.Random(22)
    spoken = [place for place in KNOWN if place[0] == "WS"]
    asked = [place for place in KNOWN if isinstance(TABLE[place].body, dict)]
    said = {"type": "set", "keys": {"wind": 1.0}, "name": "x", "frame": 1, "n": 1}

    def message(like: Any, most_noise: float) -> bytes:
        return noise(chance) if chance.random() < most_noise else json.dumps(mutated(like, chance)).encode()

    with untouched(tmp_path):
        for _ in range(MESSAGES // 200):
            place = chance.choice(spoken)
            values = {key: chance.choice([value, *ODD_VALUES]) for key, value in TABLE[place].query.items()}
            texts = [message(said, 0.4).decode(errors="replace") for _ in range(50)]
            check(send(studio, place, Takes(query=values), [*texts, *(message(said, 0.4) for _ in range(50))]), place)
        for _ in range(MESSAGES // 2):
            place = chance.choice(asked)
            takes = TABLE[place]
            body = takes.body | ({"revision": revision(studio)} if "revision" in takes.body else {})
            content = message(body, 0.4)
            check(studio.ask(*place, takes.query, content), (place, content[:300]))


def test_json_that_would_trip_a_route_is_refused() -> None:
    hostile = ['{"a": NaN}', '{"a": -Infinity}', '{"a": 1e999}', '{"a": 9999999999999999999}', '{"a": "\\ud800"}']
    hostile += ['{"\\udfff": 1}', "[" * 33 + "]" * 33, "[" * 100_000, "", "{", '{"a": "\x01"}']
    for text in (*hostile, b"\xff"):
        with pytest.raises(Refused):
            json_in(text)
    whole = {"a": [1, 2.5, None, True, "é", {"b": [[]]}], "\U0001f4a8": 10**17}
    assert json_in(json.dumps(whole)) == whole
    assert json_in("[" * 31 + "]" * 31) is not None


def test_a_page_that_never_reads_is_dropped(studio: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "PATIENCE", 0.05)
    answer = studio.socket("/api/events", reads=False)
    assert answer.accepted
    assert answer.raised is None
    assert studio.studio.events._waiting == set()
