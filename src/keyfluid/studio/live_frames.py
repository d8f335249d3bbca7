"""A frame of a live run in as few bytes as a page needs to show it.

2D    density of each field, a byte per cell
3D    points of each field, 16 bits per axis: fractions of the domain. Markers of particles are such points; a
      density is scattered: a cell shows those of its points whose fixed random threshold its density exceeds, so
      that a point stays where it is while there is smoke around it
"""

from __future__ import annotations

from typing import Any

import numpy as np

from keyfluid.render.colour import parse_colour, to_srgb
from keyfluid.runs.live import LiveRun
from keyfluid.studio.arrays import as_bytes, packed

MOST_POINTS = 200_000
_SCATTERED = 400_000
"""Points that a domain full of smoke would show."""
_FULL = 65535.0


class FramePacker:
    """Packs the frames of a live run."""

    def __init__(self, live: LiveRun) -> None:
        problem = live.problem
        self.grid, self.peaks = problem.grid, problem.peaks
        self._scatter: _Scatter | None = None
        self.fields = [{"name": name, "colour": _bytes_of(problem.colours.get(name, "white"))} for name in self.peaks]

    def pack(self, live: LiveRun, numbers: dict[str, Any]) -> bytes:
        """The frame where `live` stands; `numbers` go into the header."""
        arrays: dict[str, np.ndarray] = {}
        for name, peak in self.peaks.items():
            if self.grid.dim == 2:
                arrays[f"density:{name}"] = as_bytes(live.density(name), peak)
            elif live.problem.method == "particles":
                arrays[f"points:{name}"] = self._fractions(live.markers(name))
            else:
                self._scatter = self._scatter or _Scatter(self.grid.cells)
                arrays[f"points:{name}"] = self._scatter.points(live.density(name) / peak)
        return packed({"frame": live.frame, **numbers}, arrays)

    def _fractions(self, position: np.ndarray) -> np.ndarray:
        """Metres (3, n) to fractions of the domain, at most MOST_POINTS of them."""
        chosen = position[:, :: -(-position.shape[1] // MOST_POINTS) or 1]
        out = np.empty((chosen.shape[1], 3), np.uint16)
        for axis, size in enumerate(self.grid.size):
            np.clip(chosen[axis] * (_FULL / size), 0, _FULL, out=out[:, axis], casting="unsafe")
        return out.T


class _Scatter:
    """Points of a density."""

    def __init__(self, cells: tuple[int, ...]) -> None:
        random = np.random.default_rng(1)
        self.repeats = max(1, _SCATTERED // int(np.prod(cells)))
        self.cells = np.array(cells, np.float32)
        self.thresholds = random.uniform(0.02, 1.0, (self.repeats, *cells)).astype(np.float32)
        self.offsets = random.uniform(0.0, 1.0, (4096, 3)).astype(np.float32)

    def points(self, share: np.ndarray) -> np.ndarray:
        """(3, n) of a density over its peak."""
        found = np.argwhere(share[None] > self.thresholds)[: MOST_POINTS * 4]
        numbers = (found @ np.array([7919, 104729, 1299709, 15485863])) % len(self.offsets)
        fractions = (found[:, 1:] + self.offsets[numbers]) / self.cells
        return (fractions[:: -(-len(fractions) // MOST_POINTS) or 1] * np.float32(_FULL)).astype(np.uint16).T


def _bytes_of(colour: Any) -> list[int]:
    """sRGB, 0 to 255."""
    return [int(v) for v in np.round(255 * to_srgb(parse_colour(colour)))]
