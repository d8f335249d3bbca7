"""Where a search begins: with no force, or with one that carries a liquid's weight.

A liquid that has fallen out of its target's reach feels nothing of it, however it is pushed: its search begins
weightless (`control.hold`), and gravity is what the optimiser then finds it may leave to act.
"""

from __future__ import annotations

import numpy as np

from keyfluid.controllers.keyframes.settings import SearchNumbers
from keyfluid.controllers.keyframes.stages import Stage
from keyfluid.controls import Basis
from keyfluid.fields import Field
from keyfluid.grid import Kind
from keyfluid.kernels.vectors import add_scaled, dot

_TOLERANCE, _MOST = 1e-2, 100
"""Of the normal equations' residual, a few steps; and at most so many."""


def first_guess(stage: Stage, settings: SearchNumbers) -> np.ndarray:
    """The control vector that the first stage of a window begins with."""
    control, problem = stage.control, stage.problem
    vector = control.zeros()
    if settings.hold and problem.fluid.weight != 0:
        lift = Field.zeros(problem.grid, Kind.FACES, problem.dtype)
        lift.component(problem.up)[...] = problem.fluid.weight
        forces = np.tile(_nearest(control.basis, lift), (control.timing.steps, 1))
        vector[: control.own] = control.timing.sets_of(forces).ravel()
    return vector


def _nearest(basis: Basis, force: Field) -> np.ndarray:
    """The coefficients whose force is nearest to this one, by conjugate gradients on B^T B c = B^T f; its sums do not
    depend on threads."""
    found = np.zeros(basis.count, basis.dtype)
    rest = basis.pull(force)
    way, square = rest.copy(), dot(rest, rest)
    enough = _TOLERANCE**2 * square
    for _ in range(_MOST):
        if square <= enough:
            break
        image = basis.pull(basis.force(way))
        length = square / dot(way, image)
        add_scaled(length, way, found)
        add_scaled(-length, image, rest)
        before, square = square, dot(rest, rest)
        way *= way.dtype.type(square / before)
        way += rest
    return found
