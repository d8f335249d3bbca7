"""`keyfluid studio` as a program: faults in one line, odd bytes on the wire, kernels compiled beside it."""

from __future__ import annotations

import re
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")

from packaging.requirements import Requirement
from studio_kit import HEADER, RunningStudio, running_studio
from websockets.exceptions import ConnectionClosedError, InvalidStatus
from websockets.sync.client import connect

from browser import Browser
from keyfluid.cli.main import main
from keyfluid.scenes import scene_from
from keyfluid.scenes.build.problem import build
from keyfluid.studio import warm_kernels
from keyfluid.studio.state import Studio
from keyfluid.studio.warm import WarmUp
from keyfluid.studio.workspace import Workspace

Call = Callable[..., tuple[Any, str, str]]
NEEDED = ("starlette", "uvicorn", "websockets", "tomlkit")


@pytest.fixture
def keyfluid(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    def call(*words: object) -> tuple[Any, str, str]:
        monkeypatch.setattr(sys, "argv", ["keyfluid", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            main()
        return (end.value.code or 0, *capsys.readouterr())

    return call


def test_a_folder_that_can_not_be_used(keyfluid: Call, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "below", Path("/")):
        code, out, err = keyfluid("studio", folder, "--port", 0, "--no-open", "--no-warm")
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert re.fullmatch(rf"keyfluid: {folder}: .+; give a folder .+\n", err)


def test_a_port_in_use_and_a_foreign_address(keyfluid: Call, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, out, err = keyfluid("studio", tmp_path, "--port", port, "--no-open", "--no-warm")
    assert (code, out) == (2, "")
    assert err == f"keyfluid: --port {port}: Address already in use; give another one, or 0 for any\n"
    code, out, err = keyfluid("studio", tmp_path, "--port", 0, "--host", "192.0.2.1", "--no-open", "--no-warm")
    assert (code, out) == (2, "")
    assert err == "keyfluid: --host 192.0.2.1: is not an address of this machine; the default is 127.0.0.1\n"


def test_a_missing_package_is_named(keyfluid: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NEEDED:
        with monkeypatch.context() as hidden:
            hidden.setitem(sys.modules, name, None)  # type: ignore[arg-type]
            code, out, err = keyfluid("studio", tmp_path)
        assert (code, out) == (2, "")
        assert err == f"keyfluid: studio: {name} is missing; install it: pip install 'keyfluid[studio]'\n"


def test_the_extra_has_what_the_studio_imports(keyfluid: Call) -> None:
    import tomllib

    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extra = {Requirement(text).name for text in project["optional-dependencies"]["studio"]}
    assert extra == set(NEEDED)
    code, out, _ = keyfluid("studio", "--help")
    assert code == 0
    plain = re.sub(r"\s+", " ", re.sub(r"\x1b\[[\d;]*m|[│╭╮╰╯─]", "", out))
    for words in ("--port", "--host", "--no-open", "--allow", "--no-warm", "on one line", "this machine only"):
        assert words in plain


def raw(studio: RunningStudio, *lines: str, body: bytes = b"") -> bytes:
    """The first line of the answer to bytes as they are."""
    with socket.create_connection(("127.0.0.1", studio.port), timeout=20) as wire:
        wire.sendall("\r\n".join([*lines, "", ""]).encode("latin-1") + body)
        return wire.recv(4096).partition(b"\r\n")[0]


def test_odd_bytes_on_the_wire(tmp_path: Path) -> None:
    with running_studio(tmp_path / "work") as studio:
        host, token = f"Host: 127.0.0.1:{studio.port}", f"{HEADER}: {studio.token}"
        assert raw(studio, "GET /api/hello HTTP/1.1", host, token).endswith(b" 200 OK")
        assert b" 403 " in raw(studio, "GET /api/hello HTTP/1.0", token)
        assert b" 403 " in raw(studio, "GET http://evil.example/ HTTP/1.1", "Host: evil.example", token)
        for bad in (
            ["GET /api/hello HTTP/1.1", host, host, token],
            ["GET /api/hello HTTP/1.1", host, token, "Content-Length: 1", "Content-Length: 2"],
            ["GET /api/hello HTTP/1.1", host, token, "Content-Length: -1"],
            ["GET /api/hello HTTP/1.1", host, token, "a b: c"],
            ["GET /\x00 HTTP/1.1", host, token],
            ["\x16\x03\x01"],
        ):
            assert re.match(rb"HTTP/1.1 4\d\d", raw(studio, *bad)), bad
        both = ("Content-Length: 4", "Transfer-Encoding: chunked")
        inner = b"0\r\n\r\nGET /api/hello HTTP/1.1\r\n\r\n"
        smuggled = raw(studio, "POST /api/hello HTTP/1.1", host, token, *both, body=inner)
        assert re.match(rb"HTTP/1.1 4\d\d", smuggled)

        place = f"ws://127.0.0.1:{studio.port}/api/events"
        with pytest.raises(InvalidStatus, match="403"):
            connect(place, additional_headers={HEADER: studio.token}, proxy=None)
        with studio.socket("events") as page:
            assert page.protocol.extensions == []
            page.recv()
            with suppress(ConnectionClosedError):  # the studio may hang up before all of it is sent
                page.send("x" * (2 << 20))
            with pytest.raises(ConnectionClosedError):
                page.recv(timeout=20)
        assert studio.get("hello")["warm"]


def test_the_page_opens_from_a_link_on_another_page(tmp_path: Path) -> None:
    """The way of a strict cookie in a real browser."""
    with running_studio(tmp_path / "work") as studio, Browser(tmp_path / "profile") as browser:
        link = tmp_path / "link.html"
        link.write_text(f'<meta http-equiv="refresh" content="0; url={studio.address}">')
        browser.call("Page.navigate", url=link.as_uri())
        browser.until(f"location.origin === 'http://127.0.0.1:{studio.port}' && document.querySelector('#bar .brand')")
        assert browser.ask("location.href") in (f"http://127.0.0.1:{studio.port}/{end}" for end in ("", "#/home"))


@pytest.fixture
def studio(tmp_path: Path) -> Studio:
    return Studio(Workspace(tmp_path), "token", 1)


def until(found: Callable[[], object]) -> None:
    end = time.monotonic() + 30
    while not found():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("program", "said"), [("pass", ""), ("raise SystemExit(3)", "keyfluid: kernels were not compiled")]
)
def test_the_page_hears_when_kernels_are_compiled(
    studio: Studio, capfd: pytest.CaptureFixture[str], program: str, said: str
) -> None:
    WarmUp(studio, ("-c", program)).start()
    until(lambda: studio.events.last)
    assert studio.warm
    assert [event["type"] for event in studio.events.after(0) or ()] == ["warm"]
    assert capfd.readouterr().err.startswith(said)


def test_compiling_ends_with_the_server(studio: Studio) -> None:
    warming = WarmUp(studio, ("-c", "import time; time.sleep(60)"))
    warming.start()
    warming.stop()
    process = warming._process
    assert process is not None
    until(lambda: process.poll() is not None)
    time.sleep(0.05)
    assert (studio.warm, studio.events.last) == (False, 0)


def test_the_scenes_that_are_compiled_are_scenes() -> None:
    for dim in (2, 3):
        for method in warm_kernels.METHODS:
            problem = build(scene_from(warm_kernels.scene(method, dim)))
            assert problem.scene.control.method == method
