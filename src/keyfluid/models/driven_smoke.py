"""Smoke driven to targets: the fractional steps of the paper, in its order [Fattal & Lischinski 2004, section 4].

    1  apply driving forces    u_t = v_f F(rho, rho*)             equation 7; and buoyancy, vorticity, viscosity,
                                                                  turbulence
    2  attenuate momentum      u_t = -v_d (u - m)                 by exp(-v_d dt), stable for any dt; m: the target's
                                                                  own motion, 0 in the paper
    3  advect momentum         u_t = -u . grad u                  by the last projected velocity: with the forced
                                                                  one, whose divergence is not 0, smoke at its
                                                                  target would never come to rest
    4  project                 u without divergence               equation 11
    5  advect smoke            rho_t = -u . grad rho              both in one sweep: both are conservation laws,
    6  gather smoke            rho_t = v_g G(rho, rho*)           equation 10, and the speeds of their fluxes add

Dissipation, cooling, drag and wind (air.py) come before all of them; a temperature is carried like the smoke.

A step is as long as these allow: 0.4 cells at the velocity after the force; sigma / (2 sqrt(v_f rho0)), the
time the force needs to carry smoke across the blur; 1 / v_d. Steps 5 and 6 take sub-cycles of their own.
Limited fluxes have no derivative, so a rollout refuses this model; `control_force` is for those that need one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.kernels import limited
from keyfluid.kernels.vectors import add_scaled
from keyfluid.models.air import STILL, TEMPERATURE, Air
from keyfluid.models.inlet import Inlet
from keyfluid.models.operation import UNWATCHED, Observer, Operation, Role, run_operations
from keyfluid.models.pull import Pull
from keyfluid.models.state import State
from keyfluid.models.turbulence import Turbulence
from keyfluid.operators.advect_limited import AdvectLimited
from keyfluid.operators.base import Fields, ForwardOnly
from keyfluid.operators.carry_smoke import CarrySmoke
from keyfluid.operators.confine_vorticity import ConfineVorticity
from keyfluid.operators.diffuse import Diffuse
from keyfluid.operators.drive import Drive
from keyfluid.operators.gather import Gather
from keyfluid.operators.heat import Heat
from keyfluid.operators.project import Project
from keyfluid.solids import Solids

CELLS_PER_STEP = 0.4
_AIR = ("velocity",)
_LAST, _FORCE = "last velocity", "driving force"


@dataclass(frozen=True, eq=False)
class DrivenSmokeOptions:
    """What the smoke is like and what acts on it beside its targets.

    peaks: the densities, and the most there is of each (rho0); buoyancy: m/s^2 per unit of density, along axis `up`;
    viscosity: m^2/s; confinement: of vorticity, 1/s; solids: bodies at a time in seconds; equalise: rate per second at
    which smoke takes on the mass of its target; correction: see operators/advect_limited.py; air: drag, dissipation,
    cooling, wind; warm: whether there is a field "temperature" too.
    """

    peaks: Mapping[str, float]
    dtype: np.typing.DTypeLike = np.float32
    buoyancy: float = 0.0
    up: int = 1
    viscosity: float = 0.0
    confinement: float = 0.0
    solids: Callable[[float], Solids | None] = lambda time: None
    inlets: Sequence[Inlet] = ()
    turbulence: Turbulence | None = None
    equalise: float = 0.0
    correction: float = 1.0
    air: Air = STILL
    warm: bool = False

    @property
    def lifts(self) -> dict[str, float]:
        """Upward acceleration by field that is carried, m/s^2 per unit of it."""
        lifts = dict.fromkeys(self.peaks, self.buoyancy)
        return {**lifts, TEMPERATURE: self.air.heat_buoyancy} if self.warm else lifts


@dataclass(frozen=True, eq=False)
class DrivenInputs:
    """What acts in a step from `time`, in seconds, that may be `longest` seconds long.

    What control does to the velocity (driving force and attenuation, m/s) is added to `impulse`, in place.
    """

    pulls: Mapping[str, Pull]
    time: float
    longest: float
    impulse: Field

    @property
    def damping(self) -> float:
        """v_d, 1/s: the strongest."""
        return max((pull.coefficients.damping for pull in self.pulls.values()), default=0.0)


class DrivenSmoke:
    """The driven smoke model: what a step consists of, and how long it may be."""

    def __init__(self, grid: Grid, options: DrivenSmokeOptions) -> None:
        self.grid, self.options, self.dtype = grid, options, np.dtype(options.dtype)
        self._project: tuple[Solids | None, Project] | None = None
        self._gather: dict[str, tuple[Pull, Solids | None, Gather]] = {}
        # Work arrays: fresh ones would cost as much as filling them.
        self._force, self._pushed = (Field.zeros(grid, Kind.FACES, self.dtype) for _ in range(2))

    def projected(self, state: State) -> dict[str, Field]:
        """A state to begin with: its velocity made divergence-free."""
        return {**state, "velocity": self._projection(self.options.solids(0.0)).forward(state["velocity"])[0]}

    def step(
        self, state: State, inputs: DrivenInputs, index: int = 0, observe: Observer = UNWATCHED
    ) -> dict[str, Field]:
        """The state after step number `index`; the observer gets its length. Sweeps of odd steps are reversed."""
        inlets = [(i, inlet) for i, inlet in enumerate(self.options.inlets) if inlet.active(inputs.time)]
        constants = {name: field for i, inlet in inlets for name, field in inlet.constants(i).items()}
        winds = [operation for i, inlet in inlets for operation in inlet.blow(i)]
        begun = run_operations(winds, {**state, **constants, _LAST: state["velocity"], _FORCE: self._force}, observe)
        self._drive(begun, inputs)
        dt = self._length(begun, inputs)
        observe.lasts(dt)
        air = self.options.air.operations(self.grid, self.options.lifts, inputs.time, inputs.time + dt)
        growth = self.options.air.growth(dt)
        emissions = [operation for i, inlet in inlets for operation in inlet.emit(i, growth)]
        now = run_operations([*air, *emissions, *self.operations(inputs, dt, index)], begun, observe)
        return {name: now[name] for name in state}

    def operations(self, inputs: DrivenInputs, dt: float, index: int = 0) -> list[Operation]:
        """The six fractional steps, in `dt` seconds, of step number `index`."""
        reverse, correction = bool(index % 2), self.options.correction
        solids = self.options.solids(inputs.time + dt)
        kick = Operation("force and attenuate", self._kick(inputs, dt), ("velocity", _FORCE), _AIR)
        advect = AdvectLimited(self.grid, dt, reverse, correction)
        return [
            *([kick] if inputs.pulls else []),
            *self._other_forces(dt, solids),
            Operation("advect momentum", advect, ("velocity", _LAST), _AIR),
            Operation("project", self._projection(solids), _AIR, _AIR),
            *self._carry(inputs.pulls, CarrySmoke(self.grid, dt, None, solids, reverse, correction)),
            *self._equalise(inputs.pulls, dt),
        ]

    def control_force(self, state: State, inputs: DrivenInputs, dt: float) -> Field:
        """Steps 1 and 2 as a force in m/s^2 that does in `dt` seconds what they do; for the differentiable engine."""
        self._drive(state, inputs)
        u = state["velocity"]
        (kicked,) = self._kick(inputs, dt).forward(u, self._force)
        return (kicked - u) * (1.0 / dt)

    def gathered(self, state: State, pulls: Mapping[str, Pull], time: float) -> dict[str, float]:
        """Mass that gathering moves per second, by field: half the sum of absolute changes."""
        rates = {}
        for name in pulls:
            gather = self.gathering(name, pulls, self.options.solids(time))
            if gather is not None:
                dt = min(0.5 * gather.longest(state[name]), 1.0)
                (after,) = replace(gather, dt=dt).forward(state[name])
                moved = float(np.sum(np.abs(after.data - state[name].data), dtype=np.float64))
                rates[name] = 0.5 * moved * self.grid.cell_volume / dt
        return rates

    def gathering(self, name: str, pulls: Mapping[str, Pull], solids: Solids | None) -> Gather | None:
        """Equation 10 for the goal of a field, around bodies."""
        pull = pulls.get(name)
        if pull is None or pull.coefficients.gathering == 0:
            return None
        kept = self._gather.get(name)
        if kept is None or kept[0] is not pull or kept[1] is not solids:
            goal, rate = pull.goal, pull.coefficients.gathering
            weight = goal.weight if solids is None else goal.weight.like(goal.weight.data * solids.free)
            gather = Gather(self.grid, goal.target, weight, rate, 0.0, False, self.options.correction)
            kept = self._gather[name] = (pull, solids, gather)
        return kept[2]

    def _drive(self, state: State, inputs: DrivenInputs) -> None:
        """Fills the force: v_f F summed over fields, with the eddies of turbulence [equation 7, section 3.3]."""
        pulls, turbulence = inputs.pulls, self.options.turbulence
        blurred = {name: pull.blur.forward(state[name])[0] for name, pull in pulls.items()}
        for index, (name, pull) in enumerate(pulls.items()):
            drive = Drive(self.grid, pull.blur, pull.goal.slope, pull.coefficients.force)
            drive.add(blurred[name], self._force, keep=index > 0)
        if turbulence is not None and pulls:
            eddies = turbulence.force(inputs.time)
            for name, pull in pulls.items():
                astray = blurred[name].like(np.abs(blurred[name].data - pull.goal.blurred.data))
                strength = turbulence.strength / self.options.peaks[name]
                Drive(self.grid, pull.blur, eddies, strength).add(astray, self._force)

    def _kick(self, inputs: DrivenInputs, dt: float) -> _Kick:
        motions = [pull.motion for pull in inputs.pulls.values() if pull.motion is not None]
        return _Kick(dt, math.exp(-inputs.damping * dt), motions, inputs.impulse, self._pushed)

    def _length(self, begun: State, inputs: DrivenInputs) -> float:
        """Seconds that the step may last: a whole share of the longest."""
        options, longest, damping = self.options, inputs.longest, inputs.damping
        room = CELLS_PER_STEP * self.grid.spacing
        most = longest
        for axis in range(self.grid.dim):
            speed = _peak(begun["velocity"].component(axis))
            push = _peak(self._force.component(axis)) if inputs.pulls else 0.0
            if axis == options.up and options.buoyancy != 0:
                push += abs(options.buoyancy) * sum(begun[name].peak() for name in options.peaks)
            if axis == options.up and options.warm:
                push += abs(options.air.heat_buoyancy) * begun[TEMPERATURE].peak()
            speed += sum(wind.gain(inputs.time, inputs.time + longest) for wind in options.air.winds)
            # The longest dt with dt (speed + dt push) <= room.
            most = min(most, 2 * room / max(speed + math.sqrt(speed**2 + 4 * push * room), 1e-300))
        for name, pull in inputs.pulls.items():
            pace = math.sqrt(pull.coefficients.force * options.peaks[name])
            most = min(most, 0.5 * pull.width / pace if pace > 0 else most)
        most = min(most, 1.0 / damping if damping > 0 else most)
        return longest / math.ceil(longest / most - 1e-9)

    def _other_forces(self, dt: float, solids: Solids | None) -> list[Operation]:
        """Buoyancy, vorticity confinement and viscosity."""
        options, operations = self.options, []
        for name, lift in options.lifts.items():
            if lift != 0:
                heat = Heat(self.grid, lift, dt, options.up)
                operations.append(Operation("heat", heat, (name, "velocity"), _AIR))
        if options.confinement > 0:
            operations.append(Operation("confine", ConfineVorticity(self.grid, options.confinement, dt), _AIR, _AIR))
        if options.viscosity > 0:
            diffuse = Diffuse(self.grid, options.viscosity, dt, solids, self.dtype)
            operations.append(Operation("diffuse", diffuse, _AIR, _AIR))
        return operations

    def _projection(self, solids: Solids | None) -> Project:
        """The projection around these bodies; rebuilt only when they have moved."""
        if self._project is None or self._project[0] is not solids:
            self._project = (solids, Project(self.grid, solids, self.dtype))
        return self._project[1]

    def _carry(self, pulls: Mapping[str, Pull], alone: CarrySmoke) -> list[Operation]:
        """Each density carried, and gathered if there is a pull; `alone`: without."""
        operations = []
        for rank, name in enumerate(self.options.lifts):
            carry = replace(alone, gather=self.gathering(name, pulls, alone.solids))
            role = Role.CARRY if rank == 0 else Role.PLAIN
            operations.append(Operation("advect and gather", carry, (name, "velocity"), (name,), role))
        return operations

    def _equalise(self, pulls: Mapping[str, Pull], dt: float) -> list[Operation]:
        """Smoke is scaled towards the mass of its target."""
        if self.options.equalise == 0:
            return []
        share = 1 - math.exp(-self.options.equalise * dt)
        return [
            Operation("equalise", _Equalise(share, pull.goal.mass), (name,), (name,)) for name, pull in pulls.items()
        ]


@dataclass(frozen=True, eq=False)
class _Kick(ForwardOnly):
    """forward(velocity, force) -> (velocity,): keep (u + dt force) + (1 - keep) motions, in `out`; the change is added
    to `impulse`."""

    dt: float
    keep: float
    motions: Sequence[Field]
    impulse: Field
    out: Field

    def forward(self, *inputs: Field) -> Fields:
        u, force = inputs
        real = u.dtype.type
        limited.kick(u.data, force.data, real(self.dt), real(self.keep), self.impulse.data, self.out.data)
        for motion in self.motions:
            for field in (self.impulse, self.out):
                add_scaled(1 - self.keep, motion.data, field.data)
        return (self.out,)


@dataclass(frozen=True, eq=False)
class _Equalise(ForwardOnly):
    """forward(density) -> (density,): a share of the way to a mass."""

    share: float
    mass: float

    def forward(self, *inputs: Field) -> Fields:
        (rho,) = inputs
        mass = rho.integral()
        return (rho * (1 + self.share * (self.mass / mass - 1)) if mass > 0 else rho,)


def _peak(values: np.ndarray) -> float:
    return max(float(values.max()), -float(values.min()))
