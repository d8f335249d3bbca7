"""Workers that answer tasks: what a crew is, and the one made of local processes.

A task does not depend on another one, so the bits do not depend on who answers it. A module that has tasks for others
defines `worker()`, which gives a function (`Answer`). Where its workers are is decided elsewhere: in processes of this
machine (`LocalCrew`), or on a cluster (keyfluid/cluster).
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, Protocol

from keyfluid.errors import KeyfluidError, WorkerDied
from keyfluid.threads import set_threads

LOOK = 0.1
"""Seconds between two looks at whether the user wants to stop."""

Answer = Callable[[Any, Callable[[], bool]], object]
"""Called with the job or a task, and a function that tells whether nobody waits for the answer any more; gives None for
the job, and where it gave up."""


Follow = Callable[[int, Any], Sequence[Any]]
"""Called with each answer and its task's place: tasks that can be done now, before all that wait."""


def nothing_follows(place: int, answer: Any) -> Sequence[Any]:
    return ()


class Crew(Protocol):
    """Workers that wait for tasks."""

    def finished(self, tasks: Sequence[object], follow: Follow = nothing_follows) -> Iterator[tuple[int, Any]]:
        """(place of the task, its answer) as tasks are done; a task's KeyfluidError is its answer.

        Tasks that follow have the places after the others, in the order in which they were given.
        """
        ...

    def dismiss(self) -> None:
        """End the work, whatever it is; answers that were not delivered are lost."""
        ...


class Hire(Protocol):
    """Makes a crew for the tasks of a module.

    check: called while answers are awaited; it raises to stop
    job: what each worker needs before its first task
    """

    def __call__(self, module: str, check: Callable[[], None], job: object = None) -> Crew: ...


def answers(crew: Crew, tasks: Sequence[object], follow: Follow = nothing_follows) -> Iterator[Any]:
    """What the workers answer, in the order of the tasks; raises the KeyfluidError that one of them met."""
    early: dict[int, Any] = {}
    following = 0
    for place, answer in crew.finished(tasks, follow):
        early[place] = answer
        while following in early:
            ready = early.pop(following)
            if isinstance(ready, Exception):
                raise ready
            yield ready
            following += 1


class LocalCrew:
    """Processes of this machine, one thread each, and a thread of this process to talk to each.

    A worker is `python -m MODULE PARENT`, a module that calls `serve`: it reads tasks from its standard input, writes
    its answers, and ends when its input does. So it outlives neither Ctrl-C nor the death of its parent, and nothing
    of the parent's program runs in it. One that died is replaced; its task's answer is WorkerDied.
    """

    def __init__(self, module: str, count: int, check: Callable[[], None], job: object = None) -> None:
        self._module, self._check, self._job = module, check, job
        self._processes: list[subprocess.Popen[bytes]] = []
        self._dismissed = False
        self._idle: SimpleQueue[subprocess.Popen[bytes]] = SimpleQueue()
        self._uninformed: set[subprocess.Popen[bytes]] = set()
        for _ in range(count):
            self._idle.put(self._start())
        self._threads = ThreadPoolExecutor(count)
        self._waiting: deque[tuple[int, object]] = deque()

    def _start(self) -> subprocess.Popen[bytes]:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        process = subprocess.Popen(
            [sys.executable, "-m", self._module, str(os.getpid())],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, start_new_session=True,
        )  # fmt: skip
        self._processes.append(process)
        if self._job is not None:
            self._uninformed.add(process)
        return process

    def finished(self, tasks: Sequence[object], follow: Follow = nothing_follows) -> Iterator[tuple[int, Any]]:
        done: SimpleQueue[tuple[int, Any]] = SimpleQueue()

        def ask() -> None:
            place, task = self._waiting.popleft()
            try:
                done.put((place, self._ask(task)))
            except Exception as error:
                done.put((place, error))

        self._waiting.extend(enumerate(tasks))
        for _ in tasks:
            self._threads.submit(ask)
        given = left = len(tasks)
        while left:
            try:
                found = done.get(timeout=LOOK)
            except Empty:
                self._check()
                continue
            if isinstance(found[1], Exception) and not isinstance(found[1], KeyfluidError):
                raise found[1]
            more = list(enumerate(follow(*found), given))
            self._waiting.extendleft(reversed(more))
            for _ in more:
                self._threads.submit(ask)
            given, left = given + len(more), left + len(more) - 1
            yield found

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
            return pickle.load(process.stdout)
        except (OSError, EOFError, pickle.UnpicklingError):
            process.kill()
            if not self._dismissed:
                process = self._start()
            return WorkerDied("a worker process died, possibly out of memory; use --threads 1")
        finally:
            self._idle.put(process)

    def dismiss(self) -> None:
        self._dismissed = True
        for process in self._processes:
            process.kill()
        self._threads.shutdown(wait=True, cancel_futures=True)
        for process in self._processes:
            process.kill()  # one may have been started meanwhile
            process.wait()
            for pipe in (process.stdin, process.stdout):
                with suppress(OSError):  # what was left to write has nobody to read it
                    assert pipe is not None
                    pipe.close()


def serve(answer: Answer) -> None:
    """In a worker process: answer tasks until there are no more."""
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
