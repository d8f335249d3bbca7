"""Checks of wind, drag, dissipation and heat: who takes them, when they act, and whether they can do anything."""

from __future__ import annotations

from collections.abc import Iterator

from keyfluid.errors import SceneError
from keyfluid.scenes.schema.check_bodies import check_axes
from keyfluid.scenes.schema.scene import Scene, WindEntry
from keyfluid.scenes.schema.smoke import SmokeTable

_NOT_WIND = ("spacetime",)
"""Methods that search with forces of their own alone."""

_NOT_AIR = ("particles", "spacetime")
"""Methods whose smoke does not thin out, and whose air has no drag and no heat."""


def check_air(scene: Scene) -> Iterator[SceneError]:
    """Faults of [wind], and of the keys of [smoke] that act on all of the air."""
    yield from _methods(scene)
    if not scene.warm:
        for key in ("cooling", "heat_buoyancy"):
            if getattr(scene.smoke, key) != SmokeTable.model_fields[key].default:
                yield SceneError(f"smoke.{key}", "nothing is warm; give a start or a source a temperature")
    for i, wind in enumerate(scene.wind):
        path = f"wind[{i}]"
        yield from check_axes(f"{path}.velocity", wind.velocity, scene.dimension)
        yield from _frames(scene, path, wind)
        if len(wind.velocity) == scene.dimension:
            yield from _sides(scene, path, wind)


def walls_along(scene: Scene, wind: WindEntry) -> tuple[list[str], list[str]]:
    """The axes that a wind blows along: those whose sides are walls, and the others."""
    sides = scene.domain.boundary
    kinds = [sides] * scene.dimension if isinstance(sides, str) else sides
    blown = [(axis, kind) for axis, kind, speed in zip("xyz", kinds, wind.velocity) if speed != 0]
    return [axis for axis, kind in blown if kind == "walls"], [axis for axis, kind in blown if kind != "walls"]


def open_sides(scene: Scene, axes: list[str]) -> str:
    """`domain.boundary` with these axes open, as a scene has it."""
    sides = scene.domain.boundary
    kinds = [sides] * scene.dimension if isinstance(sides, str) else sides
    words = ", ".join(f'"{"open" if axis in axes else kind}"' for axis, kind in zip("xyz", kinds))
    return f"domain.boundary = [{words}]"


def _methods(scene: Scene) -> Iterator[SceneError]:
    method = scene.control.method
    if scene.wind and method in _NOT_WIND:
        yield SceneError("wind", f'method "{method}" has no wind; remove it, or use another method')
    if method not in _NOT_AIR:
        return
    for key in ("drag", "dissipation"):
        if getattr(scene.smoke, key) != 0:
            yield SceneError(f"smoke.{key}", f'method "{method}" has no {key}; remove it, or use another method')
    starts = scene.smoke.initial
    paths = [f"smoke.initial[{i}]" if len(starts) > 1 else "smoke.initial" for i in range(len(starts))]
    warm = [path for path, start in zip(paths, starts) if start.temperature is not None]
    warm += [f"source[{i}]" for i, source in enumerate(scene.source) if source.temperature is not None]
    for path in warm:
        yield SceneError(f"{path}.temperature", f'method "{method}" has no heat; remove it, or use another method')


def _frames(scene: Scene, path: str, wind: WindEntry) -> Iterator[SceneError]:
    last = scene.time.frames
    if not 0 <= wind.start < last:
        yield SceneError(f"{path}.start", f"frame {wind.start} is not in 0 to {last - 1}; change it")
    elif wind.stop is not None and wind.stop <= wind.start:
        yield SceneError(f"{path}.stop", f"frame {wind.stop} is not after start, frame {wind.start}; change it")


def _sides(scene: Scene, path: str, wind: WindEntry) -> Iterator[SceneError]:
    """Air between walls can't be blown as a whole: pressure holds it."""
    walls, free = walls_along(scene, wind)
    if not walls and not free and wind.mask is None:
        yield SceneError(f"{path}.velocity", "is zero; use smoke.drag for air that comes to rest")
    if walls and not free and wind.mask is None:
        yield SceneError(
            f"{path}.velocity",
            f"blows along {' and '.join(walls)} between walls, where pressure holds the air still; "
            f"set {open_sides(scene, walls)}, or give it a mask to blow in",
        )
