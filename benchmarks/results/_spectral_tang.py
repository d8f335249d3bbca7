"""Tang's two benchmarks in 2D [Tang 2021, section 5.2, figures 6 to 9, table 1].

A free simulation with one known force, constant in time, gives the keyframes; each method looks for one constant
force. Uniform force: a plume blown along x, 51 frames, keyframes 31, 41 and 51; sides in x are periodic, because
between walls a uniform force is a gradient and moves nothing. Multi-scale vortices: stream functions of Gaussians of
four widths, 61 frames, 6 keyframes, walls.

The paper's forces, in cells per step squared, differ by resolution: 0.005, 0.0015 and 0.0005 of wind, buoyancy 0.004.
As accelerations in metres (a dx / dt^2) they would move the plume by 0.1, 0.02 and 0.002 of the box in its 51 frames,
unlike its pictures. Ours are the same at every resolution and chosen such that the plume leans as in its figure 6.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from _spectral_common import OUTPUT, Measured, compile_first, densities_at, measure, save_plot, save_strip, table

from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.operators.curl import Curl
from keyfluid.problem import Clock
from keyfluid.runs.pictures import Painter
from keyfluid.scenes import load_scene
from keyfluid.scenes.build.problem import BuiltScene, build

SIZES = [64, 128, 256]
EVALUATIONS = {64: 150, 128: 100, 256: 90}
"""Allowed to each method, those on coarser grids by their cells: about 1, 3 and 8 minutes for a size on two quiet
cores."""
FPS = 24.0
BUOYANCY = 0.8
WIND = 0.12
"""m/s^2"""

METHODS = {
    "Baseline": ["control.preset=baseline"],
    "Baseline + TV": ["control.preset=baseline-tv"],
    "Tang's bands": ["control.preset=tang"],
    "keyfluid": ["control.time=constant", "control.shear=0"],
}
VARIANTS = {
    "bands, a = 1": ["control.preset=tang", "control.growth=1.0"],
    "bands, a = 2": ["control.preset=tang", "control.growth=2.0"],
    "upsampling": ["control.preset=upsampling"],
    "bands without potential": ["control.preset=tang-forces"],
}
GROWING = {"Tang's bands", *VARIANTS}
PAPER = {("uniform", 64): 2.4, ("uniform", 128): 6.1, ("uniform", 256): 6.6}
PAPER |= {("vortices", 64): 187 / 146, ("vortices", 128): 329 / 176, ("vortices", 256): 754 / 86}

SCENE = """
name = "{name}"
[domain]
resolution = {size}
boundary = ["{sides}", "walls"]
[time]
fps = {fps}
frames = {frames}
[smoke]
buoyancy = {buoyancy}
[[source]]
shape = "box"
center = [0.5, 0.12]
size = 0.2
[simulation]
order = 3
"""
KEY = """
[[keyframe]]
frame = {frame}
npy = "{path}"
mass = "keep"
"""


@dataclass(frozen=True)
class Benchmark:
    """A scene and the force that made its keyframes."""

    name: str
    sides: str
    frames: int
    keys: tuple[int, ...]
    force: Callable[[Grid], Field]

    def scene(self, size: int) -> str:
        return SCENE.format(name=self.name, size=size, sides=self.sides, fps=FPS, frames=self.frames, buoyancy=BUOYANCY)


def uniform(grid: Grid) -> Field:
    force = Field.zeros(grid, Kind.FACES)
    force.component(0)[...] = WIND
    return force


def vortices(grid: Grid) -> Field:
    """curl psi; each Gaussian's amplitude is such that its own force is at most WIND, zero on the walls."""
    random = np.random.default_rng(3)
    psi = Field.zeros(grid, Kind.EDGES)
    x, y = grid.coordinates(Kind.EDGES.places(2)[0])
    values = psi.component(0)
    for width, count in ((0.2, 1), (0.1, 4), (0.05, 10), (0.025, 16)):
        for sign in np.resize([1.0, -1.0], count):
            a, b = random.uniform(0.2, 0.8, 2)
            values += sign * WIND * width * np.exp(0.5 - ((x - a) ** 2 + (y - b) ** 2) / (2 * width**2))
    for distance in (x, 1 - x, y, 1 - y):
        values *= np.tanh(distance / 0.05)
    return Curl(grid).apply(psi)[0]


BENCHMARKS = [
    Benchmark("uniform", "periodic", 51, (31, 41, 51), uniform),
    Benchmark("vortices", "walls", 61, (11, 21, 31, 41, 51, 61), vortices),
]


def simulate(problem: BuiltScene, force: Field | None) -> dict[int, np.ndarray]:
    """Densities of all frames under a constant force."""
    steps, dt = problem.fluid.steps(problem), 1.0 / problem.fps
    state = {**problem.densities, "velocity": problem.velocity}
    found = {}
    for index in range(problem.frames):
        state = dict(steps.advance(state, Clock(index, dt), force).state)
        found[index + 1] = state["density"].array
    return found


