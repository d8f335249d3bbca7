"""The film of the forces found: one simulation with them, frame by frame."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from keyfluid.controllers.march import Gathered
from keyfluid.controllers.optimised.carried_film import CarriedFilm
from keyfluid.controllers.optimised.edited import own_frame
from keyfluid.controllers.optimised.forces import JoinedForces
from keyfluid.controllers.optimised.tidying import Tidying
from keyfluid.controllers.shell import Shell, Stopped
from keyfluid.controllers.step_size import tell_if_fast
from keyfluid.models.state import State
from keyfluid.problem import Clock, FrameRecord, Problem


def simulate(
    problem: Problem,
    forces: JoinedForces,
    until: int,
    after: tuple[int, State] | None = None,
    told: Callable[[Clock, float], None] = lambda clock, cells: None,
) -> Iterator[FrameRecord]:
    """Frames 0 to `until`, of a film that is edited up to its `first` as they were; or those after a frame whose state
    is known. After the last window no force acts but an edited film's own: the smoke is released.

    told: called with every step and the cells that the fastest smoke crossed in it.
    """
    fluid = problem.fluid.steps(problem)
    steps = problem.steps_per_frame or 1
    dt = 1.0 / (problem.fps * steps)
    state = problem.start
    begin = 0
    if after is not None:
        begin, state = after[0], dict(after[1])
    elif problem.edit is None:
        yield FrameRecord(0, state, memory={"steps": 0})
    else:
        for begin in range(problem.edit.first + 1):
            record = own_frame(problem, problem.edit, begin)
            state = dict(record.state)
            yield record
    carried = CarriedFilm(problem, forces, begin, state)
    tidying = Tidying(problem)
    for frame in range(begin + 1, until + 1):
        gathered = Gathered()
        for index in range((frame - 1) * steps, frame * steps):
            clock = Clock(index, dt)
            advance = fluid.advance(state, clock, forces.force(index), forces.source(index))
            told(clock, advance.cells)
            state = dict(advance.state)
            gathered.add(advance, dt, 1 / steps)
        drawn = carried.densities(frame, state, [velocity for _, velocity in gathered.carriers])
        record = gathered.record(frame, {**state, **drawn}, frame * steps)
        ready = tidying.take(replace(record, memory={**record.memory, "paths": forces.paths}))
        if frame in carried.seams or frame in tidying.ends:
            state = {**state, **carried.begin_again(ready[-1].state)}
        yield from ready
    yield from tidying.held


def replay(
    problem: Problem,
    shell: Shell,
    forces: JoinedForces,
    until: int,
    after: tuple[int, State] | None = None,
    final: int = 0,
) -> State:
    """Hand every frame up to `until` to the shell, or every one after a frame whose state is known; gives the last.

    final: the frames up to this one will not be filmed again, so fast smoke in them is worth a note.
    """

    def told(clock: Clock, cells: float) -> None:
        if clock.time * problem.fps < final - 0.5 / (problem.steps_per_frame or 1):
            tell_if_fast(problem, shell, cells, clock.time)

    for record in simulate(problem, forces, until, after, told):
        shell.frame(record)
        if shell.stop_requested:
            raise Stopped
    return record.state


def state_after(problem: Problem, forces: JoinedForces, frame: int) -> State:
    """The state at a frame."""
    *_, last = simulate(problem, forces, frame)
    return last.state
