"""Live runs: frames over a socket as LiveRun has them, sliders, saving, and a process that ends with its page."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from stage_kit import unpacked, write_scene
from studio_kit import RunningStudio, running_studio
from websockets.sync.client import ClientConnection

import keyfluid
from browser import Browser
from keyfluid.controllers.particles.settings import ParticleSettings
from keyfluid.controllers.target.settings import TargetSettings
from keyfluid.runs.live import LiveRun
from keyfluid.studio.live_frames import FramePacker
from keyfluid.studio.live_knobs import PARTICLES, TARGET, checked, described

pytest.importorskip("starlette")

PUFF = """\
name = "puff"
[domain]
size = [1.0, 1.0]
resolution = 32
[time]
frames = 6
fps = 24
steps_per_frame = "auto"
[smoke]
initial = { shape = "disk", center = [0.3, 0.4], radius = 0.2, mass = "first-key" }
[[keyframe]]
frame = 4
text = "F"
fit = 0.7
# How the smoke is driven.
[control]
method = "target"
turbulence = 0.5   # a little
"""
BEAST = """\
name = "beast"
[domain]
size = [1.0, 1.0, 0.5]
resolution = 16
[time]
frames = 60
fps = 24
[smoke]
initial = { shape = "sphere", radius = 0.2, mass = "first-key" }
[[keyframe]]
frame = 30
shape = "sphere"
center = [0.7, 0.6, 0.25]
radius = 0.2
[control]
method = "particles"
markers = 3000
control_particles = 300
vortices = 60
velocity_cells = 12
vortex_radius = 0.1
"""


def children(pid: int) -> list[int]:
    """Processes that a process has started and that are there."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(words[1]) == pid and words[0] != "Z":
            found.append(int(path.parent.name))
    return found


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def live_child(studio: RunningStudio) -> int:
    """The process of the only live run."""
    named = {pid: Path(f"/proc/{pid}/cmdline").read_bytes() for pid in children(studio.process.pid)}
    (pid,) = [pid for pid, words in named.items() if b"live_process" in words]
    return pid


def until_gone(pid: int) -> None:
    end = time.monotonic() + 20
    while lives(pid):
        assert time.monotonic() < end, "the live run did not end"
        time.sleep(0.05)


