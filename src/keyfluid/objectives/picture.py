"""How far the rendered smoke is from target pictures [Tang 2021, section 5.3, figure 12: gamma is a renderer].

phi = 1/2 sum_k w_k |I(rho_k) - I_k*|^2 / S,   I = sum along the rays of what cells glow (operators/glow.py),
S = sum_k w_k |I_k*|^2
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from keyfluid.errors import KeyfluidError
from keyfluid.fields import Field
from keyfluid.models.state import State
from keyfluid.operators.glow import Glow


@dataclass(frozen=True, eq=False)
class PictureKey:
    """A target picture after `step` steps; wanted: brightness over the axes across the rays."""

    step: int
    name: str
    view: Glow
    wanted: np.ndarray
    weight: float = 1.0


class PictureMatch:
    """The objective."""

    def __init__(self, keys: Sequence[PictureKey]) -> None:
        self.keys = list(keys)
        self.scale = sum(key.weight * _square(key.wanted) for key in keys)
        if not self.scale > 0:
            raise KeyfluidError("picture: every picture is black, or has weight 0; nothing to reach")
        self.errors: dict[int, float] = {}
        """Relative error of each picture, by its place in `keys`, as of the last evaluation."""

    def steps(self) -> Iterable[int]:
        return {key.step for key in self.keys}

    def term(self, step: int, state: State) -> tuple[float, Mapping[str, Field]]:
        value = 0.0
        bars: dict[str, Field] = {}
        for place, key in enumerate(self.keys):
            if key.step != step:
                continue
            density = state[key.name]
            gap = key.view.picture(density) - key.wanted.astype(density.dtype)
            self.errors[place] = float(np.sqrt(_square(gap) / _square(key.wanted)))
            value += 0.5 * key.weight * _square(gap) / self.scale
            push = np.expand_dims(density.dtype.type(key.weight / self.scale) * gap, key.view.axis)
            glow_bar = Field.of(density.grid, density.kind, np.broadcast_to(push, density.grid.cells))
            (bar,) = key.view.adjoint((density,), (glow_bar,))
            bars[key.name] = bars[key.name] + bar if key.name in bars else bar
        return value, bars


def _square(values: np.ndarray) -> float:
    return float(np.sum(np.square(values, dtype=np.float64)))
