"""Runs in the studio: listed from their small files, their frames as arrays, and the pages that show them."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from studio_kit import RunningStudio, running_studio

import keyfluid
from browser import Browser

pytest.importorskip("starlette")

from keyfluid.errors import KeyfluidError
from keyfluid.io.run.layout import FRAMES, RESULT, SCENE
from keyfluid.runs.pictures import centred
from keyfluid.runs.run import open_run
from keyfluid.studio import runs_listing
from keyfluid.studio.open_runs import OpenRuns
from keyfluid.studio.run_frames import FrameAnswers, Request
from keyfluid.studio.run_words import MEANINGS, about
from keyfluid.studio.workspace import Workspace

SMALL = {"film": "draft", "size": 32, "vdb": False}
FLAT = {
    "domain": {"size": [1.0, 0.75], "resolution": 32},
    "time": {"frames": 6},
    "smoke": {"initial": {"shape": "disk", "center": [0.3, 0.4], "radius": 0.2, "mass": "first-key"}},
    "keyframe": [{"frame": 6, "shape": "box", "center": [0.6, 0.4], "size": [0.3, 0.3]}],
    "obstacle": [{"shape": "disk", "center": [0.5, 0.1], "radius": 0.08}],
    "control": {"method": "target"},
    "output": SMALL,
}
DEEP = {
    "domain": {"size": [1.0, 1.0, 0.8], "resolution": 16},
    "time": {"frames": 3},
    "smoke": {"initial": {"shape": "sphere", "center": [0.4, 0.5, 0.4], "radius": 0.25}, "buoyancy": 1.0},
    "obstacle": [{"shape": "sphere", "center": [0.7, 0.3, 0.4], "radius": 0.12}],
    "camera": {"floor": True},
    "output": SMALL,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with a run in 2D, one in 3D, and one in 2D whose process was killed after frame 3."""
    root = tmp_path_factory.mktemp("workspace")
    for name, scene in (("flat", FLAT), ("deep", DEEP)):
        keyfluid.run({"name": name, **scene}, root / "runs" / name, threads=1)
    half = root / "runs" / "half"
    shutil.copytree(root / "runs" / "flat", half)
    result = json.loads((half / RESULT).read_text())
    (half / RESULT).write_text(json.dumps({**result, "status": "running", "keyframes": []}))
    for index in (4, 5, 6):
        (half / FRAMES / f"{index:04d}.npz").unlink()
    return root


@pytest.fixture(scope="module")
def studio(folder: Path) -> Iterator[RunningStudio]:
    with running_studio(folder) as running:
        yield running


