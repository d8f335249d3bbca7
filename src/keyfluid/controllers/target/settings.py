"""The method's parameters, under the names of scenes/control.py, and the paper's coefficients made of them.

With T the seconds a target has, rho0 the smoke's peak density, and L the longest side of the domain:

    sigma = smoothing x L                       m                     blur of equation 6; deviation sigma / sqrt 2
    v_f = strength  x  8 L^2 / (T^2 rho0)       m^2/s^2 per density   driving force
    v_d = damping   x 24 / T                    1/s                   momentum attenuation
    v_g = gathering x 0.024 L^2 / (T rho0^2)    m^2/s per density^2   gathering

sigma, v_f, v_d and v_g may also be given as they are; then strength, damping and gathering multiply those.

Beyond the paper, a target acts from coarse to fine. Up to a gradient, which pressure takes away, the force is
v_f blur(rho) grad log(blur(rho*) / blur(rho)): it levels out shares of smoke that differ within the blur. With
sigma throughout, the letters next to the start fill up and those further off starve, since nothing within 0.05 L
tells smoke in a full letter of an empty one. So a turn begins with the blur `reach` x L and narrows it by factors
of about sqrt 2 to sigma in the first half of the turn. While it is s,

    v_f (s / sigma)^2      the force's stiffness v_f / s^2 stays the same
    v_g (sigma / s)^4      what will be carried is not gathered

are at work. Each s has its own rest at the target; reach = 0 is the paper's method.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

from keyfluid.models.pull import Coefficients

FORCE, DAMPING, GATHERING = 8.0, 24.0, 0.024
DENSE_GAP = 0.25
DENSE_TIME = 1.0
"""Targets closer than DENSE_GAP seconds are an animation: coefficients are then those of DENSE_TIME seconds."""
NARROWING = 0.5
"""Share of a turn in which the blur narrows from reach to sigma."""


@dataclass(frozen=True)
class Settings:
    """See scenes/control.py for the meaning of each."""

    strength: float = 1.0
    damping: float = 1.0
    gathering: float = 1.0
    smoothing: float = 0.05
    reach: float = 0.2
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

    def width_at(self, share: float, seconds: float) -> float:
        """s, in metres, when a target that has `seconds` has used up this share of them."""
        widest = max(self.reach * self.side, self.width)
        stages = math.ceil(2 * math.log2(widest / self.width) - 1e-9)
        passed = math.floor(stages * share / NARROWING + 1e-9)
        if passed >= stages or seconds <= DENSE_GAP:
            return self.width
        return self.width * (widest / self.width) ** (1 - passed / stages)

    def coefficients(self, seconds: float, peak: float, blend: float, width: float) -> Coefficients:
        """For a target that has `seconds`, at a blend from 0 (free) to 1, while the blur is `width`."""
        coarse = (width / self.width) ** 2
        time = seconds if seconds > DENSE_GAP else DENSE_TIME
        v_f = self.v_f if self.v_f is not None else FORCE * self.side**2 / (time**2 * peak)
        v_d = self.v_d if self.v_d is not None else DAMPING / time
        v_g = self.v_g if self.v_g is not None else GATHERING * self.side**2 / (time * peak**2)
        return Coefficients(
            blend * self.strength * v_f * coarse, blend * self.damping * v_d, blend * self.gathering * v_g / coarse**2
        )
