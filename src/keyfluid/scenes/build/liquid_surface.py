"""A liquid on the grid: its surface at the start, and what no simulation of it could reach."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from keyfluid.errors import SceneError
from keyfluid.fields import Field, density
from keyfluid.grid import Grid
from keyfluid.operators.redistance import Redistance
from keyfluid.scenes.build.keyframes import FieldPlan, Keyframe
from keyfluid.scenes.build.sources import PlacedBody
from keyfluid.scenes.schema.checks import start_path
from keyfluid.scenes.schema.scene import Scene

_OFF_VOLUME = 0.25
"""Share by which a keyframe's volume may differ from the liquid's before it is refused."""

_MOST_CELLS = 10.0
"""Cells that liquid may have to cross in a step, as the crow flies, before a keyframe is refused."""


def surface_at_start(plan: FieldPlan, grid: Grid, dtype: np.dtype) -> Field:
    """Signed distance to all starts together, metres; positive everywhere if sources bring the first liquid.

    A body's own distance counts its side against a wall as surface; redistancing takes only what borders on air.
    """
    phi = np.full(grid.cells, float(sum(grid.size)))
    for body in plan.bodies:
        phi = np.minimum(phi, body.signed_distance(grid.cells, grid.spacing, 0.0))
    return Redistance(grid).forward(density(grid, phi, dtype))[0]


def liquid_faults(
    scene: Scene, grid: Grid, surface: Field, plan: FieldPlan, keyframes: Sequence[Keyframe]
) -> Iterator[SceneError]:
    """One line for each reason why a liquid can't be where it should."""
    if plan.bodies and not np.any(surface.data < 0):
        yield SceneError(
            start_path(scene, 0), "holds no cell's centre: there is no liquid on this grid; make it larger than a cell"
        )
        return
    centre, before = _middle(grid, plan.start), 0
    for key in keyframes:
        time = key.frame / scene.time.fps
        if isinstance(key.body, PlacedBody) and key.body.leaves_domain(grid, time)[1]:
            yield SceneError(key.path, "reaches outside the walls; move it or make it smaller")
        present = plan.present(key.frame)
        gap = key.mass / present - 1 if present > 0 else 0.0
        if key.mask is None and abs(gap) > _OFF_VOLUME:
            yield SceneError(
                f"{key.path}.mass",
                f"its volume is {key.mass:.4g}, the liquid's {present:.4g}: {100 * gap:+.0f} %; use 'resize', or size "
                "the start with volume = 'first-key'",
            )
        there = _middle(grid, key.target)
        steps = scene.time.steps_per_frame
        if isinstance(steps, int) and centre is not None and there is not None and key.mask is None:
            cells = float(np.linalg.norm(there - centre)) / grid.spacing / max((key.frame - before) * steps, 1)
            if cells > _MOST_CELLS:
                yield SceneError(
                    f"{key.path}.frame",
                    f"the liquid would have to cross {cells:.0f} cells in a step to be there; give it more frames, or "
                    "raise time.steps_per_frame",
                )
            centre, before = there, key.frame


def _middle(grid: Grid, share: np.ndarray) -> np.ndarray | None:
    total = float(np.sum(share, dtype=np.float64))
    if total <= 0:
        return None
    lines = grid.coordinates((False,) * grid.dim)
    return np.array([float(np.sum(share * line, dtype=np.float64)) / total for line in lines])
