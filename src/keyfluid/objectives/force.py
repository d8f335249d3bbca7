"""The penalty on forces: Tikhonov's and the squared gradient, which Tang calls total variation.

    alpha / 2 |f|^2 + beta |grad f|^2,  summed over faces and steps                                [Tang 2021, eq. 6]

f = M_t u is the force, not the parameter u, as McNamara has it. Tang's alpha and beta belong to forces in cells per
step squared, differences in cells, and a keyframe distance D summed over cells; `scale` = (dt^2 / dx)^2 / (2 S) turns
them into ours, where D is D / (2 S) (objectives/density.py has S). McNamara's 1/2 (D + alpha |f|^2) [2004, eq. 2] is
half of Tang's sum with twice his alpha.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from keyfluid.fields import Field
from keyfluid.kernels import differences
from keyfluid.kernels.vectors import dot


@dataclass(frozen=True)
class ForcePenalty:
    """Penalty on the force of one step; `scale` converts the papers' weights."""

    alpha: float
    beta: float
    scale: float

    def term(self, force: Field) -> tuple[float, Field]:
        """Value and derivative: a quadratic form is half the product of the two arguments of its derivative."""
        grid, real, layout = force.grid, force.dtype.type, force.grid.layout(force.kind)
        periodic = np.array([False, *(grid.is_periodic(axis) for axis in range(grid.dim))][-3:])
        bar = force.like(np.empty_like(force.data))
        size, slope = real(self.scale * self.alpha), real(2 * self.scale * self.beta)
        for part in range(len(layout.parts)):
            differences.stiffness(force.data, *layout.lattice(part), periodic, size, slope, bar.data)
        return 0.5 * dot(force.data, bar.data), bar
