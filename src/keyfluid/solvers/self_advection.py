"""Self-advection of flat face values, v[face] or v[face, step], in cell units: calls kernels/self_advection.py.

operators/advect_vorticity.py has the equations. `scale` is dt / dx, or 1 / h on a coarser grid.
"""

from __future__ import annotations

import numpy as np

from keyfluid.grid import Grid
from keyfluid.solvers.face_tables import face_tables
from keyfluid.solvers.kernels import self_advection as kernels
from keyfluid.threads import one_thread_below

SERIAL_VALUES = 1 << 14


def self_advection(grid: Grid, v: np.ndarray, scale: float, viscosity: float) -> np.ndarray:
    """scale (curl v) x v + viscosity curl curl v in cell units, for v[face] or v[face, step]."""
    return self_advection_tangent(grid, v, v, 0.5 * scale, viscosity)


def self_advection_tangent(grid: Grid, v: np.ndarray, d_v: np.ndarray, scale: float, viscosity: float) -> np.ndarray:
    return _run(kernels.advect_self_tangent, grid, v, d_v, scale, viscosity)


def self_advection_transpose(grid: Grid, v: np.ndarray, bar: np.ndarray, scale: float, viscosity: float) -> np.ndarray:
    return _run(kernels.advect_self_transpose, grid, v, bar, scale, viscosity)


def _run(kernel, grid: Grid, v: np.ndarray, other: np.ndarray, scale: float, viscosity: float) -> np.ndarray:  # type: ignore[no-untyped-def]
    real = v.dtype.type
    steps = 1 if v.ndim == 1 else v.shape[1]
    out = np.zeros_like(other)
    with one_thread_below(SERIAL_VALUES, v.size):
        kernel(
            v.reshape(-1), other.reshape(-1), out.reshape(-1), steps, *face_tables(grid), real(0.25 * scale),
            real(viscosity),
        )  # fmt: skip
    return out
