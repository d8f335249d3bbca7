"""How much memory reading one file may take: counted before anything is allocated, the same for every reader.

A small file can promise a huge array (two voxels far apart, a count in a header). Readers work out what the file's
own numbers imply, conversions and temporaries included, and ask a `Budget` first.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from keyfluid.errors import KeyfluidError

MOST_BYTES = 2 << 30
_SHARE_OF_MACHINE = 2
_CONTAINER_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def memory_of_machine() -> int | None:
    """Bytes this process may use: those of the machine, or of its container if that is less."""
    found = []
    with suppress(OSError, ValueError, AttributeError):
        found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    for name in _CONTAINER_LIMITS:
        with suppress(OSError, ValueError):
            found.append(int(Path(name).read_text()))
    return min(found, default=None)


def reader_budget() -> int:
    """Bytes that reading one file may take: 2 GiB, or half of what the machine or its container has."""
    machine = memory_of_machine()
    return MOST_BYTES if machine is None else min(MOST_BYTES, machine // _SHARE_OF_MACHINE)


class Budget:
    """Counts the bytes of arrays before they are made; what would exceed the limit is refused.

    limit_bytes: None takes `reader_budget()`.
    advice: what the user can do about a file that is too large, as an order.
    """

    def __init__(self, limit_bytes: int | None = None, advice: str = "make it smaller") -> None:
        self.limit = reader_budget() if limit_bytes is None else limit_bytes
        self.advice = advice
        self.used = 0

    def spend(self, count: float, purpose: str) -> None:
        """Count bytes that stay in use until the file has been read."""
        self.require(count, purpose)
        self.used += int(count)

    def require(self, count: float, purpose: str) -> None:
        """Check that so many more bytes would fit, for arrays that are soon given back."""
        total = self.used + count
        if not total <= self.limit:
            raise KeyfluidError(
                f"{purpose} would raise memory use to {total / 2**20:.6g} MiB, above the limit of "
                f"{self.limit / 2**20:.6g} MiB; {self.advice}"
            )

    def for_one_of_many(self) -> Budget:
        """A budget for one file of several: what it spends does not count for the files after it."""
        part = Budget(self.limit, self.advice)
        part.used = self.used
        return part


@contextmanager
def enough_memory(name: str) -> Iterator[None]:
    """Turn a MemoryError into the one line that names the file (`name`) and says what to do."""
    try:
        yield
    except MemoryError:
        raise KeyfluidError(f"{name}: not enough free memory; close other programs or make it smaller") from None
