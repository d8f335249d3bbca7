"""The smoke of a film, drawn by the paths that the search followed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from keyfluid.controllers.optimised.forces import JoinedForces
from keyfluid.controllers.optimised.gifts import SceneGifts
from keyfluid.controllers.optimised.windows import Window, cut_frames
from keyfluid.fields import Field
from keyfluid.models.state import State
from keyfluid.operators.follow_paths import FollowPaths, Paths
from keyfluid.problem import Problem


class CarriedFilm:
    """Densities frame by frame, each read at the last cut before it; begins at a frame with a state.

    seams: frames where a window of the search begins, from the carried smoke: the grid's own begins there again, too;
    the first one if the control acts later than the film begins.
    """

    def __init__(self, problem: Problem, forces: JoinedForces, begin: int, state: State) -> None:
        self._names, self.seams, self._cuts = tuple(problem.densities), set[int](), set[int]()
        self._follow: FollowPaths | None = None
        self._steps = problem.steps_per_frame or 1
        if forces.paths:
            dt = 1.0 / (problem.fps * self._steps)
            self._gifts = SceneGifts(problem, dt)
            self._follow = FollowPaths(problem.grid, dt, forces.paths, self._gifts.fade)
            parts = [replace(window, ahead=0) for window in forces.windows]
            if parts and begin < parts[0].first:
                parts.insert(0, Window(begin, parts[0].first))
            self.seams = {window.last for window in parts}
            parts.append(Window(max(begin, *self.seams) if self.seams else begin, problem.frames))
            self._cuts = {frame for window in parts for frame in cut_frames(problem, window)}
        self.begin_again(state)

    def begin_again(self, state: State) -> dict[str, Field]:
        """Carry these densities from here on; gives them back."""
        self._start = {name: state[name] for name in self._names}
        self._carriers: list[Field] = []
        return self._start

    def densities(self, frame: int, state: State, carriers: Sequence[Field]) -> Mapping[str, Field]:
        """The carried smoke at a frame; carriers: of the steps since the frame before."""
        if self._follow is None:
            return {name: state[name] for name in self._names}
        self._carriers.extend(carriers)
        paths = Paths(self._follow, self._carriers)
        last = frame * self._steps
        gifts = self._gifts.between(last - len(self._carriers), last)
        found = dict(zip(self._start, paths.read(list(self._start.values()), gifts)))
        return self.begin_again(found) if frame in self._cuts else found
