"""What a run holds of the machine's memory."""

from __future__ import annotations

import sys


def peak_memory_mb() -> float:
    """The most memory this process ever held."""
    try:
        import resource
    except ImportError:
        return 0.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (1 << 20 if sys.platform == "darwin" else 1 << 10), 1)
