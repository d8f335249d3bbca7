"""Fixing a run: the scene that the page writes runs from the command line, and keeps the frames that shall stay."""

from __future__ import annotations

import base64
import io
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from stage_kit import unpacked
from studio_kit import RunningStudio, running_studio

import keyfluid
from browser import Browser

pytest.importorskip("starlette")

PLUME = """
name = "plume"
[domain]
size = [0.75, 1.0]
resolution = 24
[time]
frames = 6
fps = 12
[smoke]
initial = { shape = "disk", center = [0.35, 0.3], radius = 0.15, mass = "first-key" }
buoyancy = 1.5
[[keyframe]]
frame = 6
shape = "disk"
center = [0.4, 0.5]
radius = 0.15
[control]
method = "spectral"
iterations = 2
[output]
vdb = false
video = false
size = 32
"""
SPHERE = """
[domain]
size = [1.0, 1.0, 1.0]
resolution = 16
[time]
frames = 2
[smoke]
initial = { shape = "sphere", radius = 0.25 }
[output]
vdb = false
video = false
"""


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    folder = tmp_path_factory.mktemp("work")
    keyfluid.run(PLUME, folder / "runs" / "plume", threads=1)
    keyfluid.run(SPHERE, folder / "runs" / "sphere", threads=1)
    with running_studio(folder) as running:
        yield running


def png_of(grey: np.ndarray) -> str:
    file = io.BytesIO()
    Image.fromarray(grey).save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()


def bits(path: Path, index: int) -> dict[str, bytes]:
    frame = keyfluid.open_run(path).frames[index]
    return {"density": frame.densities["density"].tobytes(), "velocity": frame.velocity.data.tobytes()}


def refused(studio: RunningStudio, **wish) -> str:
    answer = studio.ask("POST", "/api/edit", body={"run": "runs/plume", "frame": 4, "first": 2, "last": 5, **wish})
    assert 400 <= answer.status < 500, (answer.status, answer.content)
    return answer.json["error"]["message"]


