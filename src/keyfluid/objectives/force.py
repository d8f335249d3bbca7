"""The price of forces: Tikhonov's and the squared gradient, which Tang calls total variation.

    alpha / 2 |f|^2 + beta |grad f|^2,  summed over faces and steps          [McNamara 2004, eq. 2; Tang 2021, eq. 6]

f = M_t u is the force, not the parameter u, as McNamara has it. The papers' alpha and beta belong to forces in cells
per step squared, differences in cells, and a keyframe distance summed over cells; `scale` = (dt^2 / dx)^2 / (2 S)
turns them into ours (objectives/density.py has S).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from keyfluid.fields import Field


@dataclass(frozen=True)
class ForcePrice:
    """Price of one step's force; `scale` converts the papers' weights."""

    alpha: float
    beta: float
    scale: float

    def term(self, force: Field) -> tuple[float, Field]:
        """Value and derivative."""
        value = 0.5 * self.alpha * force.dot(force)
        bar = self.alpha * force
        if self.beta > 0:
            for axis in range(force.grid.dim):
                for values, out in zip(force.components(), bar.components()):
                    value += self.beta * _roughness(values, axis, force.grid.is_periodic(axis), self.beta, out)
        return self.scale * value, self.scale * bar


def _roughness(values: np.ndarray, axis: int, periodic: bool, beta: float, bar: np.ndarray) -> float:
    """Sum of squared differences along an axis; adds beta times their derivative to `bar`."""
    line, out = np.moveaxis(values, axis, 0), np.moveaxis(bar, axis, 0)
    difference = np.roll(line, -1, 0) - line if periodic else np.diff(line, axis=0)
    push = bar.dtype.type(2 * beta) * difference
    if periodic:
        out += np.roll(push, 1, 0) - push
    else:
        out[:-1] -= push
        out[1:] += push
    return float(np.sum(np.square(difference, dtype=np.float64)))
