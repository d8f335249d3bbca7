"""What a Dask worker does with a task: checks that it may, fetches it from the run's folder, leaves the answer there.

A worker that another one takes the place of leaves nothing half done: an answer is whole or not there, and a task whose
answer is there is not done again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from keyfluid.cluster import session
from keyfluid.cluster.machine import Machine
from keyfluid.cluster.session import JOB, Ticket, open_parcel, seal_parcel
from keyfluid.crew import Answer
from keyfluid.errors import KeyfluidError
from keyfluid.threads import set_threads

_ready: dict[str, Answer] = {}
"""The function that answers, with its job, by the session's nonce; of the last session only."""


class StrangeWorker(KeyfluidError):
    """A worker that would not give the same bits, or does not see the folder of the run."""


@dataclass(frozen=True)
class WorkerReport:
    """What a worker says of itself before it is given work."""

    machine: Machine
    sees_folder: bool
    memory_bytes: int


def report(folder: str | None, nonce: str) -> WorkerReport:
    """Run on each worker; folder: of a session, to be found there, if any."""
    import psutil

    there = folder is None or session.sees(Path(folder), nonce)
    return WorkerReport(Machine.here(), there, int(psutil.virtual_memory().total))


def do(ticket: Ticket) -> None:
    """A task; the answer is in the folder when this returns, unless nobody waits for it any more."""
    folder = Path(ticket.folder)
    difference = ticket.machine.difference(Machine.here())
    if difference is not None:
        raise StrangeWorker(difference)
    place = folder / f"{ticket.name}.answer"
    if place.exists():
        return
    abandoned = _watch(folder, ticket.nonce)
    try:
        task = open_parcel(folder / f"{ticket.name}.task", ticket.key)
    except OSError:
        if abandoned() and folder.parents[1].is_dir():
            return
        raise StrangeWorker(cannot_see(folder)) from None
    session.sign(folder, ticket.name)
    set_threads(1)
    try:
        found = _answer(ticket)(task, abandoned)
    except KeyfluidError as error:
        found = error
    try:
        if found is not None and session.is_open(folder, ticket.nonce):
            seal_parcel(place, found, ticket.key)
    except OSError as error:
        if session.is_open(folder, ticket.nonce):
            raise KeyfluidError(f"{place}: can't be written: {error.strerror}; free some space") from None


def cannot_see(folder: Path) -> str:
    """The end of a line; folder: of a session."""
    return f"can't see {folder.parents[1]}, or sees another folder there; choose one that all machines share, with -o"


def _answer(ticket: Ticket) -> Answer:
    if ticket.nonce not in _ready:
        answer: Answer = import_module(ticket.module).worker()
        if ticket.has_job:
            answer(open_parcel(Path(ticket.folder) / JOB, ticket.key), lambda: False)
        _ready.clear()
        _ready[ticket.nonce] = answer
    return _ready[ticket.nonce]


def _watch(folder: Path, nonce: str) -> Callable[[], bool]:
    """Whether nobody waits: the session has ended, or the scheduler has called the task off with its client."""
    from distributed import get_worker

    worker = get_worker()
    key = worker.get_current_task()

    def abandoned() -> bool:
        state = worker.state.tasks.get(key)
        return state is None or state.state == "cancelled" or not session.is_open(folder, nonce)

    return abandoned
