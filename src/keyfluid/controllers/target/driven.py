"""A scene's smoke as the driven model: its sources, bodies and forces, and the settings of the method in place."""

from __future__ import annotations

from keyfluid.controllers.target.settings import TargetNumbers
from keyfluid.fields import density
from keyfluid.fluids.smoke.fluid import smoke_of
from keyfluid.models.air import TEMPERATURE
from keyfluid.models.driven_smoke import DrivenSmoke, DrivenSmokeOptions
from keyfluid.models.inlet import Inlet
from keyfluid.models.turbulence import Turbulence
from keyfluid.problem import Emission, Problem


def driven_smoke(problem: Problem, settings: TargetNumbers) -> DrivenSmoke:
    fluid, turbulence = smoke_of(problem), None
    if settings.turbulence > 0:
        size, seed = 2 * settings.width, problem.seed
        turbulence = Turbulence(problem.grid, size, settings.turbulence, seed, problem.dtype)
    options = DrivenSmokeOptions(
        peaks={name: problem.peaks[name] for name in problem.densities},
        dtype=problem.dtype,
        buoyancy=fluid.buoyancy,
        up=problem.up,
        viscosity=fluid.viscosity,
        confinement=fluid.vorticity,
        solids=problem.solids,
        inlets=[inlet for source in problem.sources for inlet in _inlets(problem, source)],
        turbulence=turbulence,
        equalise=settings.equalise,
        correction=0.0 if settings.advection == "first-order" else 1.0,
        air=fluid.air(problem),
        warm=problem.temperature is not None,
    )
    return DrivenSmoke(problem.grid, options)


def _inlets(problem: Problem, source: Emission) -> list[Inlet]:
    mask = density(problem.grid, source.mask, problem.dtype)
    held = None if source.density is None else mask.like(mask.data * 0 + source.density)
    start, stop = source.span(problem.fps)
    shares, wind = source.wind(problem.grid) if source.velocity is not None else (None, None)
    smoke = Inlet(
        source.field,
        mask,
        density=held,
        rate=source.rate or 0.0,
        velocity_mask=shares,
        velocity=None if wind is None else wind.astype(problem.dtype),
        start=start,
        stop=stop,
    )
    if source.temperature is None:
        return [smoke]
    heat = mask.like(mask.data * 0 + mask.dtype.type(source.temperature))
    return [smoke, Inlet(TEMPERATURE, mask, density=heat, start=start, stop=stop)]
