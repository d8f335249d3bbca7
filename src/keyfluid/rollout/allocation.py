"""What becomes of large arrays that are freed: given back to the system, or held for the next ones.

Left alone, glibc raises the size from which arrays are mapped one by one to 32 MB as they come and go, and puts those
below it on one heap, whose gaps nothing else fits: a run then holds up to two or three times what it uses. Given back,
every array costs the system's clearing of its pages once more: a third of the time of a gradient at 128^3.
"""

from __future__ import annotations

import ctypes
import sys

LARGE_ARRAY = 4 << 20
"""Bytes from which an array is given back to the system as soon as it is freed."""
PLENTY = 3
"""Times the plan that a machine must have before freed arrays are held."""
WORTH_HOLDING = 256 << 20
"""Planned bytes from which clearing pages is felt; a smaller run would hold two or three times its plan for nothing."""
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
    """Hold freed arrays of a large run where the machine has several times the planned bytes; None: not known to."""
    if limit is not None and planned >= WORTH_HOLDING and PLENTY * planned < limit:
        hold_large_arrays()
    else:
        give_back_large_arrays()


def _set(option: int, value: int) -> None:
    if sys.platform == "linux":
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
        if mallopt is not None:
            mallopt(option, value)
