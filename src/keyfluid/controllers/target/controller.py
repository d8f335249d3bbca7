"""`method = "target"`: smoke driven to one target after the other in a single pass [Fattal & Lischinski 2004].

The six fractional steps are models/driven_smoke.py; goal.py makes a target ready, goals.py says who acts when, and
simulation.py takes the steps of a frame. With advection = "smooth" the same force drives the differentiable engine at
fixed steps, without gathering, so that the forces alone repeat the run: a warm start for the optimisers. A liquid has a
mode of its own, in liquid.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from keyfluid.controllers.march import state_arrays
from keyfluid.controllers.method import Method, OtherRuns, Plan
from keyfluid.controllers.shell import Shell
from keyfluid.controllers.target.settings import DENSE_GAP, DENSE_TIME, TargetNumbers
from keyfluid.controllers.target.simulation import MOST_CARRIERS, TargetSimulation
from keyfluid.grid import Kind
from keyfluid.models.driven_smoke import CELLS_PER_STEP
from keyfluid.models.state import State
from keyfluid.problem import FrameRecord, Problem, gathered_name

USUAL_SPEED = 1.4
"""Speed of the fastest air, in sides of the domain per time to the target, the mean over a run; for estimates."""


@dataclass(frozen=True, eq=False, kw_only=True)
class TargetPlan(Plan):
    """The simulation, ready to begin."""

    simulation: TargetSimulation


class Target(Method):
    """The method."""

    def plan(self, problem: Problem, other_runs: OtherRuns) -> TargetPlan:
        """Memory: goals, forces, work arrays and the carriers of a frame."""
        faces = problem.grid.value_count(Kind.FACES) * problem.dtype.itemsize
        per_field = 2 * faces + 4 * problem.grid.count * 8
        memory = (2 * MOST_CARRIERS + 6) * faces + len(problem.densities) * per_field
        simulation = TargetSimulation(problem, TargetNumbers.of(problem))
        steps = 0.0 if simulation.marches else _likely_steps(problem, simulation.numbers)
        return TargetPlan(
            problem=problem, memory_bytes=memory, steps=steps, lines=simulation.lines, simulation=simulation
        )

    def run(self, plan: Plan, shell: Shell) -> None:
        assert isinstance(plan, TargetPlan)
        problem, simulation = plan.problem, plan.simulation
        frame = 0
        if shell.restored is not None:
            frame = simulation.restore(shell.restored)
        else:
            _store(shell, simulation.begin())
        while frame < problem.frames:
            frame += 1
            record = simulation.frame(frame, shell)
            _store(shell, record, {} if simulation.marches else _shares(problem, record.state, simulation.gathered))
            shell.progress(frame, problem.frames, "frame", simulation.error(frame))


def _store(shell: Shell, record: FrameRecord, numbers: dict[str, float] | None = None) -> None:
    shell.frame(record)
    if numbers:
        shell.log(frame=record.index, **numbers)
    shell.checkpoint(state_arrays(record.state), {"frame": record.index, **record.memory})


def _likely_steps(problem: Problem, numbers: TargetNumbers) -> float:
    """Steps of a frame, from the usual speed of smoke on its way; at most as many as carriers are kept."""
    keys = {key.frame for key in problem.keyframes}
    seconds = max(keys, default=1) / len(keys or (1,)) / problem.fps
    seconds = seconds if seconds > DENSE_GAP else DENSE_TIME
    speed = USUAL_SPEED * math.sqrt(numbers.strength) * numbers.side / seconds
    steps = speed / (problem.fps * CELLS_PER_STEP * problem.grid.spacing)
    return min(max(1.0, steps), 1.5 * MOST_CARRIERS)


def _shares(problem: Problem, state: State, gathered: dict[str, float]) -> dict[str, float]:
    """Mass that gathering has moved since the target took over, over the mass there is, per field."""
    result = {}
    for name in problem.densities:
        result[gathered_name(problem.densities, name)] = gathered.get(name, 0.0) / max(state[name].integral(), 1e-300)
    return result
