"""What is known to disappoint before a run is waited for: one line each, with what to do.

keyframes that nothing steers to
pictures whose border is bright: paper, not smoke
bodies thinner than the grid can hold
targets whose volume changes from one keyframe to the next
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from keyfluid.grid import Grid
from keyfluid.problem import Keyframe
from keyfluid.scenes.build.deforming import DeformingBody
from keyfluid.scenes.build.obstacles import MovingBody
from keyfluid.scenes.build.sources import PlacedBody
from keyfluid.scenes.schema.scene import Scene
from keyfluid.shapes import AnalyticShape, ImageDrawing, Mesh, Placement

LEAST_SOLID, LEAST_BODY = 3.0, 2.0
"""Cells that a solid, and any other body, must be thick to have their shape on the grid."""

MOST_GROWTH = 1.4
"""How many times a target's volume over the fluid's may grow from one keyframe to another."""

_BRIGHT = 0.5
_SAMPLES = {2: 129, 3: 33}
"""Points per axis at which the depth of a shape is looked for."""


def unsteered(scene: Scene) -> Iterator[str]:
    """Targets in a scene whose method steers nothing."""
    if scene.control.method != "none":
        return
    for name in ("keyframe", "picture", "flow"):
        if getattr(scene, name):
            use = scene.fluid.steered_by if name == "keyframe" else "adjoint"
            yield (
                f'{name}: method "none" steers nothing, so the run only measures how far off it ends; '
                f'set control.method = "{use}", for example'
            )
            return


def bright_border(path: str, body: PlacedBody, inverted: bool | None) -> Iterator[str]:
    """A picture whose background, not its drawing, would become smoke."""
    if not isinstance(body.source, ImageDrawing):
        return
    pixels = body.source.pixels
    border = np.concatenate([pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]])
    if float(np.median(border)) > _BRIGHT:
        change = "remove invert" if inverted else "set invert = true"
        yield (
            f"{path}.image: its border is bright, and bright means smoke, so the paper would become smoke instead of "
            f"the drawing; {change}, or give the picture an alpha channel"
        )


def thin_body(path: str, body: PlacedBody, grid: Grid, resolution: int) -> Iterator[str]:
    """A body of smoke or liquid that no cell is full of."""
    if isinstance(body.source, AnalyticShape | Mesh):
        yield from _thin(path, _thickness(body.source, body.placement, grid), grid, resolution, LEAST_BODY)


def thin_solid(path: str, body: MovingBody | DeformingBody, grid: Grid, resolution: int) -> Iterator[str]:
    """A solid of which the grid has only a layer or two, or nothing."""
    if isinstance(body, DeformingBody):
        return
    yield from _thin(path, _thickness(body.source, body.placement, grid), grid, resolution, LEAST_SOLID)


def changing_volume(keyframes: Sequence[Keyframe], present: Callable[[Keyframe], float], fluid: str) -> Iterator[str]:
    """Targets whose volume over the fluid's grows or shrinks on the way; present: mass of the fluid at a keyframe.

    Volume of a density: (sum of it)^2 / sum of its squares, which is the volume itself for a body of one density.
    """
    fields = dict.fromkeys(key.field for key in keyframes)
    for field in fields:
        shares: dict[int, tuple[float, Keyframe]] = {}
        for key in keyframes:
            if key.field == field and key.mask is None:
                values = key.target.astype(np.float64)
                volume = float(values.sum() ** 2 / np.sum(values * values))
                shares[key.frame] = (volume / present(key), key)
        if not shares:
            continue
        least, most = min(shares.values(), key=_first), max(shares.values(), key=_first)
        growth = most[0] / least[0]
        if growth > MOST_GROWTH:
            first, last = sorted((least[1], most[1]), key=lambda key: key.frame)
            paths = " and ".join(dict.fromkeys([first.path, last.path]))
            resize = ", or mass = 'resize'" if first.path != last.path else ""
            yield (
                f"{paths}: the target's volume changes by a factor of {growth:.2g} between frames {first.frame} and "
                f"{last.frame}, but the {fluid}'s does not: it will be squeezed or thin out; use targets of equal "
                f"volume{resize}"
            )


def _first(pair: tuple[float, Keyframe]) -> float:
    return pair[0]


def _thin(path: str, thickness: float | None, grid: Grid, resolution: int, least: float) -> Iterator[str]:
    if thickness is None:
        return
    cells = thickness / grid.spacing
    if cells < least:
        need = math.ceil(resolution * least / cells) if cells > 0.02 else None
        change = f"set domain.resolution = {need}, or make it thicker" if need else "make it thicker"
        yield f"{path}: is {cells:.2g} cells thick, less than {least:.0f}, and will hardly keep its shape; {change}"


def _thickness(source: AnalyticShape | Mesh, placement: Placement, grid: Grid) -> float | None:
    """Twice the depth of its deepest point, metres; None where that is not looked for (meshes of many cells).

    Sampled, so that at most half a distance of samples is missed, which is added.
    """
    lower, upper = source.bounds(grid.cells, grid.spacing, placement)
    sides = upper - lower
    if isinstance(source, Mesh):
        return float(sides.min()) if np.any(sides < LEAST_SOLID * grid.spacing) else None
    count = _SAMPLES[grid.dim]
    axes = [np.linspace(a, b, count) for a, b in zip(lower, upper)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    depth = -float(source.signed_distance(points, grid.size, placement).min())
    gap = float(sides.min()) / (count - 1)
    return max(2 * depth, 0.0) + (gap if 2 * depth < sides.min() * (1 - 1e-6) else 0.0)
