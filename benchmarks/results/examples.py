"""The jobs of examples/ at full size: `python benchmarks/results/examples.py [job ...] [--small]`.

Prints a markdown table of every keyframe's numbers and writes docs/images/example_*.png. --small runs what
tests/docs/test_examples.py pins and draws nothing. Runs go to benchmarks/out/examples; one thread.
"""

from __future__ import annotations

import argparse
import runpy
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image
from scipy.ndimage import distance_transform_edt

import keyfluid
from keyfluid.render import filmstrip, save_png
from keyfluid.runs.pictures import Painter
from keyfluid.runs.run import RunResult
from keyfluid.scenes.build.sources import PlacedBody

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
OUT = ROOT / "benchmarks" / "out" / "examples"
IMAGES = ROOT / "docs" / "images"
QUIET = ("output.vdb=false", "output.video=false")
TILE = 220


@dataclass(frozen=True)
class Job:
    """A scene of examples/, the frames that its picture shows, and the changes that make it small."""

    scene: str
    shown: Sequence[int]
    small: Sequence[str]
    preview: bool = False
    edits: str | None = None
    """The job whose run this one changes."""
    begins: str | None = None
    """The job whose forces this one begins with (`--from`)."""
    brief: Sequence[str] = ()
    """Changes that leave the grid as it is and make a scene quick to build."""


MESH_SMALL = ("domain.resolution=24", "time.frames=12", "keyframe[0].frame=12", "control.iterations=8")
JOBS = {
    "logo": Job(
        "01_logo", (0, 20, 40, 56, 64, 70), ("domain.resolution=32", "time.frames=72", "control.iterations=25"),
    ),
    "drawing": Job(
        "02_drawing", (0, 9, 18, 27, 36, 48), ("domain.resolution=40", "time.frames=36", "control.iterations=15"),
    ),
    "preview": Job("03_mesh", (0, 8, 16, 24, 30), MESH_SMALL, preview=True),
    "mesh": Job("03_mesh", (0, 8, 16, 24, 30), MESH_SMALL, begins="preview"),
    "creature_target": Job(
        "05_creature_target", (0, 12, 20, 40, 60),
        ("domain.resolution=24", "time.frames=24", "keyframe[0].until=24"), brief=("keyframe[0].until=22",),
    ),
    "creature_particles": Job(
        "05_creature_particles", (0, 12, 20, 40, 60),
        ("domain.resolution=24", "time.frames=24", "keyframe[0].frame=24", "control.control_particles=800"),
    ),
    "swap": Job("06_swap", (0, 16, 32, 48, 60), ("domain.resolution=32", "control.iterations=10")),
    "plume": Job("07_plume", (0, 12, 24, 36, 44, 48), ("domain.resolution=32",)),
    "edit": Job("07_edit", (0, 12, 24, 36, 44, 48), ("domain.resolution=32", "control.iterations=10"), edits="plume"),
    "water": Job(
        "08_water", (0, 6, 12, 20, 26, 32),
        ("domain.resolution=24", "time.frames=16", "keyframe[0].frame=12", "control.iterations=8"),
    ),
    "session": Job("09_plume", (0, 12, 24, 36, 48), ("domain.resolution=16", "time.frames=8")),
}  # fmt: skip


