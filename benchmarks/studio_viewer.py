"""Frames per second of the studio's films in Chromium without a graphics card: ``python benchmarks/studio_viewer.py``.

A smoke film of 128^2 and one of 64^3 are scrubbed from end to end, one frame after the other, each drawn before the
next is asked for: once with nothing fetched yet, once more, and for 3D while the camera orbits. Meanwhile a run
computes on all cores (`--idle` leaves it out). Goals on 2 cores: 20 and 5 frames per second. Beside them stands the
processor time of browser and studio per frame, which does not depend on what else the machine does. `--workspace`
keeps the two films for the next time.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
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
                    measure(browser, name, (browser._process.pid, studio.process.pid))
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


def processor_seconds(roots: Sequence[int]) -> float:
    """What these processes and their descendants have used so far."""
    parents, used = {}, {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = file.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        parents[int(file.parent.name)] = int(fields[1])
        used[int(file.parent.name)] = int(fields[11]) + int(fields[12])
    family = set(roots)
    while more := {one for one, parent in parents.items() if parent in family and one not in family}:
        family |= more
    return sum(used.get(one, 0) for one in family) / os.sysconf("SC_CLK_TCK")


def timed(browser: Browser, roots: Sequence[int], script: str, count: int) -> str:
    """Frames per second of a script that draws so many, and processor time of each."""
    before = processor_seconds(roots)
    rate = browser.ask(script)
    each = (processor_seconds(roots) - before) / count
    return f"{rate:.1f} frames per second, {1000 * each:.0f} ms of processor time each"


def measure(browser: Browser, name: str, roots: Sequence[int]) -> None:
    browser.ask(f"location.hash = '#/run?path=runs/{name}'")
    viewer = "document.querySelector('.viewer')?.viewer"
    browser.until(f"{viewer}?.info?.line.name === '{name}' && {viewer}.screen.drawn > 0")
    cells = " x ".join(map(str, browser.ask(f"{viewer}.info.cells")))
    count = browser.ask(f"{viewer}.info.frames.length")
    print(f"{cells}, scrubbed: {timed(browser, roots, SCRUB, count)}")
    levels = browser.ask(PIXELS)
    assert levels > 20, f"a canvas with {levels} levels shows no film"
    print(f"{cells}, scrubbed again: {timed(browser, roots, SCRUB, count)}")
    if browser.ask(f"{viewer}.info.dim") == 3:
        print(f"{cells}, orbiting: {timed(browser, roots, ORBIT, 15)}")


if __name__ == "__main__":
    main()
