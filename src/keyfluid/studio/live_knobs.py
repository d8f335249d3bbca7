"""The few settings of a method that are worth a slider while it runs, with the range that a hand needs.

Lengths and strengths scale with L, the longest side of the domain. A setting's own limits, in the method's table, are
wider; what the scene gives beyond a range widens it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from keyfluid.controllers.particles.settings import ParticleNumbers, ParticleSettings
from keyfluid.controllers.target.settings import TargetNumbers
from keyfluid.fluids.liquid.fluid import LiquidFluid
from keyfluid.scenes.build.problem import BuiltScene


@dataclass(frozen=True)
class Knob:
    """`key` of [control] from `least` to `most`; `per_side`: both are for a domain of 1 m, and scale with it."""

    key: str
    label: str
    least: float
    most: float
    unit: str = ""
    per_side: bool = False
    whole: bool = False


PARTICLES: tuple[Knob, ...] = (
    Knob("strength", "Attraction", 0.0, 15.0, "m/s²", per_side=True),
    Knob("damping", "Damping", 0.0, 0.9),
    Knob("vortex_strength", "Turbulence", 0.0, 20.0, "1/s"),
    Knob("vortex_radius", "Size of eddies", 0.025, 0.2, "m", per_side=True),
    Knob("contain", "Containment", 0.0, 20.0, "1/s"),
    Knob("redistributions", "Strays put back", 0.0, 1.0, "markers per step", whole=True),
)
TARGET: tuple[Knob, ...] = (
    Knob("strength", "Driving force", 0.0, 10.0, "×"),
    Knob("damping", "Damping", 0.0, 4.0, "×"),
    Knob("gathering", "Gathering", 0.0, 6.0, "×"),
    Knob("smoothing", "Smoothing", 0.01, 0.2, "of the longest side"),
    Knob("turbulence", "Turbulence", 0.0, 20.0, "m/s²", per_side=True),
    Knob("equalise", "Mass to the target's", 0.0, 10.0, "1/s"),
)
LIQUID = TARGET[:2]


def knobs_of(problem: BuiltScene) -> list[Knob]:
    """The sliders of a scene, with their ranges in its units."""
    if isinstance(problem.control, ParticleSettings):
        numbers = ParticleNumbers.of(problem.control, problem.grid)
        found, most_strays = PARTICLES, 2.0 * numbers.markers
        # A vortex must span a cell of the velocities.
        smallest = max(problem.grid.size) / numbers.velocity_cells
    else:
        found, most_strays, smallest = (LIQUID if isinstance(problem.fluid, LiquidFluid) else TARGET), 0.0, 0.0
    return [_scaled(knob, max(problem.grid.size), most_strays, smallest) for knob in found]


def _scaled(knob: Knob, side: float, most_strays: float, smallest: float) -> Knob:
    least, most = knob.least, knob.most
    if knob.per_side:
        least, most = least * side, most * side
    if knob.key == "redistributions":
        most = most_strays
    if knob.key == "vortex_radius":
        least = max(least, smallest)
    return Knob(knob.key, knob.label, least, most, knob.unit, whole=knob.whole)


def described(problem: BuiltScene, control: Any) -> list[dict[str, Any]]:
    """The sliders for the page, at the values that act now: given or the method's default."""
    numbers: Any = (
        ParticleNumbers.of(control, problem.grid)
        if isinstance(control, ParticleSettings)
        else TargetNumbers(**control.model_dump(exclude_none=True), side=max(problem.grid.size))
    )
    fields = type(control).model_fields
    result = []
    for knob in knobs_of(problem):
        given = getattr(control, knob.key)
        value = float(given if given is not None else getattr(numbers, knob.key))
        least, most = min(knob.least, value), max(knob.most, value)
        result.append(
            {
                "key": knob.key,
                "label": knob.label,
                "unit": knob.unit,
                "min": least,
                "max": most,
                "step": max(1.0, round((most - least) / 200)) if knob.whole else (most - least) / 200,
                "value": value,
                "help": str(fields[knob.key].description).partition("; default")[0],
            }
        )
    return result


def checked(problem: BuiltScene, keys: Any) -> dict[str, float | int]:
    """Keys and numbers of a message, if they are knobs of this scene; others are left out."""
    if not isinstance(keys, dict):
        return {}
    known = {knob.key: knob for knob in knobs_of(problem)}
    return {
        key: round(value) if known[key].whole else float(value)
        for key, value in keys.items()
        if key in known and isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e12
    }
