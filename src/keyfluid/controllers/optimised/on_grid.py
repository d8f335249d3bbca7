"""A state on another grid."""

from __future__ import annotations

from collections.abc import Mapping

from keyfluid.controls.resample import to_grid
from keyfluid.fields import Field, density
from keyfluid.grid import Kind
from keyfluid.models.state import State
from keyfluid.problem import Problem


def state_on(problem: Problem, state: Mapping[str, Field]) -> State:
    """A state of the scene's own grid on the grid of `problem`: means over cells, velocities between faces."""
    found: dict[str, Field] = {}
    for name, field in state.items():
        factors = [a // b for a, b in zip(field.grid.cells, problem.grid.cells)]
        whole = all(a == b * f for a, b, f in zip(field.grid.cells, problem.grid.cells, factors))
        if field.grid == problem.grid:
            found[name] = field
        elif field.kind is Kind.CENTRES and whole:
            shape = [n for b, f in zip(problem.grid.cells, factors) for n in (b, f)]
            means = field.array.reshape(shape).mean(axis=tuple(range(1, 2 * problem.grid.dim, 2)))
            found[name] = density(problem.grid, means, field.dtype)
        else:
            found[name] = to_grid(field, problem.grid)
    return found
