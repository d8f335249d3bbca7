"""The fractional steps of target-driven smoke, in the paper's order [Fattal & Lischinski 2004, section 4].

    1  apply driving forces    u_t = v_f F(rho, rho*)             and buoyancy, vorticity, viscosity, turbulence
    2  attenuate momentum      u_t = -v_d u                       by exp(-v_d dt), stable for any dt
    3  advect momentum         u_t = -u . grad u                  by the last projected velocity: with the forced
                                                                  one, whose divergence is not 0, smoke at its
                                                                  target would never come to rest
    4  project                 u without divergence
    5  advect smoke            rho_t = -u . grad rho              both in one sweep: both are conservation laws,
    6  gather smoke            rho_t = v_g G(rho, rho*)           and the speeds of their fluxes add

A sub-step is as long as these allow: 0.4 cells at the velocity after the force; sigma / (2 sqrt(v_f rho0)), the
time the force needs to carry smoke across the blur; 1 / v_d. Steps 5 and 6 take sub-cycles of their own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from keyfluid.controllers.smoke_steps import mass_of
from keyfluid.controllers.step_size import cells_crossed
from keyfluid.controllers.target.goal import Goal
from keyfluid.controllers.target.inflow import Inflow
from keyfluid.controllers.target.settings import Coefficients, TargetNumbers
from keyfluid.controllers.target.turbulence import Turbulence
from keyfluid.fields import Field
from keyfluid.grid import Kind
from keyfluid.kernels import limited
from keyfluid.models.stage import State
from keyfluid.operators.advect_limited import AdvectLimited
from keyfluid.operators.blur import Blur
from keyfluid.operators.confine_vorticity import ConfineVorticity
from keyfluid.operators.diffuse import Diffuse
from keyfluid.operators.drive import Drive
from keyfluid.operators.gather import SAFE_CELLS, Gather, cells_per_step
from keyfluid.operators.heat import Heat
from keyfluid.operators.project import Project
from keyfluid.problem import Problem
from keyfluid.solids import Solids

CELLS_PER_STEP = 0.4


@dataclass(frozen=True, eq=False)
class Pull:
    """A goal at work on its field."""

    goal: Goal
    coefficients: Coefficients
    width: float
    """The paper's sigma at this time, in metres."""
    blur: Blur


@dataclass(frozen=True, eq=False)
class SubStep:
    """What a sub-step did. `carrier`: the velocity that moved the smoke; `emitted`: mass given, per field."""

    state: dict[str, Field]
    dt: float
    carrier: Field
    emitted: dict[str, float] = field(default_factory=dict)


