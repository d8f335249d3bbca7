"""Forces that make the engine's air follow another: the start of a search from a run of another method, of a stage from
one on a coarser grid, and of a window from the air that it begins with.

    f_k = B c_k nearest to (v_k - w_k) / dt,  k = 0, 1, ...

v_k   the velocity to follow in step k. Of another run: what moved its smoke, from its frames; on another grid read off
      linearly, with other steps per frame the mean over the step
w_k   the velocity that would move this scene's smoke in step k, after the forces so far and without one now
B     the control's basis (controls/): what it can't hold of one step is asked of it again in the next

Not the other run's forces: they were found for its integrator, and what they do to the engine's air is another flow.
Letters by "spacetime" on 64 cells and 20 steps, error of the engine's smoke before and after ten iterations of
"spectral":

                            F              L              U              I              D
    forces of the run       0.241  0.165   0.273  0.183   0.368  0.161   0.261  0.230   0.446  0.197
    forces of its air       0.172  0.156   0.189  0.170   0.173  0.152   0.247  0.227   0.210  0.173

Between grids of one search it is the same: a finer grid brakes the air less, so that the coarse forces overshoot there.
Letters I and L from 64 to 128 cells, error of the smoke carried along paths, on the coarse grid, then on the fine one:
by the same forces 0.08 and far off (0.32 after 60 iterations), by the same air 0.06 and 0.09 (0.04 after 60).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from keyfluid.controllers.method import OtherRun
from keyfluid.controllers.optimised.edited import own_forces
from keyfluid.controllers.optimised.on_grid import state_on
from keyfluid.controllers.optimised.stages import Stage
from keyfluid.controllers.optimised.unknowns import carry, nearest
from keyfluid.controls import SpectralPotential
from keyfluid.controls.resample import to_grid
from keyfluid.errors import SceneError
from keyfluid.fields import Field
from keyfluid.fluids.smoke.fluid import SmokeFluid
from keyfluid.models.state import State
from keyfluid.problem import Clock, FrameRecord, Problem


def require_air(other: OtherRun, problem: Problem, last: int) -> None:
    """Raise unless the air of `other` can be followed up to frame `last`."""
    theirs, name = other.problem, other.folder
    if not isinstance(problem.fluid, SmokeFluid) or not isinstance(theirs.fluid, SmokeFluid):
        raise _refused(f'{name} is a run of method "{theirs.method}"; only smoke takes over the air of another method')
    if problem.edit is not None:
        raise _refused(f'{name} is a run of method "{theirs.method}"; an edited run starts only from its own method\'s')
    if not other.finished:
        raise _refused(f"{name} is not finished; resume it first")
    for key, here, there in (
        ("domain.size", *(np.round(grid.size, 9).tolist() for grid in (problem.grid, theirs.grid))),
        ("domain.boundary", problem.grid.boundary, theirs.grid.boundary),
        ("time.fps", problem.fps, theirs.fps),
    ):
        if here != there:
            raise _refused(f"{name} has another {key}; give both the same")
    if theirs.frames < last:
        raise _refused(f"{name} ends at frame {theirs.frames}, this scene's last keyframe is later, at {last}")
    for frame in range(1, last + 1):
        if not other.record(frame).carriers:
            raise _refused(f"{name} has not kept the velocities of its steps; only runs with keyframes do")


Air = Callable[[int], Field]
"""The velocity that moves smoke in a step of the simulation."""

_LONG = 8
"""Frames of a window in which a liquid has time to come to rest and to start again."""

_CALM = 4.0
"""How often the air that a window begins with slows down by 1/e in its first guess."""


def follow_air(air: Air, stage: Stage, start: State | None) -> np.ndarray:
    """The control vector whose forces lead the stage's smoke through `air`; the window begins in `start`, None: the
    scene's own, or a frame of the film that it edits."""
    problem, control, timing = stage.problem, stage.control, stage.control.timing
    fluid, under = problem.fluid.steps(problem), own_forces(problem)
    if start is None and problem.edit is not None:
        start = problem.edit.record(problem.edit.first).state
    state: State = problem.start if start is None else state_on(problem, start)
    found = []
    for step in range(stage.window.first * (problem.steps_per_frame or 1), timing.first + timing.steps):
        clock, own = Clock(step, timing.dt), None if under is None else under(step)
        free = fluid.advance(state, clock, own)
        if step < timing.first:
            state = free.state
            continue
        found.append(nearest(control.basis, (air(step) - free.carrier) * (1.0 / timing.dt)))
        force = control.basis.force(found[-1])
        state = fluid.advance(state, clock, force if own is None else own + force).state
    return timing.sets_of(np.stack(found)).ravel()


