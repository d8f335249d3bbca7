"""The start of a search from a run of another method: forces that make the engine's air follow the other run's.

    f_k = B c_k nearest to (v_k - w_k) / dt,  k = 0, 1, ...

v_k   the velocity that moved the other run's smoke in step k, from its frames; on another grid read off linearly, with
      other steps per frame the mean over the step
w_k   the velocity that would move this scene's smoke in step k, after the forces so far and without one now
B     the control's basis (controls/): what it can't hold of one step is asked of it again in the next

Not the other run's forces: they were found for its integrator, and what they do to the engine's air is another flow.
Letters by "spacetime" on 64 cells and 20 steps, error of the engine's smoke before and after ten iterations of
"spectral":

                            F              L              U              I              D
    forces of the run       0.241  0.165   0.273  0.183   0.368  0.161   0.261  0.230   0.446  0.197
    forces of its air       0.172  0.156   0.189  0.170   0.173  0.152   0.247  0.227   0.210  0.173
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from keyfluid.controllers.method import OtherRun
from keyfluid.controllers.optimised.unknowns import nearest
from keyfluid.controllers.optimised.windows import Window
from keyfluid.controls import Control
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


def follow_air(other: OtherRun, problem: Problem, control: Control, window: Window, start: State | None) -> np.ndarray:
    """The control vector whose forces lead the smoke of `problem` through the air of `other`; the window begins in
    `start`, None: the scene's own."""
    fluid, timing = problem.fluid.steps(problem), control.timing
    air = _Air(other, problem)
    state: State = problem.start if start is None else start
    found = []
    for step in range(window.first * air.steps, timing.first + timing.steps):
        clock = Clock(step, timing.dt)
        free = fluid.advance(state, clock)
        if step < timing.first:
            state = free.state
            continue
        found.append(nearest(control.basis, (air.at(step) - free.carrier) * (1.0 / timing.dt)))
        state = fluid.advance(state, clock, control.basis.force(found[-1])).state
    return timing.sets_of(np.stack(found)).ravel()


class _Air:
    """The velocities that moved another run's smoke, in the steps and on the grid of `problem`."""

    def __init__(self, other: OtherRun, problem: Problem) -> None:
        self.grid, self.steps = problem.grid, problem.steps_per_frame or 1
        self._record = lru_cache(maxsize=1)(other.record)

    def at(self, step: int) -> Field:
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
