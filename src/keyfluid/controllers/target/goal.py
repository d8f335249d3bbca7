"""A target made ready: what the driving force and the gathering need of it, computed once.

    b        rho* blurred                                                [Fattal & Lischinski 2004, equation 6]
    slope    D(b) / A(b) on faces, times falloff and region                                        [section 4.3]
    weight   A(b) on faces that smoke may pass, times region                                       [equation 10]

Where b is below the smallest number there is, log b = -distance^2 / sigma^2 takes its place.
A falloff of length l weighs the force with exp(-(d / l)^2), d the distance to where b exceeds 1e-3 of its
maximum; inside of that it is 1, or smoke at its target would not come to rest.
"""

from __future__ import annotations

import numpy as np

from keyfluid.boundary import Boundary
from keyfluid.controllers.islands import metres_to
from keyfluid.controllers.target.far_blur import LEAST, far_blur
from keyfluid.errors import KeyfluidError
from keyfluid.fields import Field, density
from keyfluid.grid import Grid, Kind
from keyfluid.models.pull import DrivenGoal

NEAR = 1e-3


def make_goal(
    grid: Grid,
    target: np.ndarray,
    sigma: float,
    *,
    falloff: float | None = None,
    hard: bool = False,
    region: np.ndarray | None = None,
    dtype: np.typing.DTypeLike = np.float32,
) -> DrivenGoal:
    """falloff: metres; hard: where the target is above half its most, one density, elsewhere none; region: of 0 to 1,
    where control acts."""
    values = np.asarray(target, np.float64)
    mass = float(values.sum())
    if not mass > 0:
        raise KeyfluidError("target: it has no smoke inside the domain; check its center and size")
    if hard:
        values = np.where(values > 0.5 * values.max(), 1.0, 0.0)
        values *= mass / values.sum()
    b = far_blur(grid, values, sigma / np.sqrt(2))
    near = _falloff(grid, b, falloff)
    near = near if region is None else near * region
    slope = _faces(grid, dtype)
    weight = _faces(grid, dtype)
    for axis in range(grid.dim):
        slope.component(axis)[...] = _slope(grid, b, values, sigma, axis) * beside(grid, near, axis, 0.5, 0.5)
        passes = beside(grid, b, axis, 0.5, 0.5) * (1.0 if region is None else beside(grid, region, axis, 0.5, 0.5))
        weight.component(axis)[...] = passes
        if not grid.is_periodic(axis):
            for end in (0, -1):
                side = tuple(end if a == axis else slice(None) for a in range(grid.dim))
                weight.component(axis)[side] = 0
                if grid.boundary[axis] is Boundary.WALLS:
                    slope.component(axis)[side] = 0
    return DrivenGoal(
        density(grid, values.astype(dtype)), density(grid, b.astype(dtype)), slope, weight,
        mass * grid.cell_volume,
    )  # fmt: skip


def _faces(grid: Grid, dtype: np.typing.DTypeLike) -> Field:
    return Field.zeros(grid, Kind.FACES, dtype)


def beside(grid: Grid, x: np.ndarray, axis: int, low: float, high: float) -> np.ndarray:
    """low x_below + high x_above on the faces across an axis; x is 0 outside the box."""
    if grid.is_periodic(axis):
        return low * np.roll(x, 1, axis) + high * x
    pad = [(1, 1) if a == axis else (0, 0) for a in range(grid.dim)]
    padded = np.pad(x, pad)
    n = x.shape[axis]
    return low * padded.take(range(n + 1), axis) + high * padded.take(range(1, n + 2), axis)


def _slope(grid: Grid, b: np.ndarray, target: np.ndarray, sigma: float, axis: int) -> np.ndarray:
    """D(b) / A(b) on the faces across an axis, 1/m."""
    mean = beside(grid, b, axis, 0.5, 0.5)
    step = beside(grid, b, axis, -1.0, 1.0)
    lost = mean < LEAST
    slope = np.divide(step, mean, out=np.zeros_like(mean), where=~lost)
    if lost.any():
        # For b = exp(f) the quotient is 2 tanh(half the step of f).
        fall = -((metres_to(grid, target > 0.5 * target.max()) / sigma) ** 2)
        slope = np.where(lost, 2 * np.tanh(0.5 * beside(grid, fall, axis, -1.0, 1.0)), slope)
    return slope / grid.spacing


def _falloff(grid: Grid, b: np.ndarray, length: float | None) -> np.ndarray:
    if length is None:
        return np.ones(grid.cells)
    return np.exp(-((metres_to(grid, b > NEAR * b.max()) / length) ** 2))
