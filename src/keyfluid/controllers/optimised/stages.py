"""The stages of an optimisation: grids from coarse to fine, bands from long waves to short, blurs from wide to none.

Where smoke is carried along paths (`control.paths`), the grid carries it in the stages of the coarsest grid first, then
paths in more stages there, first compared blurred, and in those of all finer grids.

Every stage minimises the same objective over forces that contain those of the stage before, and begins where it ended.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from keyfluid.controllers.islands import meets, smoke_for, tunnels, way_between, way_to_far_islands
from keyfluid.controllers.optimised.edited import own_frame
from keyfluid.controllers.optimised.settings import SearchNumbers
from keyfluid.controllers.optimised.unknowns import make_control
from keyfluid.controllers.optimised.windows import Window, search_windows
from keyfluid.controls import Control
from keyfluid.errors import SceneError, SceneErrors
from keyfluid.models.state import State
from keyfluid.problem import Problem

_STEP_OVERHEAD = 2800
"""Cells whose work is that of a step beside its cells: an iteration at 64^2 took 1.8 times one at 32^2."""


_GENTLE = 30.0
"""Penalty on shear while the grid carries smoke that paths will carry later, in units of its own. Where smoke and
target hardly meet, a search along paths finds no way, and the grid's blur shows one; but a way that relies on blur is
no use to paths (a ring that becomes a heart in 30 frames at 64^2: error 0.28 after a penalty of 1, 0.09 after 30)."""

_SOFT = (0.06, 0.03)
"""Blurs of the first comparisons along paths, of the longest side. Carried smoke keeps its holes, and one that the
target does not have is felt only where it touches the outside; a blur feels it from afar. Nine windows at 64^2 and 30
frames from shape to shape: mean error 0.105, the worst 0.262 (an 8 becomes a box); blurred first 0.058 and 0.072. In 2D
smoke and targets without holes do without (letters F, L, U, I, S, K at 128^2: as good in 0.84 of the time)."""

_WIDER = 2.0
"""These blurs, times this, in 3D where tunnels must open or close, as they are wide there, and only there: a ball to a
ring, back to a ball and a box around a sphere at 32^3, errors 0.124 0.154 0.133, wider 0.094 0.135 0.127; but a ball
that becomes a mouse at 24^3 0.179, wider 0.250."""

_LEAST_BLUR = 0.5
"""Cells; a narrower one changes little."""

_HARD = 0.05
"""Relative error above the least of a rearrangement at which a window of several is hard: what it leaves behind stays
with all that follow, so that it is worth as many iterations again (the ring that becomes a heart, at 128^2: 0.079 after
120, 0.063 after 240)."""

_NEAR = 0.1
"""Relative error of a liquid at which a finer grid does without its first gamma too (a letter at 48^2 and then 96^2: L
0.03, K 0.06; G, which is hard, 0.19)."""

_PATIENCE = 0.1
"""tau along paths, in units of its own: with kinks between cells an iteration may lower the objective little, and the
next one much."""


@dataclass(frozen=True, eq=False)
class Stage:
    """One minimisation: a grid, a control and a blur of the densities compared (metres; 0: none).

    Of a liquid `blur` is the width w of gamma (objectives/surface.py).
    """

    problem: Problem
    window: Window
    control: Control
    blur: float
    iterations: int
    label: str
    shear: float
    """Penalty on shear (objectives/shear.py)."""
    tau: float
    """The least decrease of an iteration; a smaller one ends the stage."""
    accuracy: float = 0.0
    """The relative error that is good enough: below it the stage ends."""
    hard: float = math.inf
    """The relative error above which the iterations may be as many again."""
    paths: int = 0
    """In each cell, along which its density is carried; 0: the grid carries it."""
    patience: float = math.inf
    """Evaluations that may lower the objective by less than a hundredth; more end the stage."""

    @property
    def most(self) -> int:
        """Iterations, if the window is hard."""
        return self.iterations if math.isinf(self.hard) else 2 * self.iterations

    @property
    def cost(self) -> float:
        """Work of an iteration, for the time left: cells times frames."""
        return float((self.problem.grid.count + _STEP_OVERHEAD) * (self.window.seen - self.window.first))


def plan_stages(problem: Problem, settings: SearchNumbers, window: Window | None = None) -> list[Stage]:
    """The stages of a window, first to last; without one, of all the scene at once."""
    window = window or search_windows(problem, settings, "all")[0]
    if problem.steps_per_frame is None:
        raise SceneError(
            "time.steps_per_frame",
            '"auto" changes the steps from one evaluation to the next; give this method a fixed number',
        )
    soft = _soft(problem, settings, window)
    stages: list[Stage] = []
    for rank, level in enumerate(_levels(problem, settings.coarse)):
        for cutoff in settings.cutoffs(level):
            control = make_control(level, settings, cutoff, window)
            iterations = settings.iterations_of(level is problem)
            if not settings.paths or rank == 0:
                first = settings.iterations_of(level is problem and not settings.paths)
                cells = level.grid.spacing / problem.grid.spacing
                blurs = _blurs(level, settings, window, first=not stages, cells=cells)
                for number, blur in enumerate(blurs):
                    label = _label(level, settings, cutoff, blur)
                    shear = settings.shear * (_GENTLE if settings.paths and blur == 0 else 1.0)
                    again = problem.fluid.search(problem).own_gamma and rank > 0 and number == 0 and len(blurs) > 1
                    near = _NEAR if again else 0.0
                    stages.append(Stage(level, window, control, blur, first, label, shear, settings.tau, near))
            for blur in _path_blurs(level, settings, soft, first=not any(stage.paths for stage in stages)):
                label = _label(level, settings, cutoff, blur) + ", paths"
                tau, accuracy = _PATIENCE * settings.tau, settings.accuracy
                hard = _hard(problem, settings, window) if blur == 0 else math.inf
                shear, paths = settings.shear, settings.paths
                stages.append(Stage(level, window, control, blur, iterations, label, shear, tau, accuracy, hard, paths))
    stages[-1] = replace(stages[-1], patience=problem.fluid.search(problem).patience or math.inf)
    return stages


def _hard(problem: Problem, settings: SearchNumbers, window: Window) -> float:
    """The error above which a window gets more iterations; infinite for the only window of a film, and in shooting,
    which comes back to each."""
    if settings.schedule == "shooting" or window == search_windows(problem, settings, "all")[0]:
        return math.inf
    bounds = [key.bound or 0.0 for key in problem.keyframes if window.first < key.frame <= window.last]
    return _HARD + max(bounds, default=0.0)


def _levels(problem: Problem, coarse: int) -> list[Problem]:
    """The scene on coarser grids, then itself; a grid that can't hold it is left out."""
    levels = []
    for halvings in range(coarse, 0, -1):
        try:
            levels.append(problem.coarser(2**halvings))
        except SceneErrors:
            continue
    return [*levels, problem]


