"""A crew of Dask workers. Tasks and answers go through files (session.py); the scheduler only sees their names.

A worker that dies is Dask's business: the scheduler gives its task to another one. If a task kills worker after worker,
if no worker is left, or if the scheduler is gone, the run stops with one line and can be resumed.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from keyfluid.cluster.at_work import StrangeWorker, do
from keyfluid.cluster.session import Session, Ticket
from keyfluid.crew import LOOK, Follow, nothing_follows
from keyfluid.errors import KeyfluidError, WorkerDied
from keyfluid.io.run.owned import OwnedFolder

if TYPE_CHECKING:
    from distributed import Client, Future

_COUNT_EVERY, NO_WORKERS = 5.0, 60.0
"""Seconds between two counts of the workers, and without any until the run stops."""


class DaskCrew:
    """client: connected to the scheduler at `address`; owned: the folder whose `.crew` tasks and answers go through."""

    def __init__(
        self,
        client: Client,
        address: str,
        owned: OwnedFolder,
        module: str,
        check: Callable[[], None],
        job: object = None,
    ) -> None:
        self._client, self._address, self._module, self._check = client, address, module, check
        self._session = Session(owned)
        self._has_job = job is not None
        self._futures: dict[Future, tuple[int, Ticket]] = {}
        self._counted = self._staffed = time.monotonic()
        self._workers = 0
        if job is not None:
            self._session.put_job(job)

    def finished(self, tasks: Sequence[object], follow: Follow = nothing_follows) -> Iterator[tuple[int, Any]]:
        done: SimpleQueue[Future] = SimpleQueue()
        given, waiting = len(tasks), deque(enumerate(tasks))
        self._count_workers()

        def give() -> None:
            """One to each worker, and no more: what follows goes to whoever is free first."""
            while waiting and len(self._futures) < max(1, self._workers):
                place, task = waiting.popleft()
                ticket = self._session.put(self._module, task, self._has_job)
                future = self._client.submit(do, ticket, key=f"keyfluid-{ticket.nonce}-{ticket.name}", pure=False)
                self._futures[future] = place, ticket
                future.add_done_callback(done.put)

        give()
        while self._futures:
            try:
                future = done.get(timeout=LOOK)
            except Empty:
                self._check()
                self._look_after()
                give()
                continue
            place, ticket = self._futures.pop(future)
            answer = self._answer(future, ticket)
            more = list(enumerate(follow(place, answer), given))
            waiting.extendleft(reversed(more))
            given += len(more)
            give()
            yield place, answer

    def dismiss(self) -> None:
        with suppress(Exception):  # the scheduler may be gone
            self._client.cancel(list(self._futures), force=True)
        self._futures.clear()
        self._session.close()

    def _answer(self, future: Future, ticket: Ticket) -> Any:
        """What a worker left in the folder; raises where a task could not be done at all."""
        if future.status == "finished":
            try:
                return self._session.answer(ticket)
            except OSError:
                raise WorkerDied(f"{self._named}: a worker gave up its task; start the cluster again") from None
        if future.status != "error":
            raise self._gone()
        error = future.exception(timeout=10)
        if isinstance(error, StrangeWorker):
            raise KeyfluidError(f"{self._named}: a worker {error}")
        if isinstance(error, KeyfluidError):
            raise error
        if type(error).__name__ == "KilledWorker":
            who = ", ".join(sorted({line.split()[0] for line in self._session.begun_by(ticket)}))
            raise WorkerDied(
                f"{self._named}: a task has ended one worker after another{f' ({who})' if who else ''}, possibly "
                "out of memory; give workers more memory"
            )
        if isinstance(error, ImportError):
            raise KeyfluidError(
                f"{self._named}: a worker can't import {error.name or 'keyfluid'}; install the same keyfluid there"
            )
        assert error is not None
        raise error

    def _look_after(self) -> None:
        """Raise if nobody is left to answer."""
        if self._client.status != "running":
            raise self._gone()
        if time.monotonic() - self._counted >= _COUNT_EVERY:
            self._count_workers()
        if time.monotonic() - self._staffed > NO_WORKERS:
            raise WorkerDied(f"{self._named}: has had no workers for {NO_WORKERS:.0f} s; start some")

    def _count_workers(self) -> None:
        self._counted = time.monotonic()
        with suppress(OSError, TimeoutError):  # the client sees by itself that the scheduler is gone
            self._workers = len(self._client.nthreads())
            if self._workers:
                self._staffed = self._counted

    def _gone(self) -> WorkerDied:
        return WorkerDied(f"{self._named}: the scheduler is gone; start it again or leave out --cluster")

    @property
    def _named(self) -> str:
        return f"--cluster {self._address}"
