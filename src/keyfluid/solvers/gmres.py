"""GMRES for operators on flat vectors, with sums in an order that does not depend on the thread count.

[Saad & Schultz 1986]  Arnoldi by modified Gram-Schmidt, Givens rotations, no restart. Gram-Schmidt runs once: what the
basis loses in orthogonality costs the solution nothing [Paige, Rozloznik & Strakos 2006].
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from keyfluid.kernels.vectors import add_scaled, dot
from keyfluid.solvers.kernels.arnoldi import orthogonalise
from keyfluid.solvers.multigrid import SolveReport

_FIRST_ROWS = 16
"""Basis vectors that have room at first; the room doubles as they fill it."""


def gmres(
    apply: Callable[[np.ndarray], np.ndarray], b: np.ndarray, tolerance: float, max_iterations: int
) -> tuple[np.ndarray, SolveReport]:
    """x with |b - A x| <= tolerance |b|, from x = 0; the report says whether it converged.

    apply: A times a vector, as a new array, which is overwritten.
    """
    start = np.sqrt(dot(b, b))
    if start == 0.0:
        return np.zeros_like(b), SolveReport(converged=True, iterations=0, residual=0.0)
    basis = np.empty((min(_FIRST_ROWS, max_iterations + 1), b.size), b.dtype)
    np.multiply(b, b.dtype.type(1.0 / start), out=basis[0])
    columns: list[np.ndarray] = []
    rotations: list[tuple[float, float]] = []
    right = [start]
    while len(columns) < max_iterations and abs(right[-1]) > tolerance * start:
        count = len(columns) + 1
        new = apply(basis[count - 1])
        before = np.sqrt(dot(new, new))
        column = np.empty(count + 1)
        orthogonalise(basis, count, new, column)
        norm = column[-1] if column[-1] > 1e-15 * before else 0.0
        column[-1] = norm
        for i, (c, s) in enumerate(rotations):
            column[i], column[i + 1] = c * column[i] + s * column[i + 1], c * column[i + 1] - s * column[i]
        length = float(np.hypot(column[-2], column[-1]))
        if length == 0.0:
            break
        c, s = column[-2] / length, column[-1] / length
        column[-2] = length
        rotations.append((c, s))
        columns.append(column[:-1])
        right[-1:] = [c * right[-1], -s * right[-1]]
        if norm == 0.0:
            break
        if count == len(basis):
            basis = np.concatenate([basis, np.empty_like(basis)])
        np.multiply(new, new.dtype.type(1.0 / norm), out=basis[count])
    x = np.zeros_like(b)
    for weight, direction in zip(_back_substituted(columns, right), basis):
        add_scaled(weight, direction, x)
    residual = abs(right[-1]) / start
    return x, SolveReport(converged=residual <= tolerance, iterations=len(columns), residual=residual)


def _back_substituted(columns: list[np.ndarray], right: list[float]) -> np.ndarray:
    count = len(columns)
    y = np.zeros(count)
    for i in range(count - 1, -1, -1):
        total = right[i]
        for j in range(i + 1, count):
            total -= columns[j][i] * y[j]
        y[i] = total / columns[i][i]
    return y
