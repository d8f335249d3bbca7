"""Frames per second of the studio's films in Chromium without a graphics card: ``python benchmarks/studio_viewer.py``.

A smoke film of 128^2 and one of 64^3 are scrubbed from end to end, one frame after the other, each drawn before the
next is asked for: once with nothing fetched yet, once more, and for 3D while the camera orbits. Meanwhile a run
computes on all cores (`--idle` leaves it out). Goals on 2 cores: 20 and 5 frames per second. `--workspace` keeps the
two films for the next time.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parent.parent / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "studio")]

from studio_kit import running_studio  # noqa: E402

import keyfluid  # noqa: E402
from browser import Browser  # noqa: E402
from keyfluid.threads import available  # noqa: E402

OUTPUT = {"film": "draft", "size": 64, "vdb": False}
SCENES: dict[str, dict[str, Any]] = {
    "flat": {
        "domain": {"size": [1.0, 1.0], "resolution": 128},
        "time": {"frames": 60},
        "smoke": {"buoyancy": 1.0},
        "source": [{"shape": "disk", "center": [0.5, 0.15], "radius": 0.08, "velocity": [0.0, 0.5]}],
    },
    "deep": {
        "domain": {"size": [1.0, 1.0, 1.0], "resolution": 64},
        "time": {"frames": 20},
        "smoke": {"buoyancy": 2.0},
        "source": [{"shape": "sphere", "center": [0.5, 0.15, 0.5], "radius": 0.12, "velocity": [0.0, 1.0, 0.0]}],
        "camera": {"floor": True},
    },
}
BUSY = {
    "domain": {"size": [1.0, 1.0], "resolution": 256},
    "time": {"frames": 2000},
    "smoke": {"initial": {"shape": "disk", "center": [0.5, 0.5], "radius": 0.2}, "buoyancy": 1.0},
}
SCRUB = """(async () => {
  const viewer = document.querySelector(".viewer").viewer;
  const count = viewer.info.frames.length, from = performance.now();
  for (const frame of viewer.info.frames) { await viewer.transport.go(frame, true); }
  return 1000 * count / (performance.now() - from); })()"""
ORBIT = """(async () => {
  const { camera, volume } = document.querySelector(".viewer").viewer.screen, from = performance.now();
  for (let turn = 0; turn < 15; turn++) { camera.turn(0.05, 0); await volume.request(); }
  return 15000 / (performance.now() - from); })()"""
PIXELS = """(() => { const from = document.querySelector(".screen canvas"), to = document.createElement("canvas");
  [to.width, to.height] = [64, 64]; const c = to.getContext("2d"); c.drawImage(from, 0, 0, 64, 64);
  return new Set(c.getImageData(0, 0, 64, 64).data).size; })()"""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--workspace", type=Path)
    parser.add_argument("--idle", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as spare:
        workspace = options.workspace or Path(spare) / "work"
        for name, scene in SCENES.items():
            if not (workspace / "runs" / name / "result.json").exists():
                keyfluid.run({"name": name, **scene, "output": OUTPUT}, workspace / "runs" / name)
        with running_studio(workspace) as studio, Browser(Path(spare) / "profile", webgl=True) as browser:
            browser.open(studio.address, 1280, 720)
            busy = None if options.idle else computing(Path(spare))
            try:
                print("alone" if busy is None else "while a run computes")
                for name in SCENES:
                    measure(browser, name)
            finally:
                if busy is not None:
                    busy.kill()
                    busy.wait()


def computing(folder: Path) -> subprocess.Popen[bytes]:
    """A run on all cores, in a process of its own."""
    scene = keyfluid.scene_from({"name": "busy", **BUSY, "output": {"vdb": False}})
    (folder / "busy.toml").write_text(keyfluid.dump_scene(scene))
    command = [sys.executable, "-m", "keyfluid", "run", str(folder / "busy.toml"), "-o", str(folder / "busy")]
    command += ["--threads", str(available())]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def measure(browser: Browser, name: str) -> None:
    browser.ask(f"location.hash = '#/run?path=runs/{name}'")
    viewer = "document.querySelector('.viewer')?.viewer"
    browser.until(f"{viewer}?.info?.line.name === '{name}' && {viewer}.screen.drawn > 0")
    cells = " x ".join(map(str, browser.ask(f"{viewer}.info.cells")))
    first, again = browser.ask(SCRUB), browser.ask(SCRUB)
    levels = browser.ask(PIXELS)
    assert levels > 20, f"a canvas with {levels} levels shows no film"
    print(f"{cells}: {first:.1f} frames per second the first time, {again:.1f} the second")
    if browser.ask(f"{viewer}.info.dim") == 3:
        print(f"{cells}: {browser.ask(ORBIT):.1f} pictures per second while orbiting")


if __name__ == "__main__":
    main()
