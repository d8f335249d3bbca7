"""Smoke as a scene has it.

Advection is stable for any step, so a step that is too long shows only in what is lost. How far the fastest air had
gone in a step when the mass was first off by 5 %, of a disk of smoke that rises in a box with walls (one step per
frame, buoyancy from 1 to 1000 m/s^2, 40 frames), in cells and as a share of the longest side:

    32^2    5 (0.16)                    64^2   7 (0.11, around an obstacle too)     128^2   10 to 15 (0.08 to 0.12)
    256^2   19 to 31 (0.07 to 0.12)     32^3   4 (0.13)                             64^3    6 to 9 (0.09 to 0.14)

At 0.2 a third of the mass was lost, at 0.4 two thirds. Below a tenth, drift comes from coarse grids more than from long
steps. The scenes of the gallery reach 0.08 at most.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from keyfluid.errors import BlowUp
from keyfluid.fields import Field, density
from keyfluid.fluids.smoke.steps import SmokeSteps
from keyfluid.grid import Grid, Kind
from keyfluid.models.air import Air
from keyfluid.models.smoke import SmokeOptions
from keyfluid.objectives import DensityKey, DensityMatch
from keyfluid.operators.blur import Blur, gaussian_blur, gaussian_pyramid
from keyfluid.operators.far_reach import FarReach
from keyfluid.problem import Fluid, Keyframe, Problem, SearchDefaults, TargetBody

_LEAST_LIMIT = 40.0
"""Crossing the whole domain in a step ends a run; on a tiny grid, crossing as many cells as a liquid may."""

_CUTOFF = 16.0
"""Waves of a potential in 3D: all of them would take 20 to 30 vectors of many times the state."""


@dataclass(frozen=True, kw_only=True)
class SmokeFluid(Fluid):
    """buoyancy: m/s^2 upwards per unit of density; vorticity: of its confinement, 1/s; drag, cooling: rates, 1/s;
    heat_buoyancy: m/s^2 upwards per kelvin."""

    name = "smoke"
    drawn_as = "density"
    fast = 0.1

    buoyancy: float = 0.0
    vorticity: float = 0.0
    drag: float = 0.0
    cooling: float = 0.0
    heat_buoyancy: float = 0.0

    def amount(self, values: np.ndarray, spacing: float) -> np.ndarray:
        return values

    def acceleration(self, densities: Iterable[float], temperature: float = 0.0) -> float:
        return sum(abs(self.buoyancy) * value for value in densities) + abs(self.heat_buoyancy) * temperature

    def initial(self, grid: Grid, dtype: np.dtype, values: np.ndarray, bodies: Sequence[TargetBody]) -> Field:
        return Field.of(grid, Kind.CENTRES, values, dtype=dtype)

    def wanted(self, problem: Problem, key: Keyframe) -> np.ndarray:
        return key.target

    def steps(self, problem: Problem) -> SmokeSteps:
        return SmokeSteps(problem, self.options(problem))

    def options(self, problem: Problem) -> SmokeOptions:
        """What this smoke is like; the scene's sources and bodies are added by its steps."""
        return SmokeOptions(
            buoyancy=self.buoyancy, viscosity=self.viscosity, confinement=self.vorticity, air=self.air(problem)
        )

    def air(self, problem: Problem) -> Air:
        """What thins, cools, brakes and blows."""
        return Air(self.dissipation, self.cooling, self.drag, self.heat_buoyancy, problem.winds)

    def match(
        self, problem: Problem, frames: tuple[int, int], blur: float, pyramid: int | None = None, far: float = 0.0
    ) -> DensityMatch | None:
        steps, keys = problem.steps_per_frame or 1, []
        for key in problem.keyframes:
            target = density(problem.grid, key.target, problem.dtype)
            mask = None if key.mask is None else density(problem.grid, key.mask, problem.dtype)
            for frame in key.acting(frames[0], min(frames[1], problem.frames)):
                keys.append(DensityKey(frame * steps, key.field, target, key.weight, mask, key.path))
        gamma = _gamma(problem.grid, blur, pyramid)
        return DensityMatch(keys, FarReach(problem.grid, far, gamma) if far > 0 else gamma) if keys else None

    def search(self, problem: Problem) -> SearchDefaults:
        dim, longest = problem.grid.dim, max(problem.grid.size)
        return SearchDefaults(
            spacing=longest / (32 if dim == 2 else 8), waves="potential", cutoff=None if dim == 2 else _CUTOFF,
            time="integrated", tau=5e-5 if dim == 2 else 1e-5,
            iterations=120, blur=(0.04 * longest, 0.02 * longest, 0.0), blur_word="blur",
            shear=1.0 if dim == 2 else 3.0, paths={2: 4, 3: 2}[dim], coarse=max(problem.grid.cells).bit_length(),
            coarse_share=0.5, ahead=0, own_gamma=False, sources=False, shooting=True, guarded=True, trials=25,
            slack=0.0, patience=0,
        )  # fmt: skip

    def cells_crossed(self, problem: Problem, speed: float, dt: float, time: float) -> float:
        cells = speed * dt / problem.grid.spacing
        if cells <= max(_LEAST_LIMIT, *problem.grid.cells):
            return cells
        moved = (
            f"moves at {speed:.3g} m/s, {cells:.3g} cells in a step" if math.isfinite(cells) else "has no finite speed"
        )
        key, value = self.culprit(problem) or ("time.steps_per_frame", None)
        remedy = "lower forces and velocities" if value is None else f"lower it from {value:g}"
        if problem.steps_per_frame is not None and problem.method != "target":
            remedy += ", or take more steps per frame"
        raise BlowUp(f"{key}: at {time:.3g} s the air {moved}; {remedy}")

    def culprit(self, problem: Problem) -> tuple[str, float] | None:
        """Confinement multiplies what spins by about 1 + vorticity dt in a step; lift moves smoke from rest by
        buoyancy dt^2."""
        dt = 1.0 / (problem.fps * (problem.steps_per_frame or 1))
        if self.vorticity * dt > 1:
            return "smoke.vorticity", self.vorticity
        if self.acceleration([sum(problem.peaks.values())]) * dt * dt > self.fast * max(problem.grid.size):
            return "smoke.buoyancy", self.buoyancy
        warmest = 0.0 if problem.temperature is None else problem.temperature.peak()
        warmest = max([warmest, *(abs(source.temperature or 0.0) for source in problem.sources)])
        if self.acceleration([], warmest) * dt * dt > self.fast * max(problem.grid.size):
            return "smoke.heat_buoyancy", self.heat_buoyancy
        return None


def _gamma(grid: Grid, blur: float, pyramid: int | None) -> Blur | None:
    """gamma^T gamma: a Gaussian of width sigma twice is one of sqrt(2) sigma."""
    if pyramid is not None:
        return gaussian_pyramid(grid, grid.spacing, pyramid)
    return gaussian_blur(grid, math.sqrt(2.0) * blur) if blur > 0 else None


def smoke_of(problem: Problem) -> SmokeFluid:
    """The problem's fluid, for methods that steer only smoke; scenes refuse them for other fluids."""
    assert isinstance(problem.fluid, SmokeFluid)
    return problem.fluid
