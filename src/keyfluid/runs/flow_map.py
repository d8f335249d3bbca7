"""The start carried through the stored velocities: what a keyframe owes to the flow, and not to the grid's blur.

    X_n(x) = x,   X_{s}(x) = Phi_s^{-1}(X_{s+1}(x)),   rho(x) = rho_0(X_0(x))

Phi_s is the flow of step s, its velocity frozen as in the step itself, by Runge-Kutta of order 4 in quarter steps, or
in fewer parts if these cross at most half a cell.
Paths run from the cell centres at the frame back to the start, and the start is read once, linearly: the density
is never interpolated twice, so it does not smear. A path that meets a source on its way is given its smoke:
rho <- (1 - m) rho + m rho_in for a held region of share m, rho + rate m dt for a source with a rate. Smoke that
dissipates is thinner by exp(-k t), t the time since it was given.
"""

from __future__ import annotations

import math

import numpy as np

from keyfluid.boundary import Boundary
from keyfluid.fields import Field
from keyfluid.grid import Grid
from keyfluid.models.air import Air
from keyfluid.problem import Problem

MOST_PARTS, CELLS_PER_PART = 4, 0.5


class FlowMap:
    """Paths from all cell centres at a frame, followed back step by step."""

    def __init__(self, grid: Grid) -> None:
        self.grid = grid
        lead = 3 - grid.dim
        self._cells = (*grid.cells, *[1] * lead)
        sides = [*grid.boundary, *[Boundary.WALLS] * lead]
        self._around = np.array([side is Boundary.PERIODIC for side in sides])
        self._walls = np.array([side is Boundary.WALLS for side in sides])
        axes = np.meshgrid(*[np.arange(n) + 0.5 for n in self._cells], indexing="ij")
        self.points = np.stack([axis.ravel() for axis in axes], axis=1)

    def back(self, velocity: Field, seconds: float) -> None:
        """Follow the paths back by one step."""
        from keyfluid.runs.kernels.flow_map import trace_back

        parts = [part.reshape(*part.shape, *[1] * (3 - part.ndim)) for part in velocity.components()]
        if len(parts) == 2:
            parts.append(np.zeros((1, 1, 1), velocity.dtype))
        cells_per_speed = seconds / self.grid.spacing
        count = min(max(math.ceil(velocity.peak() * cells_per_speed / CELLS_PER_PART), 1), MOST_PARTS)
        cells = np.array(self._cells)
        trace_back(self.points, *parts, cells_per_speed / count, count, self._around, self._walls, cells)

    def read(self, centred: np.ndarray) -> np.ndarray:
        """A centred quantity where the paths are now; 0 where they have left through an open side."""
        from keyfluid.runs.kernels.flow_map import read_centres

        out = np.empty(len(self.points))
        values = np.ascontiguousarray(centred, np.float64).reshape(self._cells)
        read_centres(self.points, values, self._around, self._walls, out)
        return out.reshape(self.grid.cells)


class Carried:
    """The density of a field at a frame, followed back step by step."""

    BYTES_PER_CELL = 40

    def __init__(self, problem: Problem, field: str) -> None:
        self._problem, self._field = problem, field
        self._paths, self._left = FlowMap(problem.grid), 1.0
        self._gained = np.zeros(problem.grid.cells)
        self._share = np.ones(problem.grid.cells)
        self._sources = [source for source in problem.sources if source.field == field]

    def back(self, time: float, seconds: float, velocity: Field) -> None:
        """Follow it back by the step that began at `time`."""
        problem = self._problem
        self._paths.back(velocity, seconds)
        growth = Air(dissipation=problem.fluid.dissipation).growth(seconds)
        for source in reversed(self._sources):
            if not source.start <= time * problem.fps + 1e-6 < source.stop:
                continue
            inside = self._paths.read(source.mask)
            if source.rate is not None:
                self._gained += self._left * self._share * inside * source.rate * growth
            elif source.density is not None:
                self._gained += self._left * self._share * inside * source.density
                self._share *= 1 - inside
        self._left *= math.exp(-problem.fluid.dissipation * seconds)

    def density(self) -> np.ndarray:
        """What it is, once it has been followed to the start."""
        problem = self._problem
        start = problem.fluid.amount(problem.densities[self._field].array, problem.grid.spacing)
        return self._gained + self._left * self._share * self._paths.read(start)
