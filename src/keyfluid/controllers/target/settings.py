"""The method's parameters, under the names of scenes/control.py, and the paper's coefficients made of them.

With T the seconds a target has, rho0 the smoke's peak density, and L the longest side of the domain:

    sigma = smoothing x L                       m                     blur of equation 6; deviation sigma / sqrt 2
    v_f = strength  x  8 L^2 / (T^2 rho0)       m^2/s^2 per density   driving force
    v_d = damping   x 16 / T                    1/s                   momentum attenuation
    v_g = gathering x 0.004 L^2 / (T rho0^2)    m^2/s per density^2   gathering

sigma, v_f, v_d and v_g may also be given as they are; then strength, damping and gathering multiply those.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

FORCE, DAMPING, GATHERING = 8.0, 16.0, 0.004
DENSE_GAP = 0.25
DENSE_TIME = 1.0
"""Targets closer than DENSE_GAP seconds are an animation: coefficients are then those of DENSE_TIME seconds."""


@dataclass(frozen=True)
class Coefficients:
    """v_f, v_d, v_g for one field and one target."""

    force: float
    damping: float
    gathering: float


@dataclass(frozen=True)
class Settings:
    """See scenes/control.py for the meaning of each."""

    strength: float = 1.0
    damping: float = 1.0
    gathering: float = 1.0
    smoothing: float = 0.05
    sigma: float | None = None
    v_f: float | None = None
    v_d: float | None = None
    v_g: float | None = None
    falloff: float | None = None
    hard: bool = False
    release: bool = False
    equalise: float = 0.0
    turbulence: float = 0.0
    advection: str = "limited"
    side: float = 1.0
    """L, in metres."""

    @classmethod
    def of(cls, control: Any, side: float) -> Settings:
        own = {field.name: getattr(control, field.name) for field in fields(cls) if field.name != "side"}
        return cls(**own, side=side)

    @property
    def width(self) -> float:
        """The paper's sigma, in metres."""
        return self.sigma if self.sigma is not None else self.smoothing * self.side

    def coefficients(self, seconds: float, peak: float, blend: float) -> Coefficients:
        """For a target that has `seconds`, at a blend from 0 (free) to 1."""
        time = seconds if seconds > DENSE_GAP else DENSE_TIME
        v_f = self.v_f if self.v_f is not None else FORCE * self.side**2 / (time**2 * peak)
        v_d = self.v_d if self.v_d is not None else DAMPING / time
        v_g = self.v_g if self.v_g is not None else GATHERING * self.side**2 / (time * peak**2)
        return Coefficients(
            blend * self.strength * v_f, blend * self.damping * v_d, blend * self.gathering * v_g
        )
