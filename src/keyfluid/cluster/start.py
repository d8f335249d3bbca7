"""A cluster on this machine: a scheduler and its workers on loopback, until somebody stops it.

Scheduler and nannies live in this process. Workers end with it, however it ends: each has a pipe to it, and leaves when
that closes. A worker that dies is started again.
"""

from __future__ import annotations

import logging
import signal
import threading
from pathlib import Path

from keyfluid.cluster.certificates import CERTIFICATE, INSTALL, KEY, certificates_folder, make_certificates, security
from keyfluid.errors import KeyfluidError

_FAILURES = 10
"""Workers that may die with a task before it is given up; tasks that only waited for them count too."""


def start(workers: int, port: int = 0, certificates: Path | None = None, insecure: bool = False) -> None:
    """Print the scheduler's address and wait for Ctrl-C or a termination signal; port 0: any that is free."""
    try:
        import dask
        from distributed import LocalCluster
    except ImportError:
        raise KeyfluidError(f"cluster start: requires Dask; install it: {INSTALL}") from None
    secure = None
    if not insecure:
        folder = certificates_folder(certificates)
        if not (folder / CERTIFICATE).exists() and not (folder / KEY).exists():
            make_certificates(folder)
        secure = security(folder)
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    logging.getLogger("distributed").setLevel(logging.CRITICAL + 1)
    with dask.config.set({"distributed.scheduler.allowed-failures": _FAILURES}):
        try:
            cluster = LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                processes=True,
                host="127.0.0.1",
                protocol="tcp://" if insecure else "tls://",
                security=secure,
                scheduler_port=port,
                dashboard_address=None,
                memory_limit=0,
                silence_logs=logging.CRITICAL + 1,
                preload="keyfluid.cluster.at_work",  # imported before the first task
            )
        except OSError as error:
            raise KeyfluidError(f"--port {port}: can't be used: {error.strerror or error}; choose another") from None
        with cluster:
            print(cluster.scheduler_address, flush=True)
            while not stop.wait(0.5):
                pass
