"""Waiting for something to happen, instead of for some time to pass."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE = 120.0
"""Seconds after which what was waited for will not come; a busy machine needs a few."""


def wait_until(condition: Callable[[], object], what: str, patience: float = PATIENCE) -> None:
    """Return as soon as the condition holds; fail, with `what` was waited for, if it does not in time."""
    deadline = time.monotonic() + patience
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {patience:g} s in vain: {what}")
        time.sleep(0.002)
