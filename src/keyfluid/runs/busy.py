"""How busy the machine is."""

from __future__ import annotations

import time

_LOOK = 0.05


def busy() -> float:
    """How many times longer work takes now than if this process had a core for itself; a short look."""
    began, processor = time.perf_counter(), time.process_time()
    while time.process_time() - processor < _LOOK:
        pass
    return max(1.0, (time.perf_counter() - began) / _LOOK)