def test_a_painted_frame_runs_from_the_command_line_and_keeps_what_stays(studio):
    about = studio.get("edit", run="runs/plume")
    assert (about["dim"], about["frames"], about["finished"], about["fields"]) == (2, 6, True, ["density"])
    answer = studio.ask("GET", "/api/edit/picture", {"run": "runs/plume", "frame": 4})
    grey = unpacked(answer.content).arrays["grey"]
    smoke = keyfluid.open_run(studio.folder / "runs" / "plume").frames[4].densities["density"]
    scale = grey.shape[0] // smoke.shape[0]
    assert np.abs(grey[::scale, ::scale] / 255 - smoke / smoke.max()).max() < 0.01
    painted = np.roll(grey, 3 * scale, axis=0)
    made = studio.post("edit", run="runs/plume", frame=4, first=2, last=5, png=png_of(painted.T[::-1]))
    scene = studio.folder / made["path"]
    assert made["path"] == "scenes/plume-edit/scene.toml"
    assert '[edit]\nrun = "../../runs/plume"\nfirst = 2\nlast = 5' in scene.read_text()
    command = [sys.executable, "-m", "keyfluid", "run", str(scene), "-o", str(studio.folder / "runs" / "edited")]
    done = subprocess.run([*command, "--threads", "1"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    before, after = studio.folder / "runs" / "plume", studio.folder / "runs" / "edited"
    for index in range(3):
        assert bits(before, index) == bits(after, index)
    assert bits(before, 4) != bits(after, 4)


def test_a_3d_frame_is_deformed_or_painted_from_one_side(studio):
    wish = {"run": "runs/sphere", "frame": 2, "first": 0, "last": 2}
    answer = studio.ask("POST", "/api/edit/preview", body={**wish, "twist": 90, "move": [0.1, 0, 0]})
    pictures = unpacked(answer.content).arrays
    assert set(pictures) == {f"{stage}{view}" for stage in ("before", "after") for view in ("+x", "+y", "+z")}
    before, after = (pictures[name].sum(axis=1) for name in ("before+z", "after+z"))
    columns = np.arange(len(before))
    moved = np.average(columns, weights=after) - np.average(columns, weights=before)
    assert moved == pytest.approx(0.1 * len(columns), rel=0.05)
    deformed = studio.folder / studio.post("edit", **wish, twist=90, move=[0.1, 0, 0], name="turned")["path"]
    key = keyfluid.load_scene(deformed).keyframe[0]
    assert (key.twist, key.move, key.frame) == (90.0, [0.1, 0.0, 0.0], 2)
    answer = studio.ask("GET", "/api/edit/picture", {"run": "runs/sphere", "frame": 2, "view": "-x"})
    grey = unpacked(answer.content).arrays["grey"].T[::-1]
    painted = studio.folder / studio.post("edit", **wish, view="-x", png=png_of(np.roll(grey, 20, 0)))["path"]
    scene = keyfluid.load_scene(painted)
    assert (scene.picture[0].view, scene.keyframe, scene.control.method) == ("-x", [], "spectral")


def test_the_page_paints_and_writes(studio, tmp_path):
    with Browser(tmp_path / "profile") as browser:
        browser.open(f"{studio.address}", 1280, 720)
        browser.ask("location.hash = '#/fix?run=runs/plume&frame=4'")
        x, y = browser.middle("[data-id=painting]")
        assert browser.ask("document.querySelector('[data-do=write]').disabled")
        browser.drag([(x - 60, y), (x, y - 60)])
        browser.ask(
            "(input => { input.value = 'by hand'; input.dispatchEvent(new Event('input')); })"
            "(document.querySelector('[data-id=name]'))"
        )
        browser.click("[data-do=write]")
        browser.until("document.querySelector('.fix-side a')")
        assert browser.faults == []
    scene = keyfluid.load_scene(studio.folder / "scenes" / "by hand" / "scene.toml")
    assert (scene.edit.first, scene.edit.last, scene.keyframe[0].frame) == (2, 4, 4)
    painted = np.asarray(Image.open(scene.keyframe[0].paint).convert("L"))
    smoke = keyfluid.open_run(studio.folder / "runs" / "plume").frames[4].densities["density"]
    drawn = np.asarray(Image.fromarray(painted).resize(smoke.shape, Image.Resampling.BOX))[::-1].T / 255
    added = drawn - smoke / smoke.max()
    assert added.min() > -0.02
    assert added.max() > 0.5, "the stroke is missing"


def test_what_can_not_be_edited_is_refused_and_leaves_nothing(studio, tmp_path):
    before = sorted(path.name for path in (studio.folder / "scenes").iterdir())
    painted = np.zeros((32, 24), np.uint8)
    painted[10:20, 5:15] = 255
    white = png_of(painted)
    assert "nothing is changed" in refused(studio, move=[0, 0])
    assert "2D" in refused(studio, twist=20)
    assert "move: give 2 numbers" in refused(studio, move=[1, 2, 3])
    assert "base64" in refused(studio, png="?")
    assert "png" in refused(studio, png=base64.b64encode(b"GIF89a").decode())
    assert "24 x 24 pixels" in refused(studio, png=png_of(painted[:24]))
    assert "outside the edit window" in refused(studio, png=white, frame=6)
    assert "holds no frame" in refused(studio, png=white, last=90)
    assert "whole number" in refused(studio, png=white, first="two")
    assert "no smoke named" in refused(studio, png=white, field="red")
    (studio.folder / "link").symlink_to(tmp_path)
    for place in ("../plume", "/etc", "scenes", "link", "runs/none"):
        refused(studio, png=white, run=place)
        assert 400 <= studio.ask("GET", "/api/edit", {"run": place}).status < 500
    for frame in (99, "9" * 9):
        assert studio.ask("GET", "/api/edit/picture", {"run": "runs/plume", "frame": frame}).status == 404
    assert studio.ask("GET", "/api/edit/picture", {"run": "runs/sphere", "frame": 1, "view": "up"}).status == 400
    assert sorted(path.name for path in (studio.folder / "scenes").iterdir()) == before
