"""When to store and when to recompute: the cheapest way to reverse n steps with s places in memory.

A place holds either the state before a step, or the tape of a step (what its adjoint needs); both are about as
large. With n <= s everything is taped at once. Otherwise advance m steps, store that state in one place,
reverse the rest with the s - 1 others, and then the first m steps with all s:

    T(n, s) = n                                              n <= s
    T(n, s) = min over m of  m + T(n - m, s - 1) + T(m, s)   n > s >= 1

T counts forward steps. This is Revolve [Griewank & Walther 2000] with taped stretches at the leaves, which
their model lacks: at s near 2 sqrt(n) it needs one extra forward run, not several. Compare the schedules of the
package checkpoint-schedules, which fix the size of the tape apart from that of the checkpoints.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from keyfluid.errors import KeyfluidError


class Schedule:
    """Optimal splits for up to `steps` steps and `places` places."""

    def __init__(self, steps: int, places: int) -> None:
        if places < 1:
            raise KeyfluidError("schedule: at least one place for a tape is needed")
        self.steps = steps
        self.places = min(places, max(steps, 1))
        self._splits, self._costs = _table(steps, self.places)

    def split(self, steps: int, places: int) -> int:
        """How far to advance before storing a state; 0 means: tape all of these steps."""
        places = min(places, self.places)
        return 0 if steps <= places else int(self._splits[places][steps])

    @property
    def forward_steps(self) -> int:
        """Forward steps that reversing all steps takes, the first run included."""
        return int(self._costs[self.places][self.steps])


@lru_cache(maxsize=8)
def _table(steps: int, places: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    counts = np.arange(steps + 1)
    # One place: every step but the last is run again from the start.
    costs = [np.full(steps + 1, np.iinfo(np.int64).max // 4), counts * (counts + 1) // 2]
    splits = [np.zeros(steps + 1, np.int64), np.maximum(counts - 1, 0)]
    for s in range(2, places + 1):
        cost = counts.astype(np.int64).copy()
        split = np.zeros(steps + 1, np.int64)
        for n in range(s + 1, steps + 1):
            m = counts[1:n]
            total = m + costs[s - 1][n - m] + cost[1:n]
            best = int(np.argmin(total))
            split[n], cost[n] = m[best], total[best]
        costs.append(cost)
        splits.append(split)
    return splits, costs
