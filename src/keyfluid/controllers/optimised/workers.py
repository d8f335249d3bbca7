"""Windows that do not depend on each other, each in a process of its own with one thread (keyfluid/crew.py).

A worker also looks between two iterations whether its parent is gone. Bits do not depend on the number of workers: a
task says all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from keyfluid.controllers.optimised.window_task import WindowFound, WindowTask, solve
from keyfluid.controllers.shell import Stopped
from keyfluid.crew import Crew, serve

Solver = Callable[[Sequence[WindowTask]], Iterator[WindowFound]]


@contextmanager
def solving(count: int, stop: Callable[[], bool]) -> Iterator[Solver]:
    """A function that solves tasks and gives what they found in their order; with one worker, in this process."""
    if count <= 1:
        yield lambda tasks: (solve(task, stop) for task in tasks)
        return

    def check() -> None:
        if stop():
            raise Stopped

    crew = Crew("keyfluid.controllers.optimised.workers", count, check)
    try:
        yield crew.answers
    finally:
        crew.dismiss()


def _solved(task: WindowTask, abandoned: Callable[[], bool]) -> WindowFound | None:
    with suppress(Stopped):
        return solve(task, abandoned)
    return None


if __name__ == "__main__":
    serve(_solved)