def begins_blurred(problem: Problem, settings: SearchNumbers) -> bool:
    """Whether the first stage compares blurred densities."""
    return _blurs(problem, settings, search_windows(problem, settings, "all")[0], first=True)[0] > 0


def _blurs(
    problem: Problem, settings: SearchNumbers, window: Window, first: bool, cells: float = 1.0
) -> tuple[float, ...]:
    """Widths of gamma, one stage each. "auto" blurs in the very first stages, and only smoke that must go far: where
    smoke and target do not meet, moving smoke changes nothing, and dissolving it is the nearest way down.

    cells: the grid's over the scene's. A liquid's widths are as many cells on a coarser grid; a finer grid does without
    the widest, which has done its work there (letters in water, 48^2 and then 96^2: as good in 0.7 of the time).
    """
    if problem.fluid.search(problem).own_gamma:
        scaled = tuple(cells * width for width in settings.blur)
        return scaled if first or len(scaled) == 1 else scaled[1:]
    if settings.gamma == "blur":
        return settings.blur
    if settings.gamma != "auto" or not first:
        return (0.0,)
    far = _farthest(problem, window)
    widths = [far * share for share in (0.5, 0.25, 0.125) if far * share > problem.grid.spacing]
    return (*widths, 0.0) if widths else (0.0,)


def _path_blurs(problem: Problem, settings: SearchNumbers, soft: list[float], first: bool) -> tuple[float, ...]:
    """Widths of gamma along paths, one stage each; blurred in the first of these stages."""
    if not settings.paths:
        return ()
    return (*(width for width in soft if first and width > _LEAST_BLUR * problem.grid.spacing), 0.0)


def _soft(problem: Problem, settings: SearchNumbers, window: Window) -> list[float]:
    """Blurs of the first comparisons along paths, metres; only "auto" has some."""
    if not settings.paths or settings.gamma != "auto":
        return []
    ways = list(_ways(problem, window))
    if problem.grid.dim == 2 and not any(tunnels(way.smoke) or tunnels(way.target) for way in ways):
        return []
    wide = problem.grid.dim == 3 and any(tunnels(way.smoke) != tunnels(way.target) for way in ways)
    return [share * (_WIDER if wide else 1.0) * max(problem.grid.size) for share in _SOFT]


def _farthest(problem: Problem, window: Window) -> float:
    """The longest way of smoke: between centres of mass if the shapes hardly meet, and to islands of the target that
    are far."""
    farthest = 0.0
    for way in _ways(problem, window):
        if not meets(way.smoke, way.target, way.full):
            farthest = max(farthest, way_between(problem.grid, way.smoke, way.target))
        farthest = max(farthest, way_to_far_islands(problem.grid, way.smoke, way.target, way.full))
    return farthest


@dataclass(frozen=True, eq=False)
class _Way:
    """What a keyframe of a window asks for: smoke that lies here goes there."""

    smoke: np.ndarray
    target: np.ndarray
    full: float
    """The density of a full cell."""


def _ways(problem: Problem, window: Window) -> Iterator[_Way]:
    """From the start or a key to the next. Smoke that sources will have given counts."""
    begin = 0
    starts: State = problem.densities
    if problem.edit is not None:
        begin = problem.edit.first
        starts = own_frame(problem, problem.edit, begin).state
    for name in problem.densities:
        here, before = problem.fluid.amount(starts[name].array, problem.grid.spacing), begin
        for key in problem.keyframes:
            if key.field != name:
                continue
            smoke, there = smoke_for(problem, name, here, before, key.frame), key.target
            if window.first < key.frame <= window.last and smoke.any() and there.any():
                yield _Way(smoke, there, max(problem.peaks[name], float(here.max())))
            here, before = there, key.frame


def _label(problem: Problem, settings: SearchNumbers, cutoff: float | None, blur: float) -> str:
    parts = [" x ".join(map(str, problem.grid.cells))]
    if settings.bands == "grow":
        parts.append(f"k <= {cutoff:g}")
    if blur > 0:
        parts.append(f"{problem.fluid.search(problem).blur_word} {blur:.3g} m")
    return ", ".join(parts)
