"""What the parts of shots.py share: runs in processes of their own, tables and pictures."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np

from keyfluid.render import filmstrip, save_png
from keyfluid.runs.pictures import Painter
from keyfluid.runs.run import RunResult, open_run

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
from timing import machine, table  # noqa: E402, F401

Sized = TypeVar("Sized")
OUTPUT = "[output]\nvdb = false\nvideo = false\n"


@dataclass
class Chosen:
    """What the command line chose."""

    threads: int = 2
    size: Literal["full", "half", "small"] = "full"
    images: Path = ROOT / "docs" / "images"
    scratch: Path = Path()

    def pick(self, full: Sized, half: Sized, small: Sized) -> Sized:
        """By the size of the runs."""
        return {"full": full, "half": half, "small": small}[self.size]


chosen = Chosen()


@dataclass(frozen=True)
class Shot:
    """A finished run and what it took."""

    result: RunResult
    seconds: float
    cpu: float
    memory: float
    plan: list[str]
    stages: list[dict[str, Any]]
    """Of each stage: its label, seconds from the start to its end, and where its frames were copied to."""

    @property
    def folder(self) -> Path:
        assert self.result.folder is not None
        return self.result.folder

    def cost(self) -> dict[str, object]:
        """The columns that every table ends with."""
        return {
            "size": " x ".join(map(str, self.result.problem.grid.cells)),
            "threads": self.result.metrics["threads"],
            "evaluations": self.result.metrics["evaluations"],
            "seconds": round(self.seconds),
            "CPU seconds": round(self.cpu),
            "peak above the package, MB": round(self.memory),
        }

    def worst(self) -> dict[str, object]:
        """Over all keyframes."""
        keys = self.result.metrics["keyframes"]
        return {
            "largest error": max(key["relative_error"] for key in keys),
            "least IoU": round(min(float(key["iou"]) for key in keys), 3),
        }


def shoot(name: str, scene: str, sets: Sequence[str] = (), threads: int | None = None) -> Shot:
    """Run a scene in a process of its own; its folder lies in the scratch folder."""
    folder = chosen.scratch / name
    arguments = (scene, list(sets), str(folder), threads or chosen.threads)
    code = f"import _shots_common; _shots_common.child(*{arguments!r})"
    command = [sys.executable, "-c", code]
    process = subprocess.Popen(command, cwd=Path(__file__).parent, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    last = ""
    for line in process.stdout:
        last = line
    if process.wait():
        raise SystemExit(f"{name} failed")
    told = json.loads(last)
    print(f"{name}: {told['seconds']:.0f} s, {told['memory']:.0f} MB; " + "; ".join(told["plan"]), flush=True)
    return Shot(open_run(folder), **told)


def child(scene: str, sets: Sequence[str], folder: str, threads: int) -> None:
    """In the process of a run: the last line printed says what it took."""
    import shutil
    import time

    import keyfluid
    from keyfluid.runs.progress import Progress
    from keyfluid.runs.run import plan_run
    from keyfluid.scenes import load_scene
    from keyfluid.scenes.build.problem import build

    control = load_scene(scene, sets).control
    short = ["control.iterations=2", "control.coarse=0"] if control.method != "none" else []
    if getattr(control, "cutoff", None) is not None:
        short.append("control.cutoff=4")
    if getattr(control, "schedule", None) == "shooting":
        short.append("control.rounds=1")
    keyfluid.run(scene, overrides=[*sets, "domain.resolution=16", *short], threads=threads)
    before, began, cpu = _resident_mb(), time.perf_counter(), _processor_seconds()
    problem = build(load_scene(scene, sets))
    lines = list(plan_run(problem).lines)
    stages: list[dict[str, Any]] = []

    def listen(progress: Progress) -> None:
        """A stage has begun: the frames are those of the one before."""
        if progress.unit != "iteration" or not progress.note:
            return
        if stages and stages[-1]["label"] != progress.note:
            shutil.copytree(Path(folder) / "frames", Path(folder) / f"stage{len(stages)}")
        if not stages or stages[-1]["label"] != progress.note:
            stages.append({"label": progress.note})
        stages[-1]["seconds"] = round(time.perf_counter() - began, 1)

    result = keyfluid.run(scene, folder, overrides=sets, threads=threads, progress=listen)
    peak = result.metrics["peak_memory_mb"] * 1.048576
    told = {
        "seconds": time.perf_counter() - began,
        "cpu": _processor_seconds() - cpu,
        "memory": peak - before,
        "plan": lines,
        "stages": stages,
    }
    print("\n" + json.dumps(told))


def _resident_mb() -> float:
    import resource

    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize() / 1e6


def _processor_seconds() -> float:
    import os

    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def frame_pictures(result: RunResult, frames: Sequence[int], size: int = 220) -> list[np.ndarray]:
    painter = Painter(result.problem, size)
    return [painter.picture(result.frames[index].densities, index) for index in frames]


def target_pictures(result: RunResult, frames: Sequence[int], size: int = 220) -> list[np.ndarray]:
    """The keyframes at these frames."""
    painter = Painter(result.problem, size)
    keys = {key.frame: key for key in result.problem.keyframes}
    return [painter.picture({keys[frame].field: keys[frame].target}, frame) for frame in frames]


def save_strip(
    name: str, pictures: Sequence[np.ndarray], labels: Sequence[str], columns: int, tile: int = 150, colours: int = 64
) -> None:
    """docs/images/shots_NAME.png, with few colours so that it stays small."""
    from PIL import Image

    path = chosen.images / f"shots_{name}.png"
    save_png(path, filmstrip(pictures, labels, columns=columns, tile=tile))
    Image.open(path).convert("P", palette=Image.Palette.ADAPTIVE, colors=colours).save(path, optimize=True)
    print(f"\n{path}\n", flush=True)
