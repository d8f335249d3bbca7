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
    size: Literal["paper", "full", "half", "small"] = "full"
    images: Path = ROOT / "docs" / "images"
    scratch: Path = Path()

    def pick(self, full: Sized, half: Sized, small: Sized, paper: Sized | None = None) -> Sized:
        """By the size of the runs; paper: where the paper's is larger than ours."""
        return {"paper": full if paper is None else paper, "full": full, "half": half, "small": small}[self.size]


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
    """Run a scene in a process of its own, or go on with it; its folder lies in the scratch folder."""
    folder = chosen.scratch / name
    if not _told(folder).get("finished"):
        arguments = (scene, list(sets), str(folder), threads or chosen.threads)
        code = f"import _shots_common; _shots_common.child(*{arguments!r})"
        if subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parent, check=False).returncode:
            raise SystemExit(f"{name} failed")
    told = _told(folder)
    del told["finished"]
    print(f"{name}: {told['seconds']:.0f} s, {told['memory']:.0f} MB; " + "; ".join(told["plan"]), flush=True)
    return Shot(open_run(folder), **told)


def _told(folder: Path) -> dict[str, Any]:
    """What a run has taken so far, in all of its sittings."""
    path = folder.with_name(f"{folder.name}.told.json")
    return json.loads(path.read_text()) if path.exists() else {}


def child(scene: str, sets: Sequence[str], folder: str, threads: int) -> None:
    """In the process of a run: what it takes is written beside its folder after every iteration or frame, so that one
    that is killed can be gone on with."""
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
    place, resident, began, cpu = Path(folder), _resident_mb(), time.perf_counter(), _processor_seconds()
    before = _told(place)
    stages: list[dict[str, Any]] = before.get("stages", [])
    plan = list(plan_run(build(load_scene(scene, sets))).lines)

    def tell(peak: float, finished: bool = False) -> None:
        told = {
            "seconds": before.get("seconds", 0.0) + time.perf_counter() - began,
            "cpu": before.get("cpu", 0.0) + _processor_seconds() - cpu,
            "memory": max(before.get("memory", 0.0), peak - resident),
            "plan": plan,
            "stages": stages,
            "finished": finished,
        }
        part = place.with_name(f"{place.name}.told.part")
        part.write_text(json.dumps(told))
        part.replace(place.with_name(f"{place.name}.told.json"))

    def listen(progress: Progress) -> None:
        """A stage has begun: the frames are those of the one before."""
        if progress.unit == "iteration" and progress.note:
            if stages and stages[-1]["label"] != progress.note:
                shutil.copytree(place / "frames", place.with_name(f"{place.name}.stage{len(stages)}"))
            if not stages or stages[-1]["label"] != progress.note:
                stages.append({"label": progress.note})
            stages[-1]["seconds"] = round(before.get("seconds", 0.0) + time.perf_counter() - began, 1)
        tell(resident)

    if before and place.exists():
        result = keyfluid.resume(place, threads=threads, progress=listen)
    else:
        result = keyfluid.run(scene, place, overrides=sets, threads=threads, progress=listen, overwrite=True)
    tell(result.metrics["peak_memory_mb"] * 1.048576, finished=True)


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
