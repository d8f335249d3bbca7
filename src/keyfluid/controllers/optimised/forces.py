"""The forces of several windows as one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from keyfluid.controllers.optimised.windows import Window
from keyfluid.controls import Control
from keyfluid.fields import Field

Forces = Callable[[int], Field | None]
"""The force of a step."""


class JoinedForces:
    """The forces of several controls, each in its own window; steps: of a frame; under: forces that act beside them, by
    step; paths: of a cell, along which smoke is carried under them (0: by the grid)."""

    def __init__(self, steps: int, under: Forces | None = None, paths: int = 0) -> None:
        self.steps, self.paths = steps, paths
        self.parts: list[tuple[Control, np.ndarray]] = []
        self.windows: list[Window] = []
        self._under = under

    def force(self, step: int) -> Field | None:
        total = self._under(step) if self._under is not None else None
        for control, vector in self._at(step):
            force = control.force(vector, step)
            if force is not None:
                total = force if total is None else total + force
        return total

    def coefficients(self, step: int) -> np.ndarray:
        """Coefficients of the force at a step; requires that all controls have one basis and one of them acts."""
        parts = [mixed for control, vector in self._at(step) if (mixed := control.mixed(vector, step)) is not None]
        return parts[0]

    def source(self, step: int) -> Field | None:
        """What is added to a liquid's level set."""
        total: Field | None = None
        for control, vector in self._at(step):
            source = control.source(vector, step)
            if source is not None:
                total = source if total is None else total + source
        return total

    def _at(self, step: int) -> list[tuple[Control, np.ndarray]]:
        """The controls whose windows have this step; what a window found for frames ahead of it does not count."""
        return [part for part, window in zip(self.parts, self.windows) if step < window.last * self.steps]

    def and_then(self, control: Control, vector: np.ndarray, window: Window) -> JoinedForces:
        """These, and one more for a window of time."""
        more = JoinedForces(self.steps, self._under, self.paths)
        more.parts = [*self.parts, (control, vector)]
        more.windows = [*self.windows, window]
        return more