def unpacked(content: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What the page makes of an answer (static/api.js)."""
    length = int.from_bytes(content[:4], "little")
    header = json.loads(content[4 : 4 + length])
    arrays = {}
    for entry in header["arrays"]:
        flat = np.frombuffer(content, f"<{entry['dtype']}", entry["count"], entry["offset"])
        arrays[entry["name"]] = flat.reshape(entry["shape"], order="F")
    return header, arrays


def asked(studio: RunningStudio, run: str, **values: Any) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    answer = studio.ask("GET", "/api/frame", {"path": f"runs/{run}", **values})
    assert answer.status == 200, answer.content
    return unpacked(answer.content)


def test_runs_are_listed_without_their_arrays_and_read_once(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "many"
    for number in range(40):
        place = root / "runs" / f"{number:03d}"
        (place / FRAMES).mkdir(parents=True)
        for name in (SCENE, RESULT, ".keyfluid"):
            shutil.copy(folder / "runs" / "flat" / name, place / name)
        (place / FRAMES / "0000.npz").write_bytes(b"not an array")
    read: list[Path] = []
    true = runs_listing.read_result
    monkeypatch.setattr(runs_listing, "read_result", lambda path: read.append(path) or true(path))
    workspace = Workspace(root)
    lines = runs_listing.run_lines(workspace)
    assert len(lines) == len(read) == 40
    first = lines[0]
    assert (first["kind"], first["status"], first["cells"], first["frames_done"]) == ("run", "finished", [32, 24], 1)
    assert first["keyframes"][0]["frame"] == 6
    assert first["keyframes"][0]["relative_error"] > 0
    changed = root / "runs" / "007" / RESULT
    os.utime(changed, ns=(1, 1))
    (root / "runs" / "008" / FRAMES / "0001.npz").write_bytes(b"")
    again = {line["name"]: line for line in runs_listing.run_lines(workspace)}
    assert read[40:] == [changed.resolve()]
    assert again["008"]["frames_done"] == 2


def test_a_run_whose_files_are_damaged_is_listed_with_its_fault(folder: Path, tmp_path: Path) -> None:
    place = tmp_path / "runs" / "torn"
    shutil.copytree(folder / "runs" / "flat", place)
    (place / SCENE).write_text("[domain")
    (place / RESULT).write_text("{")
    line = runs_listing.run_line(Workspace(tmp_path), place)
    assert line["status"] == "damaged"
    assert "fault" in line


def test_frames_are_those_of_the_run(studio: RunningStudio, folder: Path) -> None:
    run = open_run(folder / "runs" / "flat")
    frame, problem = run.frames[4], run.problem
    header, arrays = asked(studio, "flat", frame=4)
    expected = np.clip(frame.densities["density"] / problem.peaks["density"], 0, 1) * 255
    assert np.abs(arrays["density"] - expected).max() <= 0.51
    assert header["full"] == 255
    _, fine = asked(studio, "flat", frame=4, fine=1)
    assert np.abs(fine["density"] / 257 - expected).max() <= 0.01
    _, small = asked(studio, "flat", frame=4, size=16)
    means = expected.reshape(16, 2, 12, 2).mean(axis=(1, 3))
    assert small["density"].shape == (16, 12)
    assert np.abs(small["density"] - means).max() <= 0.51
    _, flow = asked(studio, "flat", frame=4, what="velocity")
    assert np.allclose(flow["velocity"], np.stack(centred(frame.velocity)), atol=1e-6)
    _, force = asked(studio, "flat", frame=4, what="force")
    assert np.abs(force["force"]).max() > 0
    _, target = asked(studio, "flat", frame=6, what="target")
    wanted = problem.keyframes[0].target / problem.peaks["density"]
    assert np.abs(target["density"] - 255 * np.clip(wanted, 0, 1)).max() <= 0.51
    assert asked(studio, "flat", frame=5, what="target")[1] == {}
    _, solid = asked(studio, "flat", frame=0, what="obstacle")
    inside = problem.solids(0.0).solid  # type: ignore[union-attr]
    assert np.mean((solid["distance"] > 127) == inside) > 0.97
    assert solid["distance"][inside].max() > 140


def test_a_liquid_has_a_surface_and_smoke_has_none(studio: RunningStudio, monkeypatch: pytest.MonkeyPatch) -> None:
    from types import SimpleNamespace

    from keyfluid.grid import Grid
    from keyfluid.studio import run_frames

    assert studio.ask("GET", "/api/frame", {"path": "runs/deep", "frame": 1, "what": "surface"}).status == 404
    grid = Grid((12, 12, 12), 0.1)
    x, y, z = grid.coordinates((False, False, False))
    ball = np.sqrt((x - 0.6) ** 2 + (y - 0.5) ** 2 + (z - 0.6) ** 2) - 0.3
    stored = SimpleNamespace(arrays={"surface": ball.ravel()}, meta={"index": 0})
    fluid = SimpleNamespace(drawn_as="surface")
    problem = SimpleNamespace(grid=grid, fluid=fluid, densities={"surface": None})
    run: Any = SimpleNamespace(problem=problem, read=lambda index, wanted: stored)
    _, arrays = run_frames.MAKERS["surface"](run, Request(0))
    away = np.linalg.norm(arrays["vertices"] - np.array([[0.6], [0.5], [0.6]]), axis=0)
    assert arrays["vertices"].shape[0] == arrays["faces"].shape[0] == 3
    assert np.abs(away - 0.3).max() < 0.02
    assert arrays["faces"].max() < arrays["vertices"].shape[1]


def test_a_run_explains_every_number(studio: RunningStudio) -> None:
    for name in ("flat", "deep"):
        run = studio.get("run", path=f"runs/{name}")
        assert run["line"]["status"] == "finished"
        assert run["frames"] == list(range(run["last"] + 1))
        assert {number["name"] for number in run["numbers"]} <= set(MEANINGS)
        assert all(number["meaning"] and number["text"] for number in [*run["numbers"], *run["tiles"]])
    flat = studio.get("run", path="runs/flat")
    assert "frame 6" in flat["words"][0]
    assert flat["has"]["force"]
    assert flat["charts"]
    assert studio.get("run", path="runs/deep")["view"]["floor"] is True


def test_frames_of_an_unfinished_run_are_there_and_not_kept(studio: RunningStudio, folder: Path) -> None:
    run = studio.get("run", path="runs/half")
    assert (run["line"]["status"], run["frames"]) == ("interrupted", [0, 1, 2, 3])
    values = {"path": "runs/half", "frame": 3, "revision": run["revision"]}
    there = studio.ask("GET", "/api/frame", values)
    assert (there.status, there.headers["cache-control"]) == (200, "no-store")
    assert studio.ask("GET", "/api/frame", {**values, "frame": 5}).status == 404
    shutil.copy(folder / "runs" / "flat" / FRAMES / "0004.npz", folder / "runs" / "half" / FRAMES / "0004.npz")
    assert studio.get("run", path="runs/half")["frames"] == [0, 1, 2, 3, 4]


def test_answers_of_a_finished_run_may_be_kept_and_its_report_runs_apart(studio: RunningStudio) -> None:
    revision = studio.get("run", path="runs/flat")["revision"]
    kept = studio.ask("GET", "/api/frame", {"path": "runs/flat", "frame": 2, "revision": revision})
    assert kept.headers["cache-control"] == "private, max-age=86400"
    report = studio.ask("GET", "/api/run/file", {"path": "runs/flat", "name": "report.html"})
    assert report.status == 200
    assert report.headers["content-security-policy"].startswith("sandbox allow-scripts;")


@pytest.mark.parametrize(
    ("values", "status"),
    [
        ({"frame": 1, "what": "everything"}, 400),
        ({"frame": 1, "field": "fog"}, 404),
        ({"frame": 900_000_000}, 404),
        ({"frame": "-1"}, 400),
        ({"frame": 1, "what": "markers"}, 404),
        ({"frame": 1, "size": "x"}, 400),
        ({}, 400),
    ],
)
def test_what_is_not_there_is_refused_in_words(studio: RunningStudio, values: dict[str, Any], status: int) -> None:
    answer = studio.ask("GET", "/api/frame", {"path": "runs/flat", **values})
    assert answer.status == status
    assert answer.json["error"]["message"]


def test_nothing_outside_of_the_workspace_is_read(folder: Path, tmp_path: Path) -> None:
    root = tmp_path / "work"
    place = root / "runs" / "link"
    shutil.copytree(folder / "runs" / "flat", place)
    outside = tmp_path / "outside"
    (place / FRAMES).rename(outside)
    (place / FRAMES).symlink_to(outside)
    workspace, runs = Workspace(root), OpenRuns()
    with pytest.raises(KeyfluidError, match="leads out of the workspace"):
        runs.get(workspace, "runs/link")
    (place / FRAMES).unlink()
    outside.rename(place / FRAMES)
    assert runs.get(workspace, "runs/link").indices() == list(range(7))
    np.save(tmp_path / "secret.npy", np.ones((8, 8)))
    text = (place / SCENE).read_text().replace('shape = "disk"', f'npy = "{tmp_path / "secret.npy"}"', 1)
    (place / SCENE).write_text(text.replace("radius = 0.2", "", 1))
    with pytest.raises(KeyfluidError, match=r"secret\.npy: lies outside of the workspace"):
        runs.get(workspace, "runs/link")


def test_what_is_kept_is_bounded(folder: Path) -> None:
    workspace, runs = Workspace(folder), OpenRuns(most=1)
    flat = runs.get(workspace, "runs/flat")
    assert runs.get(workspace, "runs/flat") is flat
    runs.get(workspace, "runs/deep")
    assert runs.get(workspace, "runs/flat") is not flat
    answers = FrameAnswers(most=5000)
    for index in range(7):
        answers.get(flat, "density", Request(index, fine=True))
    assert answers._size == sum(map(len, answers._kept.values())) <= 5000
    assert len(answers._kept) == 2
    assert about(flat)["frames"] == list(range(7))


VARIES = """(() => {{ const from = document.querySelector({canvas!r}); const to = document.createElement("canvas");
  [to.width, to.height] = [48, 48]; const c = to.getContext("2d"); c.drawImage(from, 0, 0, 48, 48);
  const d = c.getImageData(0, 0, 48, 48).data; return Array.from(d).filter((_, i) => i % 4 === 0); }})()"""


def pixels(browser: Browser) -> np.ndarray:
    """The red of the film, 48 x 48."""
    return np.array(browser.ask(VARIES.format(canvas=".screen canvas")), float)


def test_the_page_of_a_run_shows_its_film(studio: RunningStudio, tmp_path: Path) -> None:
    with Browser(tmp_path / "profile", webgl=True) as browser:
        viewer = "document.querySelector('.viewer')?.viewer"
        browser.open(studio.address, 1280, 720)
        browser.until("document.querySelector('#page').children.length")
        browser.ask("location.hash = '#/run?path=runs/flat'")
        browser.until(f"{viewer}?.screen.drawn > 0 && document.querySelector('.run-side h1')")
        assert browser.ask(f"{viewer}.frame") == 6  # the keyframe
        last = pixels(browser)
        assert last.std() > 20
        browser.press("Home")
        browser.until(f"{viewer}.frame === 0")
        assert np.abs(pixels(browser) - last).max() > 60
        browser.press("ArrowRight")
        browser.until(f"{viewer}.frame === 1")
        browser.press("End")
        browser.until(f"{viewer}.frame === 6")
        film = pixels(browser)
        for mode in ("difference", "outline", "wipe", "blend"):
            drawn = browser.ask(f"{viewer}.screen.drawn")
            browser.click(f"[data-do=mode-{mode}]")
            browser.until(f"{viewer}.screen.drawn > {drawn}")
            assert np.abs(pixels(browser) - film).max() > 30, mode
        browser.press(" ")
        browser.until(f"{viewer}.transport.playing && {viewer}.frame !== 6")
        browser.press(" ")
        browser.ask("location.hash = '#/run?path=runs/deep'")
        browser.until(f"{viewer}?.info?.dim === 3 && {viewer}.screen.drawn > 0")
        front = pixels(browser)
        assert front.std() > 8
        x, y = browser.middle(".screen")
        browser.drag([(x, y), (x + 120, y + 20), (x + 200, y + 40)])
        browser.until(f"{viewer}.screen.volume.drawn.quick > 2")
        assert np.abs(pixels(browser) - front).max() > 15
        assert browser.faults == []