def scene_of(job: Job, folder: Path, changes: Sequence[str] = ()) -> keyfluid.Scene:
    """The scene as its file has it but for `changes`; what it edits or begins with is beside its own in `folder`."""
    others = () if job.edits is None else (f"edit.run={folder / job.edits}", f"keyframe[0].run={folder / job.edits}")
    if job.begins is not None and (folder / job.begins).exists():
        others = (f"control.start={folder / job.begins}",)
    scene = keyfluid.load_scene(EXAMPLES / f"{job.scene}.toml", [*QUIET, *others, *changes])
    return keyfluid.preview(scene, scene.domain.resolution // 2, draft=True) if job.preview else scene


def run_job(name: str, folder: Path, small: bool) -> RunResult:
    """A job's run in a folder of its name; also the run that it edits or begins with, if it is not there."""
    job = JOBS[name]
    before = job.edits or job.begins
    if before is not None and not (folder / before).exists():
        run_job(before, folder, small)
    return keyfluid.run(scene_of(job, folder, job.small if small else ()), folder / name, overwrite=True, threads=1)


def part_overlaps(result: RunResult) -> dict[str, float]:
    """IoU of every word or letter of the last keyframe's text, each among the cells that are nearest to it."""
    key = result.problem.keyframes[-1] if result.problem.keyframes else None
    if key is None or not isinstance(key.body, PlacedBody) or result.problem.scene.liquid is not None:
        return {}
    parts = key.body.parts(result.problem.grid)
    if not parts:
        return {}
    nearest = np.argmin([distance_transform_edt(cover <= 0.5 * cover.max()) for _, cover in parts], axis=0)
    level = 0.5 * float(np.max(key.target))
    target, reached = key.target > level, result.frames[key.frame].densities[key.field] > level
    found = {}
    for number, (word, _) in enumerate(parts):
        here = nearest == number
        found[word] = float(np.count_nonzero(target & reached & here) / np.count_nonzero((target | reached) & here))
    return found


def draw(name: str, result: RunResult) -> None:
    """Frames side by side, with the target beside the last frame that has one."""
    painter = Painter(result.problem, 2 * TILE)
    shown = JOBS[name].shown
    keys = [frame for frame in shown if any(key.frame == frame for key in result.problem.keyframes)]
    targets = [painter.target(frame) if frame in keys[-1:] else None for frame in shown]
    pictures = [painter.frame(result.frames, frame) for frame in shown]
    path = IMAGES / f"example_{name}.png"
    save_png(path, filmstrip(pictures, [f"frame {frame}" for frame in shown], targets, columns=7, tile=TILE))
    Image.open(path).convert("P", palette=Image.Palette.ADAPTIVE, colors=256).save(path, optimize=True)


def report(name: str, small: bool) -> None:
    began = time.process_time()
    result = run_job(name, OUT, small)
    seconds = f"{time.process_time() - began:.0f}"
    words = ", ".join(f"{word} {overlap:.3f}" for word, overlap in part_overlaps(result).items())
    keys = result.metrics["keyframes"]
    for key in [keys[-1]] if len({key["field"] for key in keys}) == 1 else keys:
        row = (name, key["frame"], key["field"], f"{key['relative_error']:.3f}", f"{key['iou']:.3f}",
               f"{key['mass_ratio']:.3f}", words or "-", seconds)  # fmt: skip
        print("| " + " | ".join(map(str, row)) + " |", flush=True)
    if not keys:
        print(f"| {name} | - | - | - | - | - | - | {seconds} |", flush=True)
    if not small:
        draw(name, result)


def arrays(small: bool) -> None:
    began = time.process_time()
    density, error = runpy.run_path(str(EXAMPLES / "10_arrays.py"))["film"](*((24, 12) if small else ()))
    mass, seconds = density[-1].mean() / density[0].mean(), time.process_time() - began
    print(f"| arrays | {len(density) - 1} | density | {error:.3f} | - | {mass:.3f} | - | {seconds:.0f} |", flush=True)
    if not small:
        shown = np.linspace(0, len(density) - 1, 5).astype(int)
        top = 255 / density.max()
        pictures = [np.repeat((density[f].T[::-1, :, None] * top).astype(np.uint8), 3, axis=2) for f in shown]
        save_png(
            IMAGES / "example_arrays.png", filmstrip(pictures, [f"frame {f}" for f in shown], columns=5, tile=TILE)
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("jobs", nargs="*", choices=[*JOBS, "arrays", []], help="all by default")
    parser.add_argument("--small", action="store_true")
    options = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    print("| job | frame | field | error | IoU | mass | IoU of its parts | processor s |\n|" + "---|" * 8, flush=True)
    for name in options.jobs or [*JOBS, "arrays"]:
        if name == "arrays":
            arrays(options.small)
        else:
            report(name, options.small)


if __name__ == "__main__":
    sys.exit(main())
