"""What a run holds of the machine's memory."""

from __future__ import annotations

import ctypes
import sys

LARGE_ARRAY = 4 << 20
"""Bytes from which an array is given back to the system as soon as it is freed."""
_M_MMAP_THRESHOLD = -3


def give_back_large_arrays() -> None:
    """Tell the C library to map large arrays one by one.

    Left alone, glibc raises the limit for that to 32 MB as large arrays come and go, and puts those below it on one
    heap, whose gaps nothing else fits: a run then holds two or three times what it uses.
    """
    if sys.platform == "linux":
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
        if mallopt is not None:
            mallopt(_M_MMAP_THRESHOLD, LARGE_ARRAY)


def peak_memory_mb() -> float:
    """The most memory this process ever held."""
    try:
        import resource
    except ImportError:
        return 0.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (1 << 20 if sys.platform == "darwin" else 1 << 10), 1)
