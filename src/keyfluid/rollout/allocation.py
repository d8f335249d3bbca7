"""Whether freed large arrays are returned to the system or held for the next ones.

By default glibc raises the size above which it maps arrays one by one, up to 32 MB, and puts smaller ones on one heap
that fragments: a run then holds two or three times the memory it uses. Returned to the system, the pages of every array
must be cleared again: a third of the time of a gradient at 128^3.
"""

from __future__ import annotations

import ctypes
import sys

LARGE_ARRAY = 4 << 20
"""Size in bytes from which an array is returned to the system as soon as it is freed."""
PLENTY = 3
"""Freed arrays are held if the machine has this many times the planned memory."""
WORTH_HOLDING = 256 << 20
"""Planned bytes from which clearing pages costs time; below it, holding arrays only wastes memory."""
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_NEVER = (1 << 31) - 1


def give_back_large_arrays() -> None:
    """Map large arrays one by one: a run holds no more than it uses."""
    _set(_M_MMAP_THRESHOLD, LARGE_ARRAY)


def hold_large_arrays() -> None:
    """Keep freed arrays on the heap: faster, where memory is plentiful."""
    _set(_M_MMAP_THRESHOLD, 1 << 30)
    _set(_M_TRIM_THRESHOLD, _NEVER)


def choose_allocation(planned: int, limit: int | None) -> None:
    """Hold freed arrays of a large run if the machine has several times the planned bytes; None: not known."""
    if limit is not None and planned >= WORTH_HOLDING and PLENTY * planned < limit:
        hold_large_arrays()
    else:
        give_back_large_arrays()


def _set(option: int, value: int) -> None:
    if sys.platform == "linux":
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
        if mallopt is not None:
            mallopt(option, value)
