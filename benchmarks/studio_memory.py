"""Memory of the studio's server in use: `python benchmarks/studio_memory.py [--runs N] [--frames N] [--reconnects N]`.

A workspace with many runs is listed several times, frames of many of them are scrubbed, and a page loses its
connection again and again while events are published; each event must arrive once. Growth is counted from the state
in which a scene and a frame have been shown, so that the engine is imported. Linux only: reads /proc. Exit code 1:
grew by 50 MB or more, or lost an event.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "studio"))

from studio_kit import RunningStudio, running_studio

import keyfluid

LIMIT = 50.0
"""MB."""
SCENE = {
    "name": "memory",
    "domain": {"resolution": 48},
    "time": {"frames": 24},
    "smoke": {"initial": {"shape": "disk", "center": [0.5, 0.3], "radius": 0.15}, "buoyancy": 1.0},
    "output": {"vdb": False, "video": False, "size": 48},
}
Measured = Iterator[tuple[str, float]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("runs", 500), ("frames", 1000), ("reconnects", 50)):
        parser.add_argument(f"--{name}", type=int, default=default)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        fill(Path(folder), given.runs)
        with running_studio(Path(folder)) as studio:
            steps = list(use(studio, given.runs, given.frames, given.reconnects))
    for label, megabytes in steps:
        print(f"{label:<28}{megabytes:8.1f} MB")
    growth = max(megabytes for _, megabytes in steps) - steps[0][1]
    print(f"{'largest growth':<28}{growth:8.1f} MB")
    sys.exit(1 if growth >= LIMIT else 0)


def fill(folder: Path, runs: int) -> None:
    """One run, and so many names for its files; one scene."""
    (folder / "scenes/memory").mkdir(parents=True)
    (folder / "scenes/memory/scene.toml").write_text(keyfluid.dump_scene(keyfluid.scene_from(SCENE)))
    first = folder / "runs/run0000"
    keyfluid.run(SCENE, first, threads=1)
    for number in range(1, runs):
        shutil.copytree(first, folder / f"runs/run{number:04d}", copy_function=os.link)


def use(studio: RunningStudio, runs: int, frames: int, reconnects: int) -> Measured:
    """The server's memory after each kind of use."""
    scene = studio.get("scene", path="scenes/memory/scene.toml")
    look(studio, 0, 0)
    yield "one scene, one frame", resident(studio)
    for _ in range(5):
        assert len(studio.get("home")["runs"]) == runs
    yield f"{runs} runs listed 5 times", resident(studio)
    for number in range(frames):
        look(studio, number * 7 % runs, number % (SCENE["time"]["frames"] + 1))  # type: ignore[index]
    yield f"{frames} frames scrubbed", resident(studio)
    reconnect(studio, scene, reconnects)
    yield f"{reconnects} reconnects", resident(studio)


def look(studio: RunningStudio, run: int, frame: int) -> None:
    answer = studio.ask("GET", "/api/frame", {"path": f"runs/run{run:04d}", "frame": frame, "what": "density"})
    assert answer.status == 200, answer.content


def reconnect(studio: RunningStudio, scene: dict[str, Any], times: int) -> None:
    """Lose the connection and take it up again, with events published in between; none may be lost or come twice."""
    with studio.socket("events") as page:
        hello = json.loads(page.recv())
    seen, session = hello["n"], hello["session"]
    for number in range(times):
        for part in range(3):
            change = [{"path": "smoke.buoyancy", "value": 0.5 + number + part / 10}]
            scene = studio.post("scene/change", path=scene["path"], revision=scene["revision"], changes=change)
        with studio.socket("events", since=seen, session=session) as page:
            assert json.loads(page.recv(timeout=20))["n"] == seen
            while True:
                event = json.loads(page.recv(timeout=20))
                assert event["n"] == seen + 1, (event, seen)
                seen = event["n"]
                if event["type"] == "file" and event["revision"] == scene["revision"]:
                    break


def resident(studio: RunningStudio) -> float:
    """MB that the server holds in memory."""
    status = Path(f"/proc/{studio.process.pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


if __name__ == "__main__":
    main()
