"""How busy the machine is."""

from __future__ import annotations

import os
import time
from pathlib import Path

_LOOK = 0.05


def busy() -> float:
    """How many times longer work takes now than if this process had a core for itself; a short look."""
    began, processor = time.perf_counter(), time.process_time()
    while time.process_time() - processor < _LOOK:
        pass
    return max(1.0, (time.perf_counter() - began) / _LOOK)


def idle_cores() -> float | None:
    """How many cores nobody uses now, by a short look; None where the system does not tell."""
    try:
        before = _idle_ticks()
        time.sleep(2 * _LOOK)
        idle, all_ticks = (now - then for now, then in zip(_idle_ticks(), before))
    except (OSError, ValueError, IndexError):
        return None
    return (os.cpu_count() or 1) * idle / all_ticks if all_ticks > 0 else None


def _idle_ticks() -> tuple[int, int]:
    """Ticks since the start that all cores together were idle, and all of them; Linux only."""
    ticks = [int(word) for word in Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()[1:]]
    return ticks[3] + ticks[4], sum(ticks)
