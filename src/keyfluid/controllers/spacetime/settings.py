"""[control] of `method = "spacetime"`, and the paper's numbers on a grid.

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
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from keyfluid.tables import Flag, Table, number, whole

if TYPE_CHECKING:
    from keyfluid.problem import Problem

DENSITY = 2e-4
REFERENCE_STEP = 0.025
REFERENCE_CELLS = 128


class SpacetimeSettings(Table):
    """Spacetime control [Pan & Manocha 2017]: all steps optimised together by ADMM, then the forces replayed."""

    method: Literal["spacetime"] = Field(
        ...,
        description="keyframes are met by the least force; the smoke is free after the last. Walls or periodic sides; "
        'obstacles at rest; no sources. steps_per_frame = "auto" is one step: steps are implicit',
    )
    r: Annotated[float, number(at_least=1e-3, at_most=1e9)] = Field(
        default=1e3,
        description="r (eq. 5): penalty on forces, the paper's number at 128 cells along the longest side and steps of "
        "0.025 s; more is freer and less exact. Its meaning does not change with resolution and step",
    )
    K: Annotated[float, number(at_least=100, at_most=1e6)] = Field(
        default=1e3,
        description="K (eq. 6): penalty on the gap between the velocities of the two subproblems, the paper's number; "
        'of "gauss-newton" the estimate of how much a keyframe resists a change of velocity. It changes the way, not '
        "the end. Times the largest weight of a keyframe",
    )
    beta: Annotated[float, number(above=0, at_most=1.618)] = Field(
        default=1.0, description='beta, of "admm" and "fas": step of the multipliers; beyond 1.618 ADMM diverges'
    )
    balance: Flag = Field(
        default=True,
        description='of "admm" and "fas": K is doubled or halved where the two residuals differ by more than ten',
    )
    duals: Literal["every", "settled"] = Field(
        default="every",
        description='of "admm" and "fas": multipliers move in every iteration, or ("settled", section 5) when the '
        "objective has settled",
    )
    iterations: Annotated[int, whole(at_least=1, at_most=1000)] = Field(
        default=50,
        description="most outer iterations of all keyframes together; as many again for each keyframe on the way there "
        "(approach), and in each window of a horizon",
    )
    tolerance: Annotated[float, number(above=0, at_most=1)] = Field(
        default=0.01,
        description='stops when two rounds running lower the objective by less than this share; "admm" and "fas" also '
        "ask that no density changes by more, as a share of the peak (eps_ADMM)",
    )
    advection_iterations: Annotated[int, whole(at_least=1, at_most=100)] = Field(
        default=15,
        description="most iterations of the advection subproblem (eq. 8) in each outer one; it ends before at a fifth "
        "of its residual",
    )
    solver: Literal["gauss-newton", "admm", "fas"] = Field(
        default="gauss-newton",
        description="gauss-newton: rounds that make the equations of motion linear; admm: the paper's splitting "
        "(algorithm 3), its Navier-Stokes subproblem by projected Gauss-Newton-CG; fas: the same by the paper's "
        "multigrid (algorithm 2; halved together, the sides must come to 12 cells or fewer on the longest and 4 or "
        "more on the shortest, as 32, 48, 64, 96 and 128 do)",
    )
    flow_tolerance: Annotated[float, number(above=0, at_most=1)] = Field(
        default=1e-5,
        description='eps_FAS, of "admm" and "fas": largest residual of that subproblem, in cells and steps',
    )
    transport: Literal["upwind", "semi-lagrangian"] = Field(
        default="upwind", description="how the smoke is carried: eq. 4, or as in figure 4"
    )
    free_start: Flag = Field(
        default=False, description="the initial velocity is optimised too (as eq. 10 has it), at no cost in forces"
    )
    coarse: Flag = Field(
        default=True,
        description="begin on grids of half the cells and steps, as long as the shortest side has 64 cells or more "
        "there, 32 in 3D. Not with a horizon",
    )
    approach: Flag | Literal["auto"] = Field(
        default="auto",
        description="true: several keyframes are first met one after the other, roughly, then all together from there; "
        'false: together from rest, as in the paper; "auto": one after the other where a keyframe covers less than a '
        "fifth of the next, which from rest may be missed. Not with a horizon",
    )
    horizon: Annotated[int, whole(at_least=2, at_most=100_000)] | None = Field(
        default=None,
        description="receding horizon (section 6): frames optimised together, at least up to the next keyframe; "
        "default: all",
    )


@dataclass(frozen=True)
class SpacetimeNumbers:
    """What the iteration needs, in cells and steps."""

    force_weight: float
    penalty: float
    beta: float
    flow_tolerance: float
    tolerance: float
    iterations: int
    advection_iterations: int
    solver: str
    transport: str
    balance: bool
    settled_duals: bool
    free_start: bool

    @classmethod
    def of(
        cls, control: SpacetimeSettings, spacing: float, longest: float, dt: float, weight: float = 1.0
    ) -> SpacetimeNumbers:
        """From [control] of a scene; lengths in metres, dt in seconds. weight: the largest of any keyframe."""
        return cls(
            force_weight=force_weight(control.r, spacing, longest, dt),
            penalty=DENSITY * control.K * weight,
            beta=control.beta,
            flow_tolerance=control.flow_tolerance,
            tolerance=control.tolerance,
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


def settings_of(problem: Problem) -> SpacetimeSettings:
    """The problem's own table."""
    assert isinstance(problem.control, SpacetimeSettings)
    return problem.control
