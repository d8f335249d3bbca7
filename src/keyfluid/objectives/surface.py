"""How far a liquid's surface is from its keyframes.

    phi = 1/2 sum_k w_k |W_k (gamma(rho_k) - gamma(rho_k*))|^2 / S,   gamma(x) = 2 atan(x / w) / pi
    S = sum_k w_k 4 |W_k inside rho_k*|^2                                         [McNamara 2004, eq. 2, section 4.2]

rho is the signed distance. gamma is -1 deep inside and 1 far outside, so that the distance counts the volume where
state and keyframe differ, whatever their depth there; w, in metres, is how far from the surface it still tells which
way is nearer. W_k is 1 in a keyframe's region. A liquid that is all in the wrong place has an objective near 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from keyfluid.errors import KeyfluidError
from keyfluid.fields import Field
from keyfluid.models.liquid import SURFACE, filled
from keyfluid.models.state import State


@dataclass(frozen=True, eq=False)
class SurfaceKey:
    """The target signed distance after `step` steps, metres; mask: 1 where it counts, None for everywhere; path: its
    key path."""

    step: int
    target: Field
    weight: float = 1.0
    mask: Field | None = None
    path: str = ""

    @property
    def region(self) -> np.ndarray:
        return np.ones(1) if self.mask is None else self.mask.data.astype(np.float64)


class SurfaceMatch:
    """The objective; width: w in metres."""

    def __init__(self, keys: Sequence[SurfaceKey], width: float) -> None:
        self.keys, self.width = list(keys), float(width)
        self.sizes = [self._size(key, key.region) or self._size(key, np.ones(1)) for key in keys]
        self.scale = sum(key.weight * size for key, size in zip(keys, self.sizes))
        if not self.scale > 0:
            raise KeyfluidError("keyframe: no target holds liquid; nothing to reach")
        self.errors: dict[int, float] = {}
        """Relative error in the share of cells filled, by a keyframe's place in `keys`, as of the last evaluation."""

    def steps(self) -> Iterable[int]:
        return {key.step for key in self.keys}

    def term(self, step: int, state: State) -> tuple[float, Mapping[str, Field]]:
        surface = state[SURFACE]
        value, bar = 0.0, np.zeros(surface.data.size)
        x = surface.data.astype(np.float64) / self.width
        for place, key in enumerate(self.keys):
            if key.step != step:
                continue
            gap = key.region * (np.arctan(x) - np.arctan(key.target.data.astype(np.float64) / self.width)) * 2 / np.pi
            value += 0.5 * key.weight * float(np.sum(gap * gap)) / self.scale
            bar += key.weight / self.scale * key.region * gap * (2 / np.pi / self.width) / (1 + x * x)
            missed = key.region * (self._share(surface) - self._share(key.target))
            self.errors[place] = float(np.sqrt(4.0 * np.sum(missed * missed) / self.sizes[place]))
        return value, {SURFACE: surface.like(bar.astype(surface.dtype))}

    def _size(self, key: SurfaceKey, region: np.ndarray) -> float:
        """Size of the target in a region, or of the whole target if the region should be empty."""
        return 4.0 * float(np.sum(region**2 * self._share(key.target)))

    def _share(self, surface: Field) -> np.ndarray:
        return filled(surface.data.astype(np.float64), surface.grid.spacing)
