"""An objective of densities that are carried along exact paths instead of by the grid.

    phi = sum_k phi_k(rho_k),   rho_k = rho_0 carried along paths to step k (operators/follow_paths.py)

Paths begin again at some steps, `cuts`: there the carried smoke is put on the grid and read again. That keeps the work
of several keyframes proportional to the steps between them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from keyfluid.fields import Field
from keyfluid.operators.follow_paths import FollowPaths, Gifts, Paths
from keyfluid.rollout.rollout import Objective


class CarriedObjective:
    """part: looks at densities only; start: those before step `first`; cuts: between the first step and the last look;
    gifts: of sources, for steps from one to another, one mapping for each density.

    It is a path objective (rollout/rollout.py).
    """

    def __init__(
        self,
        part: Objective,
        follow: FollowPaths,
        start: Mapping[str, Field],
        first: int,
        cuts: Iterable[int],
        gifts: Callable[[int, int], Sequence[Gifts]],
    ) -> None:
        self.part, self._follow, self._start, self._first = part, follow, dict(start), first
        self._gifts = gifts
        self._looks = sorted(part.steps())
        inside = {cut for cut in cuts if first < cut < self._looks[-1]}
        self._spans = list(pairwise([first, *sorted(inside), self._looks[-1]]))

    def term(self, carriers: Sequence[Field]) -> tuple[float, Sequence[Field]]:
        value, here = 0.0, self._start
        spans: list[_Span] = []
        for begin, end in self._spans:
            span = _Span(begin, here, {})
            for look in sorted({*(step for step in self._looks if begin < step <= end), end}):
                paths = Paths(self._follow, carriers[begin - self._first : look - self._first])
                here = dict(zip(span.start, paths.read(list(span.start.values()), self._gifts(begin, look))))
                bars: Mapping[str, Field] = {}
                if look in self._looks:
                    more, bars = self.part.term(look, here)
                    value += more
                span.ends[look] = paths, dict(bars)
            spans.append(span)
        pushes = [carrier.zeros_like() for carrier in carriers]
        back: dict[str, Field] = {}
        for span in reversed(spans):
            paths, last = span.ends[max(span.ends)]
            _add(last, back)
            back = {}
            for look, (paths, bars) in span.ends.items():
                if not bars:
                    continue
                start = list(span.start.values())
                ends = [bars[name] if name in bars else density.zeros_like() for name, density in span.start.items()]
                found = paths.adjoint(start, ends, self._gifts(span.begin, look))
                _add(back, dict(zip(span.start, found)))
                for step, push in zip(range(span.begin, look), found[len(start) :]):
                    pushes[step - self._first].data[:] += push.data
        return value, pushes

    def densities(self, carriers: Sequence[Field], steps: Iterable[int]) -> dict[int, dict[str, Field]]:
        """The carried densities after some numbers of steps."""
        found, here = {}, self._start
        wanted = {*steps}
        for begin, end in self._spans:
            start = here
            for look in sorted({*(step for step in wanted if begin < step <= end), end}):
                paths = Paths(self._follow, carriers[begin - self._first : look - self._first])
                here = dict(zip(start, paths.read(list(start.values()), self._gifts(begin, look))))
                found[look] = here
        return {self._first: self._start, **found}


class _Span(NamedTuple):
    """Paths that begin together: the step, the densities there, and by the step where they end the paths and the
    derivatives by what they carried."""

    begin: int
    start: Mapping[str, Field]
    ends: dict[int, tuple[Paths, dict[str, Field]]]


def _add(bars: dict[str, Field], more: Mapping[str, Field]) -> None:
    for name, bar in more.items():
        bars[name] = bars[name] + bar if name in bars else bar
