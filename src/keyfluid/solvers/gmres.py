"""GMRES for operators on flat vectors, with sums in an order that does not depend on the thread count.

[Saad & Schultz 1986]  Arnoldi by modified Gram-Schmidt with one reorthogonalisation, Givens rotations, no restart.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from keyfluid.solvers.multigrid import SolveReport


def dot(a: np.ndarray, b: np.ndarray) -> float:
    """Euclidean inner product of flat vectors, summed in float64 in a fixed order."""
    return float(np.sum(np.multiply(a, b, dtype=np.float64)))


def gmres(
    apply: Callable[[np.ndarray], np.ndarray], b: np.ndarray, tolerance: float, max_iterations: int
) -> tuple[np.ndarray, SolveReport]:
    """x with |b - A x| <= tolerance |b|, from x = 0; the report says whether it converged."""
    start = np.sqrt(dot(b, b))
    if start == 0.0:
        return np.zeros_like(b), SolveReport(converged=True, iterations=0, residual=0.0)
    basis = [b * b.dtype.type(1.0 / start)]
    columns: list[np.ndarray] = []
    rotations: list[tuple[float, float]] = []
    right = [start]
    while len(columns) < max_iterations and abs(right[-1]) > tolerance * start:
        column, direction = _orthogonal(apply(basis[-1]), basis)
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
        if direction is None:
            break
        basis.append(direction)
    x = np.zeros_like(b)
    for weight, direction in zip(_back_substituted(columns, right), basis):
        x += x.dtype.type(weight) * direction
    residual = abs(right[-1]) / start
    return x, SolveReport(converged=residual <= tolerance, iterations=len(columns), residual=residual)


def _orthogonal(new: np.ndarray, basis: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray | None]:
    """A column of the Hessenberg matrix, and the next direction unless the space is exhausted."""
    column = np.zeros(len(basis) + 1)
    before = np.sqrt(dot(new, new))
    for _ in range(2):
        for i, direction in enumerate(basis):
            share = dot(new, direction)
            column[i] += share
            new = new - new.dtype.type(share) * direction
    column[-1] = np.sqrt(dot(new, new))
    if column[-1] <= 1e-15 * before:
        column[-1] = 0.0
        return column, None
    return column, new * new.dtype.type(1.0 / column[-1])


def _back_substituted(columns: list[np.ndarray], right: list[float]) -> np.ndarray:
    count = len(columns)
    y = np.zeros(count)
    for i in range(count - 1, -1, -1):
        total = right[i]
        for j in range(i + 1, count):
            total -= columns[j][i] * y[j]
        y[i] = total / columns[i][i]
    return y
