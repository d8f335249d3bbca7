"""One thread unless a test is about threads: on tiny grids a second one only waits."""

from __future__ import annotations

import os

# Two threads must be possible on any machine that tests whether they change a bit; Numba reads this once.
os.environ.setdefault("NUMBA_NUM_THREADS", str(max(2, os.cpu_count() or 1)))

import pytest

from keyfluid.threads import set_threads


@pytest.fixture(autouse=True)
def one_thread():
    set_threads(1)
    yield
    set_threads(1)
