"""The film of the forces found: one simulation with them, frame by frame."""

from __future__ import annotations

from collections.abc import Iterator

from keyfluid.controllers.interface import FrameRecord, Problem, Shell, Stopped
from keyfluid.controllers.keyframes.windows import Pieces
from keyfluid.controllers.march import Clock
from keyfluid.controllers.smoke_steps import SmokeSteps
from keyfluid.fields import Field
from keyfluid.models.stage import State


def simulate(problem: Problem, pieces: Pieces, until: int) -> Iterator[FrameRecord]:
    """Frames 0 to `until`, of a film that is edited up to its `first` as they were. After the last window no force acts
    but an edited film's own: the smoke is released."""
    smoke = SmokeSteps(problem)
    steps = problem.steps_per_frame or 1
    dt = 1.0 / (problem.fps * steps)
    state: dict[str, Field] = {**problem.densities, "velocity": problem.velocity}
    begin = 0
    if problem.edit is None:
        yield FrameRecord(0, state, memory={"steps": 0})
    else:
        for begin in range(problem.edit.first + 1):
            record = problem.edit.record(begin)
            state = dict(record.state)
            yield record
    for frame in range(begin + 1, until + 1):
        carriers: list[tuple[float, Field]] = []
        emitted: dict[str, float] = {}
        force: Field | None = None
        for index in range((frame - 1) * steps, frame * steps):
            pushed = pieces.force(index)
            advance = smoke.advance(state, Clock(index, dt), pushed)
            state = dict(advance.state)
            carriers.append((dt, advance.carrier))
            for name, mass in (advance.emitted or {}).items():
                emitted[name] = emitted.get(name, 0.0) + mass
            if pushed is not None:
                force = (1 / steps) * pushed if force is None else force.add_scaled(1 / steps, pushed)
        yield FrameRecord(frame, state, force, carriers, emitted, {"steps": frame * steps})


def replay(problem: Problem, shell: Shell, pieces: Pieces) -> None:
    """Hand every frame to the shell."""
    for record in simulate(problem, pieces, problem.frames):
        shell.frame(record)
        if shell.stop_requested:
            raise Stopped


def state_after(problem: Problem, pieces: Pieces, frame: int) -> State:
    """The state at a frame."""
    *_, last = simulate(problem, pieces, frame)
    return last.state
