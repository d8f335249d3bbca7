"""How long the stage takes from a shape that is placed to its outline: the server alone, and the page in a browser.

    python benchmarks/studio_stage.py [--resolution 128] [--busy]

Server: the request to draw one dragged keyframe, over HTTP, and the processor time that it takes. Page: from the
mouse's move to the drawn answer of the server, in headless Chromium (skipped where there is none). --busy: while two
processes compute.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

TESTS = Path(__file__).parent.parent / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "studio")]

from stage_kit import ask_stage, on_screen, show_stage, write_scene  # noqa: E402
from studio_kit import RunningStudio, running_studio  # noqa: E402

from browser import NAMES, Browser  # noqa: E402

SCENE = """\
[domain]
size = [1.0, 1.0]
resolution = {resolution}
[time]
frames = 40
[smoke]
initial = {{ text = "HELLO" }}
[[keyframe]]
frame = 20
text = "World"
[[keyframe]]
frame = 40
shape = "star"
[control]
method = "spectral"
"""
TIMES, PAGE_TIMES = 30, 15


def processor_ms(studio: RunningStudio) -> float:
    """Milliseconds that the server has computed (Linux)."""
    fields = Path(f"/proc/{studio.process.pid}/stat").read_text().rpartition(")")[2].split()
    return 1e3 * (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def server(studio: RunningStudio, path: str, body: str) -> tuple[list[float], float]:
    """Milliseconds of each answer while a keyframe is dragged, and of the processor per answer."""
    found = []
    before = 0.0
    for i in range(TIMES + 3):
        if i == 3:
            before = processor_ms(studio)
        changes = [{"path": f"{body}.center", "value": [0.45 + 0.1 * i / TIMES, 0.5]}]
        start = time.perf_counter()
        ask_stage(studio, path, bodies=[body], draft=True, changes=changes)
        found.append(1e3 * (time.perf_counter() - start))
    return found[3:], (processor_ms(studio) - before) / TIMES


def page(studio: RunningStudio, path: str, body: str, profile: Path) -> list[float]:
    """Milliseconds from a move of the mouse until the outline of the engine's own shape is on the page."""
    with Browser(profile) as browser:
        browser.open(studio.address, 1280, 720)
        show_stage(browser, studio, path)
        x, y = on_screen(browser, [0.5, 0.5])
        measured = browser.ask(f"""(async () => {{
          const canvas = stage.views[0].canvas, found = [];
          canvas.setPointerCapture = () => {{}};
          stage.select("{body}");
          const send = (type, x) => canvas.dispatchEvent(
            new PointerEvent(type, {{ pointerId: 1, button: 0, clientX: x, clientY: {y} }}));
          stage.pick = () => ({{ mode: "move" }});
          send("pointerdown", {x});
          for (let i = 1; i <= {PAGE_TIMES}; i++) {{
            const start = performance.now();
            const done = new Promise((then) => stage.addEventListener("drawn", then, {{ once: true }}));
            send("pointermove", {x} + 4 * i);
            await done;
            await new Promise(requestAnimationFrame);
            await new Promise(requestAnimationFrame);
            found.push(performance.now() - start);
          }}
          return found;
        }})()""")
    return [float(value) for value in measured][3:]


def compute() -> None:
    while True:
        sum(i * i for i in range(100_000))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--resolution", type=int, default=128)
    options.add_argument("--busy", action="store_true")
    given = options.parse_args()
    workers = [multiprocessing.Process(target=compute, daemon=True) for _ in range(2 if given.busy else 0)]
    for worker in workers:
        worker.start()
    results: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder, running_studio(Path(folder) / "work") as studio:
        path = write_scene(studio, SCENE.format(resolution=given.resolution))
        ask_stage(studio, path)
        for body, name in (("keyframe[0]", "text"), ("keyframe[1]", "star")):
            answers, computed = server(studio, path, body)
            times = {"server": answers}
            results[f"{name}, processor of the server"] = {"mean_ms": round(computed, 1)}
            if any(shutil.which(program) for program in NAMES):
                times["page"] = page(studio, path, body, Path(folder) / f"profile-{name}")
            for where, values in times.items():
                ordered = sorted(values)
                results[f"{name}, {where}"] = {
                    "median_ms": round(statistics.median(ordered), 1),
                    "p90_ms": round(ordered[int(0.9 * len(ordered))], 1),
                }
    for worker in workers:
        worker.terminate()
    print(json.dumps({"resolution": given.resolution, "busy": given.busy, **results}, indent=1))


if __name__ == "__main__":
    main()
