"""Worker processes that answer tasks, each with one thread.

A worker is `python -m MODULE PARENT`, a module that calls `serve`: it reads tasks from its standard input, writes its
answers, and ends when its input does. So it outlives neither Ctrl-C nor the death of its parent, and nothing of the
parent's program runs in it.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from contextlib import suppress
from queue import SimpleQueue
from typing import Any

from keyfluid.errors import KeyfluidError, WorkerDied
from keyfluid.threads import set_threads

_LOOK = 0.1
"""Seconds between two looks at whether the user wants to stop."""


class Crew:
    """Processes that wait for tasks, and a thread of this one to talk to each.

    check: called while answers are awaited; it raises to stop
    job: sent to each of them before its first task, if it is not None; no answer is awaited
    """

    def __init__(self, module: str, count: int, check: Callable[[], None], job: object = None) -> None:
        self._check, self._job = check, job
        command = [sys.executable, "-m", module, str(os.getpid())]
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
        self._uninformed = set(self._processes) if job is not None else set()
        self._threads = ThreadPoolExecutor(count)

    def answers(self, tasks: Iterable[object]) -> Iterator[Any]:
        """What the workers answer, in the order of the tasks; raises the KeyfluidError that one of them met."""
        futures = [self._threads.submit(self._ask, task) for task in tasks]
        for future in futures:
            yield self._wait(future)

    def _ask(self, task: object) -> object:
        process = self._idle.get()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            if process in self._uninformed:
                self._uninformed.discard(process)
                pickle.dump(self._job, process.stdin)
            pickle.dump(task, process.stdin)
            process.stdin.flush()
            answer = pickle.load(process.stdout)
        except (OSError, EOFError, pickle.UnpicklingError):
            raise WorkerDied("a worker process died, possibly out of memory; use --threads 1") from None
        finally:
            self._idle.put(process)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _wait(self, future: Future[object]) -> object:
        while True:
            try:
                return future.result(_LOOK)
            except NotYet:
                self._check()

    def dismiss(self) -> None:
        """End the processes, whatever they do; answers that they had not delivered are lost."""
        for process in self._processes:
            process.kill()
        self._threads.shutdown(wait=True, cancel_futures=True)
        for process in self._processes:
            process.wait()
            for pipe in (process.stdin, process.stdout):
                with suppress(OSError):  # what was left to write has nobody to read it
                    assert pipe is not None
                    pipe.close()


def serve(answer: Callable[[Any, Callable[[], bool]], object]) -> None:
    """In a worker: answer tasks until there are no more.

    answer: called with the job or a task, and a function that tells whether the parent is gone; gives None for the
    job, and where it gave up because the parent is gone
    """
    answers, parent = sys.stdout.buffer, int(sys.argv[1])
    sys.stdout = sys.stderr
    set_threads(1)
    while True:
        try:
            task = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            found = answer(task, lambda: os.getppid() != parent)
        except KeyfluidError as error:
            found = error
        if found is None:
            continue
        try:
            pickle.dump(found, answers)
            answers.flush()
        except BrokenPipeError:  # nobody waits for it any more
            return
