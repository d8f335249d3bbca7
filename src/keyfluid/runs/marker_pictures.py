"""Frames of method "particles" as pictures of their markers."""

from __future__ import annotations

from typing import Any

import numpy as np

from keyfluid.controllers.particles.settings import ParticleNumbers
from keyfluid.render.colour import parse_colour
from keyfluid.render.lighting import OPTICAL_DEPTH
from keyfluid.render.markers import (
    BLEND,
    MarkerCloud,
    Shades,
    blended,
    render_markers,
    shade_key,
    shades_of,
    speed_colours,
)
from keyfluid.render.view import View
from keyfluid.runs.frames import Frame, Frames
from keyfluid.scenes.build.problem import BuiltScene


class MarkerPainter:
    """Draws frames that hold markers; keeps the light of the last few, which the next ones blend with."""

    def __init__(self, problem: BuiltScene) -> None:
        self.problem = problem
        self._kept: dict[int, Shades] = {}

    @property
    def can_draw(self) -> bool:
        """Only 3D has depth to shade; obstacles are drawn with the densities."""
        problem = self.problem
        return problem.scene.control.method == "particles" and problem.grid.dim == 3 and not problem.scene.obstacle

    @property
    def extinction(self) -> float:
        given = self.problem.scene.light.extinction
        return float(given) if given is not None else OPTICAL_DEPTH / max(self.problem.grid.size)

    def picture(self, frames: Frames, index: int, view: View) -> np.ndarray:
        cloud = self.cloud(frames[index])
        stored = set(frames.store.indices())
        wanted = [i for i in range(index, index - len(BLEND), -1) if i in stored]
        shades = [self._shades(frames, i, view, cloud if i == index else None) for i in wanted]
        self._kept = {i: self._kept[i] for i in wanted}
        return render_markers(cloud, blended(shades), view, self.extinction)

    def cloud(self, frame: Frame) -> MarkerCloud:
        """The markers of a frame, all kinds of smoke together."""
        problem = self.problem
        control: Any = problem.scene.control
        settings = ParticleNumbers.of(control, problem.grid)
        positions, colours, volumes = [], [], []
        for name in problem.densities:
            positions.append(frame.particles[f"{name}.markers"])
            volumes.append(frame.meta["memory"]["clouds"][name]["marker_mass"] / problem.peaks[name])
            if control.colour == "speed":
                # Twice the speed at which damping holds the full attraction.
                top = 2 * settings.strength / max(settings.damping, 1e-6)
                colours.append(speed_colours(frame.particles[f"{name}.markers_before"], top))
            else:
                colours.append(parse_colour(problem.colours[name]))  # type: ignore[arg-type]
        return MarkerCloud.of(positions, colours, volumes)

    def _shades(self, frames: Frames, index: int, view: View, cloud: MarkerCloud | None) -> Shades:
        if index not in self._kept:
            scene = self.problem.scene
            cloud = cloud or self.cloud(frames[index])
            word = shade_key(scene.seed, index)
            self._kept[index] = shades_of(cloud, view.light, view.up, self.extinction, word)
        return self._kept[index]