def keyframed(benchmark: Benchmark, size: int, folder: Path) -> tuple[str, float]:
    """The scene with its keyframes, and how far the unforced run is from them."""
    problem = build(load_scene(benchmark.scene(size)))
    target = simulate(problem, benchmark.force(problem.grid))
    free = simulate(problem, None)
    wanted, found = (np.stack([film[k] for k in benchmark.keys]) for film in (target, free))
    far = np.linalg.norm(found - wanted) / np.linalg.norm(wanted)
    assert far >= 0.2, f"{benchmark.name}, {size}^2: the force changes too little ({far:.2f})"
    text = benchmark.scene(size)
    for frame in benchmark.keys:
        path = folder / f"{benchmark.name}_{size}_{frame}.npy"
        np.save(path, target[frame])
        text += KEY.format(frame=frame, path=path)
    return text + '[control]\nmethod = "spectral"\n' + OUTPUT, float(far)


def compare(benchmark: Benchmark, size: int, folder: Path, evaluations: int, all_variants: bool) -> dict[str, Measured]:
    """Every method on one scene, and its table."""
    scene, far = keyframed(benchmark, size, folder)
    runs: dict[str, Measured] = {}
    for name, changes in (METHODS | (VARIANTS if all_variants else {})).items():
        # Every band must get its turn within the evaluations that all methods are given.
        share = [f"control.iterations={evaluations // 6}"] if name in GROWING else []
        runs[name] = measure(scene, [*changes, *share], most_work=evaluations)
        print(f"{benchmark.name} {size}^2 {name}: {runs[name].record.lowest()[-1]:.4f}", flush=True)
    goal = runs["Baseline + TV"].record
    rows = []
    for name, run in runs.items():
        record = run.record
        place, goal_place = record.first_below(goal.lowest()[-1]), goal.first_below(goal.lowest()[-1])
        assert goal_place is not None
        rows.append(
            {
                "method": name,
                "error": record.lowest()[-1],
                "objective": 0.5 * record.lowest()[-1] ** 2,
                "faster to TV's end, evaluations": "-" if place is None
                else goal.work()[goal_place] / record.work()[place],
                "faster to TV's end, seconds": "-" if place is None
                else goal.seconds[goal_place] / record.seconds[place],
                "paper": PAPER.get((benchmark.name, size), "-") if name == "Tang's bands" else "",
                **run.cost(),
            }
        )  # fmt: skip
    print(f"\n{benchmark.name}, {size}^2, unforced run at {far:.2f}\n\n{table(rows)}\n", flush=True)
    return runs


def draw_curves(all_runs: dict[tuple[str, int], dict[str, Measured]], figure) -> None:  # type: ignore[no-untyped-def]
    """Objective over seconds and over evaluations, as in figure 8."""
    grid = figure.subplots(len(all_runs), 2, squeeze=False, sharey="row")
    for (left, right), ((benchmark, size), runs) in zip(grid, all_runs.items()):
        for name, run in runs.items():
            dashes = "--" if name in VARIANTS else "-"
            left.semilogy(run.record.seconds, 0.5 * run.record.lowest() ** 2, dashes, label=name)
            right.semilogy(run.record.work(), 0.5 * run.record.lowest() ** 2, dashes, label=name)
        left.set(title=f"{benchmark}, {size}^2", xlabel="seconds", ylabel="objective")
        right.set(xlabel="evaluations (coarser grids by their cells)")
        right.legend(fontsize=7)
        for axes in (left, right):
            axes.grid(alpha=0.3)


def draw_keyframes(all_runs: dict[tuple[str, int], dict[str, Measured]]) -> None:
    """The last keyframe of every method beside its target, as in figures 6 and 9."""
    pictures, labels = [], []
    for (_, size), runs in all_runs.items():
        problem = next(iter(runs.values())).result.problem
        painter, key = Painter(problem, 200), problem.keyframes[-1]
        for name in METHODS:
            best = runs[name].record.best
            assert best is not None
            pictures.append(painter.picture(densities_at(*best, key.frame), key.frame))
            labels.append(f"{name}, {size}")
        pictures.append(painter.picture({key.field: key.target}, key.frame))
        labels.append("target")
    save_strip("tang_keys", pictures, labels, columns=len(METHODS) + 1, tile=150)


def run(small: bool) -> None:
    sizes = [32] if small else SIZES
    all_runs: dict[tuple[str, int], dict[str, Measured]] = {}
    with tempfile.TemporaryDirectory() as place:
        for benchmark in BENCHMARKS:
            scene, _ = keyframed(benchmark, 32, Path(place))
            compile_first(scene, METHODS["keyfluid"])
            for size in sizes:
                evaluations = 12 if small else EVALUATIONS[size]
                variants = benchmark.name == "vortices" and size in (32, 128)
                runs = compare(benchmark, size, Path(place), evaluations, variants)
                all_runs[benchmark.name, size] = runs
        save_plot("tang_curves", 9, 2.6 * len(all_runs), partial(draw_curves, all_runs))
        draw_keyframes(all_runs)
