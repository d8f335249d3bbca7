"""Windows that do not depend on each other, each in a process of its own with one thread.

A worker is `python -m keyfluid.controllers.optimised.workers PARENT`: it reads a task from its standard input, solves
it, writes what it found, and ends when its input does, or between two iterations when PARENT is no longer its parent.
So it outlives neither Ctrl-C nor the death of its parent, and nothing of the parent's program runs in it. Bits do not
depend on the number of workers: a task says all.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from typing import BinaryIO

from keyfluid.controllers.optimised.window_task import WindowFound, WindowTask, solve
from keyfluid.controllers.shell import Stopped
from keyfluid.errors import KeyfluidError, WorkerDied
from keyfluid.threads import set_threads

_LOOK = 0.1
"""Seconds between two looks at whether the user wants to stop."""

Solver = Callable[[Sequence[WindowTask]], Iterator[WindowFound]]


@contextmanager
def solving(count: int, stop: Callable[[], bool]) -> Iterator[Solver]:
    """A function that solves tasks and gives what they found in their order; with one worker, in this process."""
    if count <= 1:
        yield lambda tasks: (solve(task, stop) for task in tasks)
        return
    crew = _Crew(count, stop)
    try:
        yield crew.solve
    finally:
        crew.dismiss()


class _Crew:
    """Processes that wait for tasks, and a thread of this one to talk to each."""

    def __init__(self, count: int, stop: Callable[[], bool]) -> None:
        self._stop = stop
        command = [sys.executable, "-m", __name__, str(os.getpid())]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        self._processes = [
            subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, start_new_session=True
            )
            for _ in range(count)
        ]
        self._idle: SimpleQueue[subprocess.Popen[bytes]] = SimpleQueue()
        for process in self._processes:
            self._idle.put(process)
        self._threads = ThreadPoolExecutor(count)

    def solve(self, tasks: Sequence[WindowTask]) -> Iterator[WindowFound]:
        futures = [self._threads.submit(self._ask, task) for task in tasks]
        for future in futures:
            yield self._wait(future)

    def _ask(self, task: WindowTask) -> WindowFound:
        process = self._idle.get()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            pickle.dump(task, process.stdin)
            process.stdin.flush()
            answer = pickle.load(process.stdout)
        except (OSError, EOFError, pickle.UnpicklingError):
            raise WorkerDied("a worker process died, possibly out of memory; use --threads 1") from None
        finally:
            self._idle.put(process)
        if isinstance(answer, Exception):
            raise answer
        assert isinstance(answer, WindowFound)
        return answer

    def _wait(self, future: Future[WindowFound]) -> WindowFound:
        while True:
            try:
                return future.result(_LOOK)
            except NotYet:
                if self._stop():
                    raise Stopped from None

    def dismiss(self) -> None:
        """End the processes, whatever they do; what they had not delivered is solved again on resume."""
        for process in self._processes:
            process.kill()
        self._threads.shutdown(wait=True, cancel_futures=True)
        for process in self._processes:
            process.wait()
            for pipe in (process.stdin, process.stdout):
                with suppress(OSError):  # what was left to write has nobody to read it
                    assert pipe is not None
                    pipe.close()


def work(tasks: BinaryIO, answers: BinaryIO, parent: int) -> None:
    """Solve tasks until there are no more, or `parent` is gone."""
    set_threads(1)
    while True:
        try:
            task = pickle.load(tasks)
        except EOFError:
            return
        try:
            answer: WindowFound | Exception = solve(task, lambda: os.getppid() != parent)
        except Stopped:
            return
        except KeyfluidError as error:
            answer = error
        pickle.dump(answer, answers)
        answers.flush()


if __name__ == "__main__":
    output = sys.stdout.buffer
    sys.stdout = sys.stderr
    work(sys.stdin.buffer, output, int(sys.argv[1]))
