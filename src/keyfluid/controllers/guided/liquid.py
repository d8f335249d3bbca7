"""A finer film of a solved liquid: each step, its velocity and its surface are drawn to the run's.

    source, gravity, diffuse, wind - GUIDE - project - extrapolate - advect - redistance

What is followed, over a step from t to t + dt:

    velocity   what carried the run's surface, between its steps as in air.py, interpolated to the fine grid. It is
               extrapolated beyond the run's liquid, so fine liquid a few cells outside of it is led too
    surface    at a frame: the keyframe that acts there, drawn on the fine grid, else the run's surface; between
               frames: that of the frame before, carried by the velocity that is followed

A velocity alone drifts: the surface of a man who runs for 46 frames was then up to 2.2 coarse cells off, and 1.1 with
both (docs/upres.md). The surface only corrects (operators/guide_liquid.py): within the dead zone it returns slowly, so
that waves are the film's own and die out, and a film at rest has the shape that was asked for.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from keyfluid.controllers.guided.air import SolvedAir
from keyfluid.controllers.guided.eddies import LIQUID_SIZES, Eddies
from keyfluid.controllers.guided.plan import GuidedPlan
from keyfluid.controllers.march import Step
from keyfluid.controls.resample import to_grid
from keyfluid.fields import Field
from keyfluid.fluids.liquid.fluid import LiquidFluid, distance_wanted
from keyfluid.fluids.liquid.steps import LiquidSteps
from keyfluid.grid import Kind
from keyfluid.models.liquid import SURFACE, filled
from keyfluid.models.state import State
from keyfluid.operators.advect import Advect
from keyfluid.operators.beside_faces import beside_faces, to_cells
from keyfluid.operators.guide_liquid import GuideLiquid, KeepNear, SurfacePull
from keyfluid.operators.long_waves import Coefficients
from keyfluid.problem import Advance, Clock

WIDTH = 0.1874
"""Width of the Gaussian over the wavelength at the cutoff: half of such a wave is replaced, sqrt(ln(2) / 2) / pi."""
DEAD, MOST = 0.3, 1.0
"""Cells of the run: the surface may be off by the first; beyond the second a gap counts no more."""
FIRM, SOFT = 0.8, 0.1
"""Shares of a gap that are closed in a frame: beyond the dead zone, and of all of it."""


class SolvedLiquid:
    """The run on the film's grid, over time."""

    def __init__(self, plan: GuidedPlan) -> None:
        self._problem, self._other = plan.problem, plan.other
        self._last = plan.ends
        self._steps = SolvedAir(plan.other, WholeVelocity(plan.problem.dtype), plan.ends)
        keys = [key for key in plan.problem.keyframes if key.mask is None]
        self._keys = {frame: key for key in keys for frame in key.acting(0, plan.problem.frames)}
        self._kept: tuple[int, Field] | None = None
        self._moving: tuple[tuple[float, float], Field] | None = None

    def velocity(self, begin: float, end: float) -> Field:
        """Its mean between two times, m/s; that of the times asked for last is kept."""
        if self._moving is None or self._moving[0] != (begin, end):
            (values,) = self._steps.over(begin, end)
            here = to_grid(Field(self._other.problem.grid, Kind.FACES, values), self._problem.grid)
            self._moving = ((begin, end), here)
        return self._moving[1]

    def surface(self, time: float) -> Field:
        """Signed distance; after the last frame that is followed it moves on with its last velocity."""
        problem = self._problem
        frame = min(int(time * problem.fps + 1e-6), self._last)
        begin = frame / problem.fps
        here = self._at_frame(frame)
        if time - begin < 1e-6 / problem.fps:
            return here
        carry = Advect(problem.grid, time - begin, 2, "own", "linear")
        return carry.forward(here, self.velocity(begin, time))[0]

    def _at_frame(self, frame: int) -> Field:
        if self._kept is None or self._kept[0] != frame:
            key = self._keys.get(frame)
            if key is not None:
                found = distance_wanted(self._problem, key, key.frame)
            else:
                theirs = self._other.record(frame).state[SURFACE].astype(self._problem.dtype)
                found = to_grid(theirs, self._problem.grid)
            self._kept = (frame, found)
        return self._kept[1]


class WholeVelocity:
    """All of a velocity (air.Followed)."""

    def __init__(self, dtype: np.dtype) -> None:
        self.dtype = dtype

    def of(self, velocity: Field, /) -> Coefficients:
        return (velocity.data,)


def led_liquid(plan: GuidedPlan) -> Step:
    """Steps of the scene's liquid, led by the solved run's, with eddies of its own."""
    problem, fluid = plan.problem, plan.problem.fluid
    assert isinstance(fluid, LiquidFluid)
    solved, cell, fps = SolvedLiquid(plan), plan.other.problem.grid.spacing, problem.fps
    pull = SurfacePull(dead=DEAD * cell, most=MOST * cell, firm=FIRM * fps, soft=SOFT * fps)

    def guide(begin: float, end: float) -> GuideLiquid | None:
        strength = plan.strength_at(0.5 * (begin + end), end - begin)
        if strength == 0:
            return None
        surface, towards = solved.surface(begin), solved.velocity(begin, end)
        return GuideLiquid(towards, surface, WIDTH / plan.cutoff, pull, strength, plan.spray, problem.solids(end))

    def keep_near(end: float) -> KeepNear | None:
        limited = plan.near > 0 and plan.fade_at(end) == 1.0
        return KeepNear(solved.surface(end), plan.near * cell, problem.solids(end)) if limited else None

    steps = LiquidSteps(problem, replace(fluid.options(problem), guide=guide, keep_near=keep_near))
    if plan.turbulence == 0:
        return steps.advance
    eddies = Eddies(problem, plan.cutoff, plan.turbulence, LIQUID_SIZES)

    def advance(state: State, clock: Clock) -> Advance:
        """Eddies are part of the film, not a control force to be kept with it."""
        moving = solved.velocity(clock.index * clock.dt, (clock.index + 1) * clock.dt)
        force = eddies.stirred(_energy(moving, state[SURFACE]), plan.fade_at(clock.time), clock.time)
        return replace(steps.advance(state, clock, force), force=None)

    return advance


def _energy(velocity: Field, surface: Field) -> Field:
    """The square of the speed, m^2/s^2, on faces, times the share of the liquid there."""
    grid = velocity.grid
    wet = filled(surface.array, grid.spacing)
    wet *= sum((0.5 * to_cells(grid, part, part, axis)) ** 2 for axis, part in enumerate(velocity.components()))
    parts = [0.5 * np.add(*beside_faces(grid, wet, axis, 0.0)) for axis in range(grid.dim)]
    return Field.of(grid, Kind.FACES, *parts, dtype=velocity.dtype)
