"""Best-of-several timing, and a word on what the machine was doing meanwhile."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

TICKS = 0.3
"""Seconds to run at least. Linux books the time of a thread that keeps running on another core at its clock ticks,
some milliseconds apart: over one short run processor over wall time may come out as 1 or as 2.3 for two threads."""


@dataclass(frozen=True)
class Timing:
    """Best wall seconds of the repeats, and processor over wall time of all of them together.

    A thread that waits for its next task spins, and counts as busy: only the speed-up tells what a thread did.
    """

    seconds: float
    parallelism: float

    def nanoseconds(self, cells: int) -> float:
        return self.seconds * 1e9 / cells


def best(work: Callable[[], object], repeats: int = 7) -> Timing:
    """The fastest of `repeats` runs or more, after one that does not count (compilation, caches)."""
    work()
    start, cpu = time.perf_counter(), time.process_time()
    runs: list[float] = []
    while len(runs) < repeats or time.perf_counter() - start < TICKS:
        before = time.perf_counter()
        work()
        runs.append(time.perf_counter() - before)
    return Timing(min(runs), (time.process_time() - cpu) / (time.perf_counter() - start))


def machine() -> str:
    """Processor, cores and load, for the head of a table."""
    name = "unknown processor"
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            name = next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return f"{name}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"


def commit() -> str:
    """What is measured: the commit of this tree, and whether it has changes."""
    command = ["git", "describe", "--always", "--dirty=, changed"]
    done = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


def table(rows: list[dict[str, object]]) -> str:
    """Rows as a Markdown table; the keys of the first are the columns."""
    columns = list(rows[0])
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    lines += ["| " + " | ".join(_text(row.get(column, "")) for column in columns) + " |" for row in rows]
    return "\n".join(lines)


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"
    return str(value)
