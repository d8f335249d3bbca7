"""An objective of densities that are carried along exact paths instead of by the grid.

    phi = sum_k phi_k(rho_k),   rho_k = rho_0 carried along paths to step k (operators/follow_paths.py)

Paths begin again at some steps, `cuts`: there the carried smoke is put on the grid and read again. That keeps the work
of several keyframes proportional to the steps between them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from keyfluid.fields import Field
from keyfluid.models.state import Bars, State, add_bars
from keyfluid.operators.follow_paths import FollowPaths, Gifts, Paths
from keyfluid.rollout.rollout import Objective


class CarriedObjective:
    """part: looks at densities only; start: those before the first step; cuts: steps where paths begin, from the first
    of all steps to the last; gifts: of sources, for steps from one to another, one mapping for each density.

    It is a path objective (rollout/rollout.py).
    """

    def __init__(
        self,
        part: Objective,
        follow: FollowPaths,
        start: Mapping[str, Field],
        cuts: Sequence[int],
        gifts: Callable[[int, int], Sequence[Gifts]],
    ) -> None:
        self.part, self._follow, self._start, self._cuts, self._gifts = part, follow, dict(start), cuts, gifts
        self._looks = sorted(part.steps())

    def term(self, carriers: Sequence[Field]) -> tuple[float, Callable[[], Sequence[Field]]]:
        value, spans = 0.0, dict[int, list[_Way]]()
        for way in self._ways(carriers, self._looks):
            if way.end in self._looks:
                more, bars = self.part.term(way.end, way.densities)
                value += more
                way.bars.update(bars)
            spans.setdefault(way.begin, []).append(way)
        return value, lambda: self._pushes(carriers, spans)

    def _pushes(self, carriers: Sequence[Field], spans: Mapping[int, Sequence[_Way]]) -> Sequence[Field]:
        """The derivative by each carrier, from the last way to the first."""
        pushes = [carrier.zeros_like() for carrier in carriers]
        back: Bars = {}
        for begin, ways in reversed(list(spans.items())):
            add_bars(ways[-1].bars, back)
            back = {}
            for way in ways:
                if not way.bars:
                    continue
                start = list(way.start.values())
                ends = [way.bars[name] if name in way.bars else way.start[name].zeros_like() for name in way.start]
                found = way.paths.adjoint(start, ends, self._gifts(begin, way.end))
                add_bars(back, dict(zip(way.start, found)))
                for step, push in enumerate(found[len(start) :], begin - self._cuts[0]):
                    pushes[step].data[:] += push.data
        return pushes

    def densities(self, carriers: Sequence[Field], steps: Iterable[int]) -> dict[int, State]:
        """The carried densities after some numbers of steps."""
        return {self._cuts[0]: self._start, **{way.end: way.densities for way in self._ways(carriers, steps)}}

    def _ways(self, carriers: Sequence[Field], steps: Iterable[int]) -> Iterator[_Way]:
        """Paths to some steps, and to the cuts before the last of them."""
        here, first, wanted = self._start, self._cuts[0], {*steps}
        for begin, end in pairwise(self._cuts):
            if begin >= max(wanted):
                return
            start = here
            for step in sorted({end, *(step for step in wanted if begin < step <= end)}):
                paths = Paths(self._follow, carriers[begin - first : step - first])
                here = dict(zip(start, paths.read(list(start.values()), self._gifts(begin, step))))
                yield _Way(begin, step, start, paths, here, {})


class _Way(NamedTuple):
    """Paths from one step to another, the densities at both ends, and the derivatives by the latter."""

    begin: int
    end: int
    start: State
    paths: Paths
    densities: State
    bars: Bars