class Steps:
    """Takes sub-steps of a scene's smoke."""

    def __init__(self, problem: Problem, settings: TargetNumbers, correction: float = 1.0) -> None:
        self.problem, self.settings, self.correction = problem, settings, correction
        self.grid, self.dtype = problem.grid, problem.dtype
        self.inflow = Inflow(problem)
        self.turbulence = (
            Turbulence(problem.grid, 2 * settings.width, problem.seed, problem.dtype)
            if settings.turbulence > 0
            else None
        )
        self._project: tuple[Solids | None, Project] | None = None
        self._gather: dict[str, tuple[Pull, Solids | None, Gather]] = {}
        # Work arrays: fresh ones would cost as much as filling them.
        self._force, self._pushed = (Field.zeros(self.grid, Kind.FACES, self.dtype) for _ in range(2))

    def begin(self, state: State) -> dict[str, Field]:
        """The start, its velocity made divergence-free."""
        return {**state, "velocity": self.projection(0.0).forward(state["velocity"])[0]}

    def projection(self, time: float) -> Project:
        """The projection around the bodies of that time; made again only when they have moved."""
        solids = self.problem.solids(time)
        if self._project is None or self._project[0] is not solids:
            self._project = (solids, Project(self.grid, solids, self.dtype))
        return self._project[1]

    def take(
        self, state: State, pulls: Mapping[str, Pull], time: float, longest: float, parity: int, impulse: Field
    ) -> SubStep:
        """One sub-step of at most `longest` seconds from `time`; parity: 0 or 1 in turn.

        What control does to the velocity (driving force and attenuation, m/s) is added to `impulse`.
        """
        reverse = bool(parity % 2)
        frame = time * self.problem.fps
        densities = {name: state[name] for name in self.problem.densities}
        last = state["velocity"]
        u = self.inflow.blow(last, frame)
        blurred = {name: pull.blur.forward(densities[name])[0] for name, pull in pulls.items()}
        self.driving_force(pulls, blurred, time)
        damping = max((pull.coefficients.damping for pull in pulls.values()), default=0.0)
        dt = self.length(u, densities, pulls, damping, longest)
        emitted = self.inflow.emit(densities, frame, dt)

        # 1, 2: apply driving forces, attenuate momentum
        if pulls:
            u = self.kicked(u, dt, math.exp(-damping * dt), impulse)
        u = self.other_forces(u, densities, dt, self.problem.solids(time + dt))
        # 3: advect momentum
        (u,) = AdvectLimited(self.grid, dt, reverse, self.correction).forward(u, last)
        # 4: project
        projection = self.projection(time + dt)
        (u,) = projection.forward(u)
        cells_crossed(self.problem, u.peak(), dt, time)
        # 5, 6: advect smoke, gather smoke
        for name in densities:
            densities[name] = self.move_smoke(name, densities[name], u, pulls, dt, reverse, projection.solids)
        self.equalise(densities, pulls, dt)
        return SubStep({**densities, "velocity": u}, dt, u, emitted)

    def driving_force(self, pulls: Mapping[str, Pull], blurred: Mapping[str, Field], time: float) -> None:
        """Fills the force: v_f F summed over fields, with the eddies of turbulence [equation 7, section 3.3]."""
        for index, (name, pull) in enumerate(pulls.items()):
            drive = Drive(self.grid, pull.blur, pull.goal.slope, pull.coefficients.force)
            drive.add(blurred[name], self._force, keep=index > 0)
        if self.turbulence is not None and pulls:
            eddies = self.turbulence.force(time)
            for name, pull in pulls.items():
                astray = blurred[name].like(np.abs(blurred[name].data - pull.goal.blurred.data))
                strength = self.settings.turbulence / self.problem.peaks[name]
                Drive(self.grid, pull.blur, eddies, strength).add(astray, self._force)

    def kicked(self, u: Field, dt: float, keep: float, impulse: Field) -> Field:
        """keep (u + dt force), in a work array; the change is added to `impulse`."""
        real = u.dtype.type
        limited.kick(u.data, self._force.data, real(dt), real(keep), impulse.data, self._pushed.data)
        return self._pushed

    def length(
        self,
        start: Field,
        densities: Mapping[str, Field],
        pulls: Mapping[str, Pull],
        damping: float,
        longest: float,
    ) -> float:
        """Seconds that the sub-step may last: a whole share of `longest`."""
        room = CELLS_PER_STEP * self.grid.spacing
        most = longest
        for axis in range(self.grid.dim):
            speed = _peak(start.component(axis))
            push = _peak(self._force.component(axis)) if pulls else 0.0
            if axis == self.problem.up and self.problem.buoyancy != 0:
                push += abs(self.problem.buoyancy) * sum(rho.peak() for rho in densities.values())
            # The longest dt with dt (speed + dt push) <= room.
            most = min(most, 2 * room / max(speed + math.sqrt(speed**2 + 4 * push * room), 1e-300))
        for name, pull in pulls.items():
            pace = math.sqrt(pull.coefficients.force * self.problem.peaks[name])
            most = min(most, 0.5 * pull.width / pace if pace > 0 else most)
        most = min(most, 1.0 / damping if damping > 0 else most)
        return longest / math.ceil(longest / most - 1e-9)

    def other_forces(self, u: Field, densities: Mapping[str, Field], dt: float, solids: Solids | None) -> Field:
        """Buoyancy, vorticity confinement and viscosity."""
        problem = self.problem
        if problem.buoyancy != 0:
            for rho in densities.values():
                (u,) = Heat(self.grid, problem.buoyancy, dt, problem.up).forward(rho, u)
        if problem.vorticity > 0:
            (u,) = ConfineVorticity(self.grid, problem.vorticity, dt).forward(u)
        if problem.viscosity > 0:
            (u,) = Diffuse(self.grid, problem.viscosity, dt, solids, self.dtype).forward(u)
        return u

    def move_smoke(
        self,
        name: str,
        rho: Field,
        u: Field,
        pulls: Mapping[str, Pull],
        dt: float,
        reverse: bool,
        solids: Solids | None,
    ) -> Field:
        """Smoke carried by the air, and gathered if there is a pull."""
        wind = u if solids is None else u.like(u.data * solids.free)
        gather = self.gathering(name, pulls, solids)
        longest = min(cells_per_step(wind), math.inf if gather is None else gather.longest(rho))
        parts = max(1, math.ceil(dt / longest))
        # Where air and gathering together would be too fast, gathering waits.
        limit = SAFE_CELLS * self.grid.spacing * parts / dt
        for part in range(parts):
            advect = AdvectLimited(self.grid, dt / parts, reverse ^ bool(part % 2), self.correction)
            if gather is None:
                (rho,) = advect.forward(rho, wind)
            else:
                rho = gather.carry(rho, wind, advect, limit)
        return rho if solids is None else rho.like(rho.data * ~solids.solid.ravel())

    def gathering(self, name: str, pulls: Mapping[str, Pull], solids: Solids | None) -> Gather | None:
        """Equation 10 for the goal of a field, around bodies."""
        pull = pulls.get(name)
        if pull is None or pull.coefficients.gathering == 0:
            return None
        kept = self._gather.get(name)
        if kept is None or kept[0] is not pull or kept[1] is not solids:
            goal = pull.goal
            weight = goal.weight if solids is None else goal.weight.like(goal.weight.data * solids.free)
            gather = Gather(self.grid, goal.target, weight, pull.coefficients.gathering, 0.0, False, self.correction)
            kept = self._gather[name] = (pull, solids, gather)
        return kept[2]

    def gathered(self, state: State, pulls: Mapping[str, Pull], time: float) -> dict[str, float]:
        """Mass that gathering moves per second, per field: half the sum of its changes."""
        rates = {}
        for name in pulls:
            gather = self.gathering(name, pulls, self.problem.solids(time))
            if gather is not None:
                dt = min(0.5 * gather.longest(state[name]), 1.0)
                (after,) = replace(gather, dt=dt).forward(state[name])
                moved = float(np.sum(np.abs(after.data - state[name].data), dtype=np.float64))
                rates[name] = 0.5 * moved * self.grid.cell_volume / dt
        return rates

    def equalise(self, densities: dict[str, Field], pulls: Mapping[str, Pull], dt: float) -> None:
        """Scales smoke towards the mass of its target at the rate asked for."""
        if self.settings.equalise == 0:
            return
        for name, pull in pulls.items():
            mass = mass_of(densities[name])
            if mass > 0:
                share = 1 - math.exp(-self.settings.equalise * dt)
                densities[name] = densities[name] * (1 + share * (pull.goal.mass / mass - 1))


def _peak(values: np.ndarray) -> float:
    return max(float(values.max()), -float(values.min()))