class Page:
    """A page on a live run."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket

    def say(self, **message) -> None:
        self.socket.send(json.dumps(message))

    def until(self, kind: str, seconds: float = 120.0) -> dict:
        """The next message of a kind; frames on the way are seen."""
        while True:
            message = self.socket.recv(seconds)
            if isinstance(message, bytes):
                frame = unpacked(message)
                self.say(type="seen", number=frame.header["number"])
                if kind == "frame":
                    return {"header": frame.header, "arrays": frame.arrays}
            else:
                said = json.loads(message)
                assert said["type"] != "error" or kind == "error", said
                if said["type"] == kind:
                    return said


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    with running_studio(tmp_path_factory.mktemp("work")) as running:
        yield running


def test_knobs_are_keys_of_their_method_with_values_in_range():
    for knobs, table in ((PARTICLES, ParticleSettings), (TARGET, TargetSettings)):
        assert all(knob.key in table.model_fields for knob in knobs)
    for text in (PUFF, BEAST + "strength = 90.0\n"):
        problem = keyfluid.build(keyfluid.load_scene(text))
        shown = described(problem, problem.scene.control)
        assert all(one["min"] <= one["value"] <= one["max"] and one["step"] > 0 and one["help"] for one in shown)
        live = LiveRun(text) if "target" in text else None
        for one in shown if live is not None else ():
            live.set(**checked(problem, {one["key"]: one["min"]}))
            live.set(**checked(problem, {one["key"]: one["max"]}))
    assert checked(problem, {"strength": "9", "markers": 5, "damping": True, "contain": float("nan")}) == {}


@contextmanager
def page_on(studio: RunningStudio, scene: str) -> Iterator[Page]:
    with studio.socket("live", scene=scene) as socket:
        yield Page(socket)


def test_frames_are_those_of_a_live_run_and_a_slider_acts_on_the_next(studio):
    scene = write_scene(studio, PUFF, "puff")
    with page_on(studio, scene) as page:
        ready = page.until("ready")
        assert (ready["dim"], ready["cells"], ready["method"]) == (2, [32, 32], "target")
        assert {knob["key"] for knob in ready["knobs"]} == {knob.key for knob in TARGET}
        assert page.until("frame")["header"]["frame"] == 0
        page.say(type="set", keys={"strength": 6.0, "method": "none", "damping": "much"})
        changed = page.until("set")
        assert changed["keys"] == {"strength": 6.0}
        frame = page.until("frame")
        while frame["header"]["frame"] < changed["frame"] + 2:
            frame = page.until("frame")
        control = {"method": "target", "turbulence": 0.5, "strength": 6.0}
        number = frame["header"]["frame"]
        again = LiveRun.replay(studio.folder / scene, [{"frame": changed["frame"], "control": control}], number)
        expected = unpacked(FramePacker(again).pack(again, {})).arrays
        assert np.array_equal(frame["arrays"]["density:density"], expected["density:density"])
        page.say(type="save", name="stronger")
        saved = studio.folder / page.until("saved")["path"]
        assert saved == studio.folder / "scenes" / "stronger" / "scene.toml"
        assert keyfluid.load_scene(saved).control.strength == 6.0
        assert "# How the smoke is driven.\n" in saved.read_text()
        page.say(type="restart")
        while page.until("frame")["header"]["frame"] != 0:
            pass
        page.say(type="set", keys={"smoothing": 5.0})
        assert "control.smoothing" in page.until("error")["message"]
        child = live_child(studio)
    until_gone(child)


def test_no_frame_is_sent_before_the_last_was_seen(studio):
    with studio.socket("live", scene=write_scene(studio, PUFF, "slow")) as socket:
        assert json.loads(socket.recv(120))["type"] == "ready"
        number = unpacked(socket.recv(60)).header["number"]
        with pytest.raises(TimeoutError):
            socket.recv(1.0)
        socket.send(json.dumps({"type": "seen", "number": number}))
        assert unpacked(socket.recv(60)).header["number"] == number + 1
        for message in ("{", "[]", '{"type": 3}', '{"type": "set", "keys": []}', '{"type": "seen", "number": ""}'):
            socket.send(message)
        socket.send("9" * 70000)
        socket.send(b"\0\1")
        socket.send(json.dumps({"type": "seen", "number": number + 1}))
        page = Page(socket)
        page.say(type="pause")
        page.until("paused")
        with pytest.raises(TimeoutError):
            socket.recv(0.5)
        page.say(type="play")
        assert page.until("frame")["header"]["number"] > number + 1


def test_what_can_not_run_live_is_said(studio):
    write_scene(studio, PUFF[: PUFF.index("# How")], "free")
    write_scene(studio, PUFF.replace("frames = 6", "frames = -6"), "faulty")
    write_scene(studio, PUFF.replace('text = "F"', 'image = "/etc/hostname"'), "outside")
    for scene, words in (
        ("scenes/free/scene.toml", "can't run live"),
        ("scenes/faulty/scene.toml", "time.frames"),
        ("scenes/outside/scene.toml", "outside the workspace"),
        ("scenes/../../x.toml", "not the name of a file"),
        ("", "not the name of a file"),
    ):
        with page_on(studio, scene) as page:
            assert words in page.until("error")["message"]


def test_a_live_run_ends_with_a_server_that_is_killed(tmp_path):
    with running_studio(tmp_path / "work") as studio, page_on(studio, write_scene(studio, PUFF, "puff")) as page:
        page.until("frame")
        child = live_child(studio)
        assert os.getpgid(child) != os.getpgid(studio.process.pid), "Ctrl-C is the server's business"
        studio.kill()
        until_gone(child)


def test_a_slider_moves_the_smoke_in_a_browser(studio, tmp_path):
    scene = write_scene(studio, BEAST, "beast")
    with Browser(tmp_path / "profile", webgl=True) as browser:
        browser.open(studio.address, 1280, 720)
        browser.ask(f"location.hash = '#/live?scene={scene}'")
        browser.until("document.querySelector('[data-id=frame]')?.textContent > 2", patience=300)
        browser.ask(
            "(s => { s.value = s.max; s.dispatchEvent(new Event('input', { bubbles: true })); })"
            "(document.querySelector('[data-knob=vortex_strength] input'))"
        )
        browser.until("document.querySelector('[data-knob=vortex_strength]').dataset.acts > 0")
        colours = browser.ask("document.querySelector('.live-view').view.colours()")
        assert colours > 20, "the canvas is blank"
        browser.press("r")
        browser.until("document.querySelector('[data-id=frame]').textContent < 3")
        assert browser.faults == []
