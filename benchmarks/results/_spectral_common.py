"""What the parts of spectral.py share: scenes, a recorder of evaluations, tables and pictures."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import keyfluid
from keyfluid.controllers.optimised.evaluation import Evaluation
from keyfluid.controllers.optimised.forces import JoinedForces
from keyfluid.controllers.optimised.replay import state_after
from keyfluid.render import filmstrip, save_png
from keyfluid.runs.pictures import Painter
from keyfluid.runs.run import RunResult, choose_threads, run_problem
from keyfluid.scenes import load_scene
from keyfluid.scenes.build.problem import build

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
from timing import machine, table  # noqa: E402, F401

GALLERY = ROOT / "src" / "keyfluid" / "gallery"
OUTPUT = "[output]\nvdb = false\nvideo = false\n"


@dataclass
class Chosen:
    """What the command line chose."""

    threads: int = 2
    images: Path = ROOT / "docs" / "images"


chosen = Chosen()

LETTER = """
name = "letter"
[domain]
resolution = {size}
[time]
frames = {frames}
[smoke]
initial = {{ shape = "disk", center = [0.5, 0.5], mass = "first-key" }}
[[keyframe]]
frame = {frames}
text = "{letter}"
[control]
method = "spectral"
"""

SOLID = """
name = "ball"
[domain]
size = [1.0, 1.0, 1.0]
resolution = {size}
[time]
frames = {frames}
[smoke]
initial = {{ shape = "sphere", center = [0.5, 0.5, 0.5], mass = "first-key" }}
[[keyframe]]
frame = {frames}
mesh = "{mesh}"
fit = {fit}
rotation = [{rotation}]
[control]
method = "spectral"
"""


def letter(size: int, name: str = "F", frames: int = 40) -> str:
    """A disk that becomes a letter of the same area."""
    return LETTER.format(size=size, frames=frames, letter=name) + OUTPUT


def ball(size: int, frames: int, mesh: str = "knot.obj", fit: float = 0.75, rotation: str = "25.0, 20.0, 0.0") -> str:
    """A ball that becomes a bundled mesh of the same volume."""
    return SOLID.format(size=size, frames=frames, mesh=GALLERY / mesh, fit=fit, rotation=rotation) + OUTPUT


@dataclass
class Recorder:
    """Every evaluation of a run: seconds since the start, cells of its grid, objective, error over all keyframes.

    finest: cells of the scene's own grid, which a run that is stopped early may not reach.
    """

    finest: int
    seconds: list[float] = field(default_factory=list)
    cells: list[int] = field(default_factory=list)
    objectives: list[float] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)
    best: tuple[Evaluation, np.ndarray] | None = None
    """The lowest point of the finest grid so far."""

    @property
    def evaluations(self) -> int:
        return len(self.errors)

    def work(self) -> np.ndarray:
        """Evaluations so far, those on coarser grids by their share of the cells."""
        return np.cumsum(np.array(self.cells) / self.finest)

    def lowest(self) -> np.ndarray:
        """Least error so far; NaN while the grid is still a coarser one."""
        errors = np.where(np.array(self.cells) == self.finest, self.errors, np.inf)
        least = np.minimum.accumulate(errors)
        return np.where(np.isfinite(least), least, np.nan)

    def first_below(self, error: float) -> int | None:
        """The evaluation of the finest grid that first had at most this error."""
        places = np.flatnonzero(self.lowest() <= error)
        return int(places[0]) if places.size else None

    def work_to(self, error: float) -> str:
        place = self.first_below(error)
        return "-" if place is None else f"{self.work()[place]:.0f}"


@contextmanager
def recorded(finest: int) -> Iterator[Recorder]:
    """Watch all evaluations inside the block."""
    recorder, began, plain = Recorder(finest), time.perf_counter(), Evaluation.trial

    def watched(self: Evaluation, vector: np.ndarray) -> tuple[float, Callable[[], np.ndarray]]:
        value, gradient = plain(self, vector)
        cells = self.problem.grid.count
        finer = recorder.best is None or cells > recorder.best[0].problem.grid.count
        if finer or value < min(v for v, c in zip(recorder.objectives, recorder.cells) if c == cells):
            recorder.best = (self, vector)
        recorder.seconds.append(time.perf_counter() - began)
        recorder.cells.append(cells)
        recorder.objectives.append(value)
        recorder.errors.append(self.error if np.isfinite(value) else np.inf)
        return value, gradient

    with patch.object(Evaluation, "trial", watched):
        yield recorder


@dataclass(frozen=True)
class Measured:
    """A run, its evaluations, and its processor time, which other work on the machine changes less."""

    result: RunResult
    record: Recorder
    cpu: float

    @property
    def key(self) -> Mapping[str, Any]:
        return self.result.metrics["keyframes"][-1]

    def cost(self) -> dict[str, object]:
        """The columns that every table ends with."""
        problem, metrics = self.result.problem, self.result.metrics
        return {
            "size": " x ".join(map(str, problem.grid.cells)),
            "precision": str(problem.dtype),
            "threads": metrics["threads"],
            "evaluations, all grids": self.record.evaluations,
            "work": round(float(self.record.work()[-1])),
            "seconds": round(metrics["seconds"], 1),
            "CPU seconds": round(self.cpu, 1),
        }


def measure(scene: str, changes: Sequence[str] = (), threads: int | None = None, most_work: float = np.inf) -> Measured:
    """Run a scene in memory; stop between iterations once there was so much work (evaluations of the finest grid)."""
    cpu = time.process_time()
    problem = build(load_scene(scene, changes))
    choose_threads(problem, threads or chosen.threads)
    with recorded(problem.grid.count) as record:

        def enough() -> bool:
            return bool(record.cells) and record.work()[-1] >= most_work

        result = run_problem(problem, should_stop=enough)
    return Measured(result, record, time.process_time() - cpu)


def compile_first(scene: str, changes: Sequence[str] = ()) -> None:
    """Compile what a scene needs, outside of any timing, by a short run of it on a small grid."""
    short = ["domain.resolution=16", "control.iterations=2", "control.coarse=0"]
    keyfluid.run(scene, overrides=[*changes, *short], threads=chosen.threads)


def densities_at(evaluation: Evaluation, vector: np.ndarray, frame: int) -> Mapping[str, np.ndarray]:
    """The smoke at a frame under the forces of a control vector."""
    state = state_after(evaluation.problem, JoinedForces().and_then(evaluation.control, vector), frame)
    return {name: state[name].array for name in evaluation.problem.densities}


def _limit_colours(path: Path, colours: int) -> None:
    """Few colours make small files."""
    from PIL import Image

    Image.open(path).convert("P", palette=Image.Palette.ADAPTIVE, colors=colours).save(path, optimize=True)
    print(f"\n{path}\n", flush=True)


def save_strip(
    name: str,
    pictures: Sequence[np.ndarray],
    labels: Sequence[str],
    columns: int,
    tile: int = 150,
    colours: int = 64,
) -> None:
    """docs/images/spectral_NAME.png, with few colours so that it stays small."""
    path = chosen.images / f"spectral_{name}.png"
    save_png(path, filmstrip(pictures, labels, columns=columns, tile=tile))
    _limit_colours(path, colours)


def frame_pictures(result: RunResult, frames: Sequence[int], size: int = 200) -> list[np.ndarray]:
    """Frames of a run, and after them its last keyframe's target."""
    painter = Painter(result.problem, size)
    key = result.problem.keyframes[-1]
    pictures = [painter.picture(result.frames[index].densities, index) for index in frames]
    return [*pictures, painter.picture({key.field: key.target}, key.frame)]


def save_plot(name: str, width: float, height: float, draw: Callable[[Any], None]) -> None:
    """docs/images/spectral_NAME.png by matplotlib: `draw` gets the figure."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure = pyplot.figure(figsize=(width, height), layout="constrained")
    draw(figure)
    path = chosen.images / f"spectral_{name}.png"
    figure.savefig(path, dpi=90)
    pyplot.close(figure)
    _limit_colours(path, 24)
