"""A scene of the spacetime results, run and watched; the row it prints."""

from __future__ import annotations

import contextlib
import resource
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from _spacetime_print import line

import keyfluid
from keyfluid.runs.pictures import Painter
from keyfluid.runs.run import run_problem
from keyfluid.scenes.build.problem import build
from keyfluid.threads import threads

OUT = Path(__file__).resolve().parents[2] / "out" / "spacetime"

SCENE = """
[domain]
size = {size}
resolution = {resolution}
boundary = "{sides}"
up = "y"
[time]
fps = {fps}
frames = {frames}
[smoke]
initial = {initial}
{keys}
[control]
method = "{method}"
{control}
[output]
vdb = false
"""


class Case:
    """One run of the method, watched."""

    def __init__(
        self, resolution: int, steps: int, initial: str, keys: Sequence[tuple[int, str]], control: str = "",
        size: Sequence[float] = (1.0, 1.0), sides: str = "walls", fps: float = 40.0, free: int = 0,
        method: str = "spacetime",
    ) -> None:  # fmt: skip
        text = SCENE.format(
            size=list(size), resolution=resolution, sides=sides, fps=fps, frames=steps + free, initial=initial,
            keys="\n".join(f"[[keyframe]]\nframe = {frame}\n{body}" for frame, body in keys), control=control,
            method=method,
        )  # fmt: skip
        self._load(text)

    @classmethod
    def of(cls, text: str) -> Case:
        """Of a scene's whole text."""
        case = cls.__new__(cls)
        case._load(text)
        return case

    def _load(self, text: str) -> None:
        self.scene = keyfluid.load_scene(text)
        self.result: Any = None
        self.seconds = self.cpu = 0.0

    def run(self, folder: Path | None = None) -> Case:
        """In memory, or in a folder, where a run that was stopped is gone on with: seconds are then of this part."""
        before, wall, cpu = _resident(), time.perf_counter(), time.process_time()
        _forget_peak()
        self.problem = build(self.scene)
        if folder is not None and (folder / "result.json").exists():
            self.result = keyfluid.resume(folder, threads=threads())
        else:
            self.result = run_problem(self.problem, folder)
        self.seconds, self.cpu = time.perf_counter() - wall, time.process_time() - cpu
        self.memory = _peak() - before
        return self

    @property
    def history(self) -> list[dict[str, float]]:
        """Outer iterations of all keyframes together."""
        return [entry for entry in self.result.metrics["history"] if entry.get("together")]

    @property
    def iterations(self) -> str:
        """On the scene's grid, and before them those on coarser ones and of single keyframes on the way."""
        before = self.result.metrics["iterations"] - len(self.history)
        return f"{len(self.history)} after {before} on half the grid" if before else f"{len(self.history)}"

    @property
    def whole_iterations(self) -> float:
        """Those in windows counted by their steps."""
        steps = [entry["steps"] for entry in self.result.metrics["history"] if "steps" in entry]
        return sum(steps) / max(steps)

    @property
    def errors(self) -> list[float]:
        return [key["relative_error"] for key in self.result.metrics["keyframes"]]

    @property
    def converged(self) -> bool:
        return bool(self.history[-1]["converged"])

    def engine_error(self) -> float:
        """Of the first keyframe, the same forces on the engine's smoke model."""
        return next(float(e["engine_error"]) for e in self.result.metrics["history"] if "engine_error" in e)

    def pictures(self, frames: Sequence[int], tile: int = 150) -> list[np.ndarray]:
        painter = Painter(self.problem, tile)
        return [painter.picture(self.result.frames[f].densities, f) for f in frames]


REPORT = ("scene", "iterations", "converged", "errors, replayed", "error, optimiser", "gap", "error, engine's smoke",
          "carried IoU", "objective", "s", "processor s", "MB above start")  # fmt: skip


def report(name: str, case: Case) -> None:
    metrics, last = case.result.metrics, case.history[-1]
    line(name, case.iterations, case.converged, spaced(case.errors), max(last["error"], 0.0),
         last["gap"], case.engine_error(), metrics["keyframes"][-1]["transported_iou"] or 0.0, last["objective"],
         case.seconds, case.cpu, case.memory)  # fmt: skip


def spaced(errors: Sequence[float]) -> str:
    return " ".join(f"{error:.3f}" for error in errors)


def bound(problem: Any) -> float:
    """8 n^d (1 + d) N numbers, in MB."""
    steps = max(key.frame for key in problem.keyframes)
    return float(8 * problem.grid.count * (1 + problem.grid.dim) * steps * problem.dtype.itemsize / 2**20)


DISK = '{ shape = "disk", center = [0.5, 0.5], radius = 0.2, mass = "first-key" }'


def letter(text: str) -> str:
    return f'text = "{text}"\nfit = 0.6'


def compiled() -> None:
    """A run that does not count: afterwards nothing is left to compile."""
    Case(16, 4, DISK, [(4, letter("F"))], "iterations = 1").run()


def start_of(name: str, array: np.ndarray) -> str:
    return "{ " + _npy(name, array) + " }"


def key_of(name: str, array: np.ndarray) -> str:
    return _npy(name, array) + '\nmass = "keep"'


def _npy(name: str, array: np.ndarray) -> str:
    OUT.mkdir(parents=True, exist_ok=True)
    np.save(OUT / f"{name}.npy", array)
    return f'npy = "{OUT / name}.npy"'


def _resident() -> float:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 2**20


def _forget_peak() -> None:
    """Let the kernel count the peak from here: compilers have had their memory back."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def _peak() -> float:
    for entry in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if entry.startswith("VmHWM"):
            return int(entry.split()[1]) / 1024
    return 0.0
