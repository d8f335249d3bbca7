"""L-BFGS on the problem itself [eq. 5], the paper's comparison: each evaluation simulates, forward and backward.

    minimise  J(u) = 1/2 sum over keyframes |rho_i - rho*_i|^2_C + R/2 sum |u_k|^2        with v_{k+1} = step(v_k, u_k)

History 8 and the same stop rule as ADMM, on the largest change of any density. Plain, or scaled with the metric of
`spectral`: forces as the curl of a potential whose waves are scaled by |k|^-p (p = 3/2 in 2D, 2 in 3D). A potential
wave of unit size has a force of |k|, so in forces the scale squared is |k|^(2 - 2p): here each component's own waves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from keyfluid.controllers.spacetime.advection import Advection, Sweep, density_change
from keyfluid.controllers.spacetime.flow import FlowEquations, dot
from keyfluid.fields import Field
from keyfluid.grid import Kind
from keyfluid.operators.step_implicit import StepImplicit
from keyfluid.optimise.lbfgs import Lbfgs, Minimisation
from keyfluid.solvers.solenoidal import Filters

HISTORY = 8
FIRST_FORCE = 1e-3
"""Cells per step^2, root mean square, of the first step."""


@dataclass(eq=False)
class SingleShooting:
    """The objective and its gradient over forces u[face, k], k = 1 .. N - 1, in cells and steps."""

    flow: FlowEquations
    advection: Advection
    force_weight: float
    steps: int
    scaled: bool = False
    sweep: Sweep | None = None
    start: Field | None = None
    """v_0; None: rest."""
    _at: np.ndarray | None = field(init=False, default=None)
    """Where `sweep` is from."""
    _step: StepImplicit = field(init=False)
    _scales: Filters = field(init=False)

    def __post_init__(self) -> None:
        grid = self.flow.grid
        self._dtype = next(iter(self.advection.starts.values())).dtype
        # Viscosity is kept as the diffusion number; with dt = dx the operator takes it times dx.
        self._step = StepImplicit(grid, grid.spacing, self.flow.viscosity * grid.spacing, dtype=self._dtype)
        self._scales = self.flow.solenoidal.filters(self._root_of_metric)

    def minimise(
        self, tolerance: float, most: int, told: Callable[[Minimisation, float], bool]
    ) -> tuple[np.ndarray, Minimisation]:
        """Iterate until no density changes by more than `tolerance`; `told` sees every iteration and may stop."""
        size = self.flow.grid.value_count(Kind.FACES) * (self.steps - 1)
        lbfgs = Lbfgs(first_step=FIRST_FORCE * np.sqrt(size), history=HISTORY)
        state = lbfgs.start(np.zeros(size, self._dtype), self.evaluate)
        before = self.sweep
        while state.iteration < most and not state.stalled:
            state = lbfgs.advance(state, self.evaluate)
            now = self.sweep if self._at is state.now.x else self.simulate(self.forces(state.now.x))[1]
            assert now is not None
            change = density_change(before, now)
            before = now
            if told(state, change) or change < tolerance:
                break
        return self.forces(state.now.x), state

    def forces(self, z: np.ndarray) -> np.ndarray:
        """From the optimiser's variables to forces without divergence; the same map transposed takes gradients back."""
        u = z.reshape(-1, self.steps - 1).copy()
        if self.scaled:
            self.flow.solenoidal.filter(u, self._scales)
        return self.flow.solenoidal.project(u)

    def evaluate(self, z: np.ndarray) -> tuple[float, np.ndarray]:
        u = self.forces(z)
        v, sweep = self.simulate(u)
        self.sweep, self._at = sweep, z
        value = sweep.match + 0.5 * self.force_weight * dot(u, u)
        v_bar = self.advection.backward(v, sweep)
        gradient = u.dtype.type(self.force_weight) * u
        bar = self._field(v_bar[:, -1])
        for k in range(self.steps - 1, 0, -1):
            bar, force_bar = self._step.adjoint_at(self._field(v[:, k]), bar)
            # The operator's force is in units of 1 / spacing.
            gradient[:, k - 1] += force_bar.data / force_bar.dtype.type(self.flow.grid.spacing)
            bar = bar.like(bar.data + v_bar[:, k - 1])
        gradient = self.flow.solenoidal.project(gradient)
        if self.scaled:
            self.flow.solenoidal.filter(gradient, self._scales)
        return value, gradient.reshape(-1)

    def simulate(self, u: np.ndarray) -> tuple[np.ndarray, Sweep]:
        """Velocities v_0 .. v_{N-1} and the smoke they carry."""
        v = np.zeros((u.shape[0], self.steps), u.dtype)
        if self.start is not None:
            v[:, 0] = self.start.data
        now = self._field(v[:, 0])
        for k in range(1, self.steps):
            (now,) = self._step.forward(now, self._field(u[:, k - 1]) * (1.0 / self.flow.grid.spacing))
            v[:, k] = now.data
        return v, self.advection.forward(v)

    def _field(self, column: np.ndarray) -> Field:
        return Field(self.flow.grid, Kind.FACES, np.ascontiguousarray(column))

    def _root_of_metric(self, waves: np.ndarray) -> np.ndarray:
        """|k|^(1 - p), k in cycles per longest side, at least a half."""
        grid = self.flow.grid
        k = np.maximum(np.sqrt(-waves) * max(grid.cells) / (2 * np.pi), 0.5)
        scale: np.ndarray = k ** (1.0 - (1.5 if grid.dim == 2 else 2.0))
        return scale
