"""The loop of methods that go through time once: steps, frames, checkpoints, and stopping between steps.

Frame f is at f / fps seconds. A frame is cut into n equal steps: `steps_per_frame`, or, with "auto", the least n
for which no air crosses more than `cfl` cells in a step. If the air speeds up within a frame, what is left of the
frame is cut into twice as many, so that a step's number times its length is always its time, exactly.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from keyfluid.controllers.shell import Checkpoint, Shell, Stopped, Watcher
from keyfluid.controllers.step_size import tell_if_fast, too_many_steps
from keyfluid.errors import KeyfluidError
from keyfluid.fields import Field
from keyfluid.grid import Kind
from keyfluid.models.air import TEMPERATURE
from keyfluid.models.state import State
from keyfluid.problem import Advance, Clock, FrameRecord, Problem
from keyfluid.problem.kept import whole

MOST_STEPS = 4096
"""Steps of a frame beyond which something has blown up."""


class Gathered:
    """What the steps of a frame did, put together into its record."""

    def __init__(self) -> None:
        self.carriers: list[tuple[float, Field]] = []
        self.emitted: dict[str, float] = {}
        self.numbers: dict[str, float] = {}
        self.force: Field | None = None
        self.divergence: float | None = None

    def add(self, advance: Advance, seconds: float, share: float) -> None:
        """One step, of `seconds`, which is `share` of the frame."""
        self.carriers.append((seconds, advance.carrier))
        for total, more in ((self.emitted, advance.emitted), (self.numbers, advance.numbers)):
            for name, value in (more or {}).items():
                total[name] = total.get(name, 0.0) + value
        if advance.force is not None:
            self.force = share * advance.force if self.force is None else self.force.add_scaled(share, advance.force)
        if advance.divergence is not None:
            self.divergence = max(self.divergence or 0.0, advance.divergence)

    def record(self, frame: int, state: State, steps: int) -> FrameRecord:
        return FrameRecord(
            frame, state, self.force, self.carriers, self.emitted, {"steps": steps},
            divergence=self.divergence, numbers=self.numbers,
        )  # fmt: skip


Step = Callable[[State, Clock], Advance]
FrameError = Callable[[int, State], float | None]


def march(problem: Problem, shell: Shell, step: Step, error: FrameError | None = None) -> None:
    """Run from the start, or from where the shell says, to the last frame.

    error: for the progress line, of a frame's state.
    """
    frame, taken, state = _begin(problem, shell)
    while frame < problem.frames:
        frame += 1
        record = one_frame(problem, shell, step, frame, taken, state)
        state, taken = record.state, whole(record.memory, "steps")
        shell.frame(record)
        shell.checkpoint(state_arrays(state), {"frame": frame, "steps": taken})
        shell.progress(frame, problem.frames, "frame", error(frame, state) if error is not None else None)


def state_arrays(state: State) -> dict[str, np.ndarray]:
    return {name: field.data for name, field in state.items()}


def restored_state(problem: Problem, checkpoint: Checkpoint) -> dict[str, Field]:
    """The state a checkpoint of `march` holds; raises if it belongs to another scene."""
    kinds = {**dict.fromkeys(problem.carried, Kind.CENTRES), "velocity": Kind.FACES}
    try:
        state = {name: Field(problem.grid, kind, checkpoint.arrays[name]) for name, kind in kinds.items()}
    except (KeyError, KeyfluidError):
        raise KeyfluidError("the checkpoint does not fit the scene; run the scene again with --overwrite") from None
    if any(field.dtype != problem.dtype for field in state.values()):
        raise KeyfluidError("the checkpoint is not in the scene's precision; run the scene again with --overwrite")
    return state


def _begin(problem: Problem, shell: Shell) -> tuple[int, int, State]:
    if shell.restored is not None:
        meta = shell.restored.meta
        return whole(meta, "frame"), whole(meta, "steps"), restored_state(problem, shell.restored)
    state = problem.start
    shell.frame(FrameRecord(0, state, memory={"steps": 0}))
    shell.checkpoint(state_arrays(state), {"frame": 0, "steps": 0})
    return 0, 0, state


def one_frame(problem: Problem, watch: Watcher, step: Step, frame: int, taken: int, state: State) -> FrameRecord:
    """All steps from the frame before to this one."""
    count = problem.steps_per_frame or 1
    done = 0
    gathered = Gathered()
    while done < count:
        if watch.stop_requested:
            raise Stopped
        if problem.steps_per_frame is None:
            wanted = _steps_wanted(problem, frame, state)
            if done == 0:
                count = wanted
            while count < wanted:
                count, done = 2 * count, 2 * done
        clock = Clock((frame - 1) * count + done, 1.0 / (problem.fps * count))
        advance = step(state, clock)
        tell_if_fast(problem, watch, advance.cells, clock.time)
        state = advance.state
        gathered.add(advance, clock.dt, clock.dt * problem.fps)
        done += 1
    return gathered.record(frame, state, taken + len(gathered.carriers))


def _steps_wanted(problem: Problem, frame: int, state: State) -> int:
    """Steps per frame so that the fastest air, soon to be lifted, blown and pushed, crosses `cfl` cells."""
    speed = state["velocity"].require_finite("velocity")
    warmest = state[TEMPERATURE].peak() if problem.temperature is not None else 0.0
    lift = problem.fluid.acceleration((state[name].peak() for name in problem.densities), warmest)
    blown = [
        max(map(abs, source.velocity))
        for source in problem.sources
        if source.velocity is not None and source.start < frame <= source.stop
    ]
    bodies = problem.solids(frame / problem.fps) if problem.solids.move else None
    pushed = bodies.motion.peak() if bodies is not None else 0.0
    cells = problem.cfl * problem.grid.spacing * problem.fps
    speed = max([speed, pushed, *blown])
    speed += sum(wind.gain((frame - 1) / problem.fps, frame / problem.fps) for wind in problem.winds)
    # With n steps the lift adds lift / (fps n) to the speed within one of them: n cells >= speed + lift / (fps n).
    root = math.sqrt(speed * speed + 4 * cells * lift / problem.fps)
    count = max(1, math.ceil((speed + root) / (2 * cells) - 1e-9))
    if count > MOST_STEPS:
        raise too_many_steps(problem, frame, speed, count, "lower forces and velocities, or raise simulation.cfl")
    return count
