"""One number of threads for kernels and transforms. Results never depend on it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from keyfluid.errors import KeyfluidError

LAYERS = ["omp", "tbb", "workqueue"]
"""Numba's threading layers in the order we prefer them: on one machine tbb left its second thread idle."""

_count: int | None = None
_processes: int | None = None


def available() -> int:
    """Cores this process may run on, or NUMBA_NUM_THREADS where that is less."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    wanted = os.environ.get("NUMBA_NUM_THREADS", "")
    return min(cores, int(wanted)) if wanted.isdigit() and int(wanted) else cores


def set_threads(count: int) -> None:
    """Use `count` threads from now on, at most as many as the process started with."""
    global _count
    import numba

    settings: Any = numba.config
    settings.THREADING_LAYER_PRIORITY = LAYERS
    if not 1 <= count <= settings.NUMBA_NUM_THREADS:
        raise KeyfluidError(f"threads: {count} requested, this machine has 1 to {settings.NUMBA_NUM_THREADS}")
    numba.set_num_threads(count)
    _count = count


def set_processes(count: int) -> None:
    """Use at most `count` processes from now on, where work is shared out to them."""
    global _processes
    _processes = count


def processes() -> int:
    """How many processes may be used at once: each does work of its own, so that even small grids gain by them."""
    return _processes if _processes is not None else available()


def threads() -> int:
    """How many threads are in use."""
    return _count if _count is not None else available()


@contextmanager
def as_many_threads_as_processes() -> Iterator[None]:
    """Run kernels that have plenty to do, even on a small grid, on all the cores that processes could use."""
    import numba

    settings: Any = numba.config
    before = numba.get_num_threads()
    numba.set_num_threads(max(before, min(processes(), settings.NUMBA_NUM_THREADS)))
    try:
        yield
    finally:
        numba.set_num_threads(before)


@contextmanager
def one_thread_below(least: int, count: int) -> Iterator[None]:
    """Run kernels on one thread where there are fewer than `least` values: one is done before two have met."""
    import numba

    before = numba.get_num_threads()
    if before == 1 or count >= least:
        yield
        return
    numba.set_num_threads(1)
    try:
        yield
    finally:
        numba.set_num_threads(before)
