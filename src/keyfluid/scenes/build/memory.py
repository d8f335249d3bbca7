"""How much memory a scene takes, before anything is allocated."""

from __future__ import annotations

from keyfluid.errors import SceneError
from keyfluid.grid import Grid
from keyfluid.io.budget import memory_of_machine
from keyfluid.scenes.schema.scene import Scene

_BASE = 230 << 20
"""Interpreter, libraries and compiled kernels (benchmarks/memory.py)."""
_SHARE = 0.9


def make_grid(scene: Scene) -> Grid:
    """Cubic cells, `resolution` of them on the longest side; other sides are rounded to whole cells."""
    spacing = max(scene.domain.size) / scene.domain.resolution
    return Grid([max(2, round(side / spacing)) for side in scene.domain.size], spacing, scene.domain.boundary)


def memory_estimate(scene: Scene, grid: Grid) -> int:
    """Bytes of a free run: interpreter and kernels, state and its copies, pressure solver, targets.

    Counted in values per cell: a step holds three states (fields and velocity), the pressure solver about ten
    values, drawing a body three in float64; every keyframe keeps its target, and its mask if it has one; a wind its
    region, and four fields of eddies if it has gusts.
    """
    item = 4 if scene.simulation.precision == "float32" else 8
    state = len(scene.fluid.field) + grid.dim + scene.warm
    keys = sum(((k.until or k.frame) - k.frame + 1) * (2 if k.mask is not None else 1) for k in scene.keyframe)
    winds = sum(grid.dim * (5 if wind.gust > 0 else 1) for wind in scene.wind)
    per_cell = item * (3 * state + 10 + keys + len(scene.source) + winds) + 3 * 8
    return _BASE + per_cell * grid.count


def memory_fault(scene: Scene, grid: Grid) -> SceneError | None:
    """The fault of a scene that can't fit."""
    need, limit = memory_estimate(scene, grid), memory_of_machine()
    if limit is None or need <= _SHARE * limit:
        return None
    share = max(_SHARE * limit - _BASE, 0) / (need - _BASE)
    most = int(scene.domain.resolution * share ** (1 / grid.dim))
    return SceneError(
        "domain.resolution",
        f"{scene.domain.resolution} takes about {need / 2**30:.3g} GiB, this machine has "
        f"{limit / 2**30:.3g} GiB; "
        f"use at most {most}",
    )
