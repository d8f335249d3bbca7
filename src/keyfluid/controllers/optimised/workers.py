"""Windows that do not depend on each other, each solved by a worker with one thread (keyfluid/crew.py).

A worker also looks between two iterations whether somebody still waits for it. Bits do not depend on the workers, nor
on their number: job and task say all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Protocol

from keyfluid.controllers.optimised.window_task import WindowFound, WindowJob, WindowTask, solve
from keyfluid.controllers.shell import Stopped
from keyfluid.crew import Answer, Crew, Follow, Hire, LocalCrew, answers, nothing_follows, serve

MODULE = "keyfluid.controllers.optimised.workers"


class Solver(Protocol):
    """Solves tasks, and those that follow from what they found, in this order."""

    def __call__(self, tasks: Sequence[WindowTask], follow: Follow = nothing_follows) -> Iterator[WindowFound]: ...


@contextmanager
def solving(job: WindowJob, count: int, stop: Callable[[], bool], hire: Hire | None = None) -> Iterator[Solver]:
    """A function that solves tasks and gives what they found in their order.

    count: processes of this machine; with one, tasks are solved in this process
    hire: gets workers elsewhere instead
    """
    if hire is None and count <= 1:
        yield partial(_one_by_one, job, stop)
        return

    def check() -> None:
        if stop():
            raise Stopped

    crew: Crew = LocalCrew(MODULE, count, check, job) if hire is None else hire(MODULE, check, job)
    try:
        yield partial(answers, crew)
    finally:
        crew.dismiss()


def _one_by_one(
    job: WindowJob, stop: Callable[[], bool], tasks: Sequence[WindowTask], follow: Follow = nothing_follows
) -> Iterator[WindowFound]:
    waiting = list(tasks)
    for place, task in enumerate(waiting):  # which grows
        found = solve(job, task, stop)
        waiting.extend(follow(place, found))
        yield found


class _Worker:
    """Takes a job, then solves windows."""

    _job: WindowJob

    def answer(self, task: WindowJob | WindowTask, abandoned: Callable[[], bool]) -> WindowFound | None:
        if isinstance(task, WindowJob):
            self._job = task
            return None
        with suppress(Stopped):
            return solve(self._job, task, abandoned)
        return None


def worker() -> Answer:
    """Answers tasks (keyfluid/crew.py)."""
    return _Worker().answer


if __name__ == "__main__":
    serve(worker())
