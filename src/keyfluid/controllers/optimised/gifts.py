"""What the sources of a scene give to smoke that is carried along paths."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from keyfluid.fields import density
from keyfluid.models.air import Air
from keyfluid.operators.follow_paths import Gift, Gifts
from keyfluid.problem import Problem


class SceneGifts:
    """The sources of a scene in steps of dt seconds; fade: what dissipation leaves of smoke after a step."""

    def __init__(self, problem: Problem, dt: float) -> None:
        air = Air(dissipation=problem.fluid.dissipation)
        self.problem, self.dt, self._growth = problem, dt, air.growth(dt)
        self.fade = float(np.exp(-problem.fluid.dissipation * dt))
        self._known: dict[tuple[str, tuple[int, ...]], Gift] = {}

    def between(self, begin: int, end: int) -> Sequence[Gifts]:
        """For each density the gifts of steps `begin` to `end`, numbered from `begin`."""
        found = []
        for name in self.problem.densities:
            acting = {step - begin: self._acting(name, step) for step in range(begin, end)}
            found.append({step: self._gift(name, sources) for step, sources in acting.items() if sources})
        return found

    def _acting(self, name: str, step: int) -> tuple[int, ...]:
        """The sources of a density in a step, by their place."""
        return tuple(
            place
            for place, source in enumerate(self.problem.sources)
            if source.field == name
            and (source.density is not None or source.rate is not None)
            and source.active(step * self.dt, self.problem.fps)
        )

    def _gift(self, name: str, places: Sequence[int]) -> Gift:
        """Held regions in the scene's order, then what is added at a rate: as in a step of the grid."""
        key = (name, tuple(places))
        if key not in self._known:
            grid, dtype = self.problem.grid, self.problem.dtype
            keep, gain = np.ones(grid.cells), np.zeros(grid.cells)
            sources = [self.problem.sources[place] for place in places]
            for source in sources:
                if source.density is not None:
                    keep, gain = keep * (1 - source.mask), gain * (1 - source.mask) + source.mask * source.density
            for source in sources:
                if source.rate is not None:
                    gain = gain + source.rate * self._growth * source.mask
            self._known[key] = Gift(density(grid, gain, dtype), density(grid, keep, dtype))
        return self._known[key]