def follows_any_air(stage: Stage) -> bool:
    """Whether the forces of a stage can lead its fluid through whatever air: smoke's waves, which change in time."""
    control = stage.control
    waves = control.sources is None and isinstance(control.basis, SpectralPotential)
    return waves and control.timing.mode in ("step", "integrated")


def on_next_stage(
    vector: np.ndarray, before: Stage, after: Stage, carriers: Callable[[], Sequence[Field]], start: State | None
) -> np.ndarray:
    """A control vector of a stage for the next one: the same forces, or on another grid, for smoke that is carried
    along paths, those that lead through the same air; carriers: velocities of `before`, by step of the window."""
    if before.problem.grid == after.problem.grid or not (after.paths and follows_any_air(after)):
        return carry(vector, before.control, after.control)
    air, first = carriers(), after.window.first * (after.problem.steps_per_frame or 1)
    return follow_air(lambda step: to_grid(air[step - first], after.problem.grid), after, start)


def calming_guess(stage: Stage, start: State) -> np.ndarray:
    """Forces that bring the air that a window begins with to rest, and let buoyancy, sources and wind act as from rest.

    Smoke that goes on as it was when the last keyframe was met is soon out of reach of the next one.
    """
    problem, dt = stage.problem, stage.control.timing.dt
    fluid, steps = problem.fluid.steps(problem), problem.steps_per_frame or 1
    given = state_on(problem, start)
    first, last = stage.window.first * steps, stage.window.seen * steps
    state: State = {**given, "velocity": given["velocity"].zeros_like()}
    air = []
    for step in range(first, last):
        advance = fluid.advance(state, Clock(step, dt))
        state = advance.state
        left = math.exp(-_CALM * (step + 1 - first) / (last - first))
        air.append(advance.carrier.add_scaled(left, given["velocity"]))
    return follow_air(lambda step: air[step - first], stage, start)


def rests_between(stage: Stage) -> bool:
    """Whether a window should begin with its fluid brought to rest: a liquid's, if it is long enough for that."""
    problem, window = stage.problem, stage.window
    return problem.fluid.search(problem).own_gamma and window.last - window.first >= _LONG


def resting_guess(stage: Stage, start: State) -> np.ndarray:
    """Forces that bring the liquid that a window begins with to rest, and hold it there; no sources.

    It passes its keyframe at full speed, and left alone flies apart (water that is to be an L, an R and an S, 30 frames
    each at 96^2: IoU 0.992 0.605 0.673 from forces that only carry its weight).
    """
    control = stage.control
    velocity = state_on(stage.problem, start)["velocity"]
    first = stage.window.first * (stage.problem.steps_per_frame or 1)
    rate = _CALM / control.timing.steps
    vector = control.zeros()
    vector[: control.own] = follow_air(lambda step: velocity * math.exp(-rate * (step + 1 - first)), stage, start)
    return vector


class AirOfRun:
    """The velocities that moved another run's smoke, in the steps and on the grid of `problem`."""

    def __init__(self, other: OtherRun, problem: Problem) -> None:
        self.grid, self.steps = problem.grid, problem.steps_per_frame or 1
        self._record = lru_cache(maxsize=1)(other.record)

    def __call__(self, step: int) -> Field:
        velocity = mean_carrier(self._record(step // self.steps + 1), step % self.steps, self.steps)
        return velocity if velocity.grid == self.grid else to_grid(velocity, self.grid)


def mean_carrier(record: FrameRecord, part: int, parts: int) -> Field:
    """The mean velocity of one of `parts` equal pieces of the time that led to a frame."""
    ends = np.cumsum([seconds for seconds, _ in record.carriers])
    begin, end = part / parts * ends[-1], (part + 1) / parts * ends[-1]
    mean = record.carriers[0][1].zeros_like()
    for stop, (seconds, velocity) in zip(ends, record.carriers):
        shared = min(end, stop) - max(begin, stop - seconds)
        if shared > 0:
            mean = mean.add_scaled(float(shared / (end - begin)), velocity)
    return mean


def _refused(text: str) -> SceneError:
    return SceneError("control.start", text)
