"""A connection to a Dask cluster, and the checks before it is given work. Whatever is wrong is one line, soon."""

from __future__ import annotations

import asyncio
import logging
import ssl
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from keyfluid.cluster.addresses import is_encrypted, require_address
from keyfluid.cluster.certificates import INSTALL, certificates_folder, security
from keyfluid.cluster.machine import Machine
from keyfluid.controllers.method import Workers
from keyfluid.crew import Crew, Hire
from keyfluid.errors import KeyfluidError
from keyfluid.io.run.owned import OwnedFolder
from keyfluid.io.run.run_folder import RunFolder

if TYPE_CHECKING:
    from distributed import Client

    from keyfluid.cluster.at_work import WorkerReport

_Found = TypeVar("_Found")

_CONNECT, _REPORT = 5.0, 60.0
"""Seconds for the scheduler to answer, and for all workers to say what they are: new ones import first."""


class Cluster:
    """Workers of a cluster. They have been compared with this machine."""

    def __init__(self, client: Client, address: str) -> None:
        self._client, self.address = client, address
        reports = self._reports(None, "")
        mine = Machine.here()
        for worker, found in reports.items():
            difference = mine.difference(found.machine)
            if difference is not None:
                raise KeyfluidError(f"--cluster {address}: worker {worker} {difference}")
        self.workers = self._count(reports)

    def hiring(self, folder: RunFolder) -> Hire:
        """Gets crews for the run in a folder; raises if a worker does not see it."""
        assert folder.owned is not None, "opened for reading"
        return self.hiring_in(folder.owned)

    def hiring_in(self, owned: OwnedFolder) -> Hire:
        """The same for any folder that is ours."""
        from keyfluid.cluster.at_work import cannot_see
        from keyfluid.cluster.session import Session

        session = Session(owned)
        try:
            for worker, found in self._reports(str(session.folder), session.nonce).items():
                if not found.sees_folder:
                    raise KeyfluidError(f"--cluster {self.address}: worker {worker} {cannot_see(session.folder)}")
        finally:
            session.close()
        return partial(self._crew, owned)

    def _crew(self, owned: OwnedFolder, module: str, check: Callable[[], None], job: object = None) -> Crew:
        from keyfluid.cluster.dask_crew import DaskCrew

        return DaskCrew(self._client, self.address, owned, module, check, job)

    def _reports(self, folder: str | None, nonce: str) -> dict[str, WorkerReport]:
        """What each worker says of itself; those that are at work answer too."""
        from keyfluid.cluster.at_work import report

        try:
            found = _within(_REPORT, partial(self._client.run, report, folder, nonce, on_error="return"))
        except (Exception, asyncio.CancelledError) as error:
            reason = f" ({type(error).__name__})" if not isinstance(error, TimeoutError) else ""
            raise KeyfluidError(
                f"--cluster {self.address}: a worker did not answer in {_REPORT:.0f} s{reason}; restart the cluster"
            ) from None
        for worker, answer in found.items():
            if isinstance(answer, BaseException):
                raise KeyfluidError(
                    f"--cluster {self.address}: worker {worker} can't use keyfluid "
                    f"({type(answer).__name__}: {answer}); install the same version there"
                )
        return found

    def _count(self, reports: dict[str, WorkerReport]) -> Workers:
        """How many there are, and the memory that each may use: its limit, or its share of its machine."""
        known = self._client.scheduler_info(n_workers=-1)["workers"]
        hosts = Counter(entry["host"] for entry in known.values())
        shares = []
        for worker, entry in known.items():
            if entry["nthreads"] != 1:
                raise KeyfluidError(
                    f"--cluster {self.address}: worker {worker} has {entry['nthreads']} threads; "
                    "start workers with --nthreads 1, as many as there are cores"
                )
            if worker in reports:
                shares.append(entry.get("memory_limit") or reports[worker].memory_bytes // hosts[entry["host"]])
        return Workers(len(shares), min(shares))


@contextmanager
def connected(address: str, certificates: Path | None = None, insecure: bool = False) -> Iterator[Cluster]:
    """A cluster as long as the block lasts; raises one line if it can't be reached or used."""
    warning = require_address(address, insecure)
    try:
        import distributed  # noqa: F401
    except ImportError:
        raise KeyfluidError(f"--cluster: requires Dask; install it: {INSTALL}") from None
    if warning is not None:
        print(f"warning: {warning}", file=sys.stderr)
    secure = security(certificates_folder(certificates)) if is_encrypted(address) else None
    _be_quiet()
    client = _client(address, secure)
    try:
        try:
            client.wait_for_workers(1, timeout=_CONNECT)
        except TimeoutError:
            raise KeyfluidError(f"--cluster {address}: has no workers; start some: dask worker {address}") from None
        yield Cluster(client, address)
    finally:
        with suppress(Exception):
            client.close(timeout=2)


def _client(address: str, secure: Any) -> Client:
    """Connected. Somebody answers there: without a try first, a client that can't connect keeps trying in the end."""
    import dask
    from distributed import Client

    began = time.monotonic()
    with dask.config.set({"distributed.comm.timeouts.connect": _CONNECT}):
        try:
            _within(_CONNECT, lambda: asyncio.run(_try(address, secure)))
            return Client(address, security=secure, timeout=_CONNECT, set_as_default=False, direct_to_workers=False)
        except (OSError, TimeoutError) as error:
            if _is_about_certificates(error):
                raise KeyfluidError(
                    f"--cluster {address}: refused the certificate; give the folder of the cluster's own one with "
                    "--certificates"
                ) from None
            if time.monotonic() - began < _CONNECT / 2:
                raise KeyfluidError(
                    f"--cluster {address}: hung up; check the address, a cluster with TLS has one with tls://"
                ) from None
            raise KeyfluidError(
                f"--cluster {address}: did not answer in {_CONNECT:.0f} s; check the address, and whether the cluster "
                "runs"
            ) from None
        except (Exception, MemoryError):  # whatever Dask makes of bytes that it does not know
            kind = "with TLS" if secure is not None else "without TLS"
            raise KeyfluidError(f"--cluster {address}: is not a scheduler of Dask {kind}; check the address") from None


def _is_about_certificates(error: BaseException | None) -> bool:
    while error is not None and not isinstance(error, ssl.SSLError):
        error = error.__cause__ or error.__context__
    return error is not None


def _within(seconds: float, do: Callable[[], _Found]) -> _Found:
    """What a function gives; raises TimeoutError if it takes longer, and leaves it behind.

    Dask has limits of its own, but waits for ever to say goodbye to somebody who took the call and says nothing.
    """
    found: list[_Found] = []
    failed: list[BaseException] = []

    def doing() -> None:
        try:
            found.append(do())
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=doing, daemon=True)
    thread.start()
    thread.join(seconds)
    if failed:
        raise failed[0]
    if not found:
        raise TimeoutError
    return found[0]


async def _try(address: str, secure: Any) -> None:
    from distributed.comm import connect

    arguments = secure.get_connection_args("client") if secure is not None else {}
    comm = await connect(address, timeout=_CONNECT - 1, **arguments)
    comm.abort()


def _be_quiet() -> None:
    """What goes wrong is reported in our own words."""
    for name in ("distributed", "tornado", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
