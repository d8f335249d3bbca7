"""The smoke of a film, drawn by the paths that the search followed."""

from __future__ import annotations

from collections.abc import Sequence

from keyfluid.controllers.optimised.windows import Window, cuts
from keyfluid.fields import Field
from keyfluid.models.state import State
from keyfluid.operators.follow_paths import FollowPaths, Paths
from keyfluid.problem import Problem


class CarriedFilm:
    """Densities frame by frame, each read at the last cut before it; begins at a frame with a state.

    seams: frames where a window of the search begins, from the carried smoke: the grid's own begins there again, too.
    """

    def __init__(self, problem: Problem, paths: int, windows: Sequence[Window], begin: int, state: State) -> None:
        dt = 1.0 / (problem.fps * (problem.steps_per_frame or 1))
        self._follow = FollowPaths(problem.grid, dt, paths)
        self._start = {name: state[name] for name in problem.densities}
        self._carriers: list[Field] = []
        ends = [window.last for window in windows]
        free = [Window(max([begin, *ends]), problem.frames)]
        self.seams = {frame for frame in ends if frame > begin}
        self._cuts = self.seams | {frame for window in [*windows, *free] for frame in cuts(problem, window)}

    def densities(self, frame: int, carriers: Sequence[Field]) -> dict[str, Field]:
        """The carried smoke at a frame; carriers: of the steps since the frame before."""
        self._carriers.extend(carriers)
        paths = Paths(self._follow, self._carriers)
        found = {name: paths.read(density) for name, density in self._start.items()}
        if frame in self._cuts:
            self._start, self._carriers = found, []
        return found
