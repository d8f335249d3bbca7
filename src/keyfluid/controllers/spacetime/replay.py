"""From forces to frames: the model of the paper run forward [eq. 1 to 3], and free after the last keyframe.

    rho_{k+1} = A[rho_k, v_k],      v_{k+1} from the implicit step with u_k

Inside in cells and steps and units of peak density; a frame is in metres, seconds and the scene's densities.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from keyfluid.controllers.spacetime.flow import FlowEquations
from keyfluid.fields import Field
from keyfluid.grid import Kind
from keyfluid.models.state import State
from keyfluid.objectives.density import relative_error
from keyfluid.operators.base import Operator
from keyfluid.operators.step_implicit import StepImplicit
from keyfluid.problem import Clock, FrameRecord, Keyframe, Problem


@dataclass(frozen=True, eq=False)
class Units:
    """Factors from cells and steps to metres and seconds."""

    spacing: float
    dt: float
    peaks: Mapping[str, float]

    @property
    def speed(self) -> float:
        return self.spacing / self.dt

    @property
    def force(self) -> float:
        return self.spacing / self.dt**2

    def inside(self, problem: Problem) -> dict[str, Field]:
        """The scene's densities in units of their peaks."""
        return {name: rho * (1.0 / self.peaks[name]) for name, rho in problem.densities.items()}


@dataclass(eq=False)
class Replay:
    """The state at `frame`, in cells and steps."""

    problem: Problem
    units: Units
    steps_per_frame: int
    transport: Operator
    flow_step: StepImplicit
    flow: FlowEquations
    densities: dict[str, Field]
    velocity: Field
    frame: int = 0
    cells: float = 0.0
    """That the fastest air crossed in a step of the last frame."""

    def first(self) -> FrameRecord:
        return FrameRecord(0, self._state(), memory={"steps": 0})

    def advance(self, forces: np.ndarray | None) -> FrameRecord:
        """The next frame; `forces` as flow.py keeps them, u[face, k] = u_{k-1}, or None where the smoke is free."""
        grid, steered = self.problem.grid, False
        carriers = []
        self.cells = 0.0
        mean = Field.zeros(grid, Kind.FACES, self.problem.dtype)
        for k in range(self.frame * self.steps_per_frame, (self.frame + 1) * self.steps_per_frame):
            carriers.append((self.units.dt, self.velocity * self.units.speed))
            speed, dt = carriers[-1][1].peak(), self.units.dt
            self.cells = max(self.cells, self.problem.fluid.cells_crossed(self.problem, speed, dt, k * dt))
            self.densities = {
                name: self.transport.forward(rho, self.velocity)[0] for name, rho in self.densities.items()
            }
            push = self.flow.lift(self.densities) or self.velocity.zeros_like()
            if forces is not None and k + 1 < forces.shape[1]:
                force, steered = push.like(np.ascontiguousarray(forces[:, k + 1])), True
                push = push + force
                mean = mean.add_scaled(self.units.force / self.steps_per_frame, force)
            # Velocities are cells per step because dt is one spacing; forces are then cells per step and spacing.
            (self.velocity,) = self.flow_step.forward(self.velocity, push * (1.0 / grid.spacing))
        self.frame += 1
        memory = {"steps": self.frame * self.steps_per_frame}
        return FrameRecord(self.frame, self._state(), mean if steered else None, carriers, {}, memory)

    def engine_errors(self, forces: np.ndarray) -> Iterator[tuple[Keyframe, float]]:
        """How well the same forces meet each keyframe in the engine's smoke model, from the start.

        Both models move smoke with the velocity that stands beside a force in column k: step k of the engine adds its
        force, projects, and then moves smoke and air together, so it takes u_{k-1}, which leads to v_k. Its air differs
        all the same: moved explicitly along itself and read off linearly, not by backward Euler. Letters on 64 cells
        and 20 steps, 14 to 54 % of |v| apart at the end, errors:

                                                          F      L      U      I      D
            the method's own smoke in its own air         0.092  0.111  0.094  0.159  0.120
            the engine's smoke in the method's air        0.172  0.189  0.173  0.247  0.210
            the engine's smoke in the engine's air        0.241  0.273  0.368  0.261  0.446

        So of fast letters most is lost by the air and of slow ones by the smoke, which linear interpolation blurs (with
        simulation.interpolation = "cubic" the second line is 0.099 0.110 0.100 0.173 0.146).
        """
        problem, dt = self.problem, self.units.dt
        steps = problem.fluid.steps(problem)
        state: State = {**problem.densities, "velocity": self.velocity * self.units.speed}
        for k in range(max(key.frame for key in problem.keyframes) * self.steps_per_frame):
            force = None
            if k < forces.shape[1]:
                force = self.velocity.like(np.ascontiguousarray(forces[:, k])) * self.units.force
            state = steps.advance(state, Clock(k, dt), force).state
            for key in problem.keyframes:
                if key.frame * self.steps_per_frame == k + 1 and key.weight > 0:
                    yield key, relative_error(state[key.field].array, key.target, key.mask)

    def arrays(self) -> dict[str, np.ndarray]:
        return {"velocity": self.velocity.data, **{f"rho.{name}": rho.data for name, rho in self.densities.items()}}

    def restore(self, arrays: Mapping[str, np.ndarray], frame: int) -> None:
        self.velocity = self.velocity.like(arrays["velocity"].copy())
        self.densities = {name: rho.like(arrays[f"rho.{name}"].copy()) for name, rho in self.densities.items()}
        self.frame = frame

    def _state(self) -> dict[str, Field]:
        state = {name: rho * self.units.peaks[name] for name, rho in self.densities.items()}
        return {**state, "velocity": self.velocity * self.units.speed}
