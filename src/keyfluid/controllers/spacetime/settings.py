"""The paper's numbers on this grid.

The paper gives neither dx nor the scale of densities. Inside, lengths are cells, times are steps and densities are in
units of their peak; there the problem has two numbers,

    R = r_world (dx / dt^2)^2 / rho_max^2,      K' = K_world (dx / dt)^2 / rho_max^2,      kappa = K' / R.

Paper to world, taking its numbers in cells with its step dt_p: r_world = r (dt / dt_p)^4 / dx^2. The scene's `r` is
the paper's number at a reference, 128 cells along the longest side L and steps of 0.025 s; at dx = 1/128 that makes
r = 1e3 an r_world of 6.4. It keeps its meaning elsewhere if r_world / dt stays, since sum_i |u_i|^2 dt is the integral
over time that does not change:

    R = DENSITY r (0.025 s / dt)^3 (128 dx / L)^2.

DENSITY stands for 1 / rho_max^2 of the paper's unknown densities: 2e-4, a peak of 70. The paper does not give it, so it
was fitted: 1e-3, 2.5e-4, 2e-4 and 1e-4 were tried on letters, for errors below 0.12 at r = 1e3 (docs/results.md).
K only steers the iteration, not its end: K' = DENSITY K on any grid, times the largest weight of a keyframe, since what
it is weighed against has that factor.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

DENSITY = 2e-4
REFERENCE_STEP = 0.025
REFERENCE_CELLS = 128


@dataclass(frozen=True)
class Settings:
    """What the iteration needs, in cells and steps."""

    force_weight: float
    penalty: float
    beta: float
    flow_tolerance: float
    change_tolerance: float
    iterations: int
    advection_iterations: int
    solver: str
    transport: str
    balance: bool
    settled_duals: bool
    free_start: bool

    @classmethod
    def of(cls, control: Any, spacing: float, longest: float, dt: float, weight: float = 1.0) -> Settings:
        """From [control] of a scene; lengths in metres, dt in seconds. weight: the largest of any keyframe."""
        return cls(
            force_weight=force_weight(control.r, spacing, longest, dt),
            penalty=DENSITY * control.K * weight,
            beta=control.beta,
            flow_tolerance=control.flow_tolerance,
            change_tolerance=control.tolerance,
            iterations=control.iterations,
            advection_iterations=control.advection_iterations,
            solver=control.solver,
            transport=control.transport,
            balance=control.balance,
            settled_duals=control.duals == "settled",
            free_start=control.free_start,
        )


def force_weight(r: float, spacing: float, longest: float, dt: float) -> float:
    """R of the scene's r."""
    return DENSITY * r * (REFERENCE_STEP / dt) ** 3 * (REFERENCE_CELLS * spacing / longest) ** 2
