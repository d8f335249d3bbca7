"""Faults of one body: what it is made of, its own keys, its files, numbers per axis."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from pathlib import Path

from keyfluid.errors import SceneError
from keyfluid.io.run.layout import SCENE, scene_file
from keyfluid.scenes.schema.bodies import KIND_KEYS, SHAPE_KEYS, SolidBody
from keyfluid.scenes.schema.scene import Body, Source

MESH_SUFFIXES = (".obj", ".ply", ".stl", ".gltf", ".glb")
_SEQUENCE = re.compile(r"#|%0?\d*d|\*")
_ONLY_3D = ("cylinder", "cone")


def kinds_of(body: SolidBody) -> list[str]:
    """Which of shape, text, image, mesh, vdb, npy are given."""
    return [kind for kind in KIND_KEYS if getattr(body, kind, None) is not None]


def is_sequence(mesh: str) -> bool:
    """A folder or a pattern such as walk.####.obj, rather than one file."""
    return _SEQUENCE.search(Path(mesh).name) is not None or Path(mesh).suffix.lower() not in MESH_SUFFIXES


def is_animated(body: SolidBody) -> bool:
    return body.mesh is not None and (bool(body.animated) or is_sequence(body.mesh))


def check_body(path: str, body: SolidBody, dimension: int) -> Iterator[SceneError]:
    """Every fault of one body."""
    yield from _placement(path, body, dimension)
    kinds = kinds_of(body)
    options = [kind for kind in KIND_KEYS if kind in type(body).model_fields]
    if not kinds:
        yield SceneError(path, f"says nothing to make it of; give one of {', '.join(options)}")
    elif len(kinds) > 1:
        yield SceneError(f"{path}.{kinds[1]}", f"stands beside {kinds[0]}; keep only one of them")
    else:
        yield from _kind(path, body, kinds[0], dimension)


def _kind(path: str, body: SolidBody, kind: str, dimension: int) -> Iterator[SceneError]:
    own = SHAPE_KEYS[str(body.shape)] if kind == "shape" else KIND_KEYS[kind]
    special = dict.fromkeys(key for keys in KIND_KEYS.values() for key in keys)
    what = f"a {body.shape}" if kind == "shape" else {"text": "text", "image": "an image"}.get(kind, f"a {kind} file")
    for key in special:
        if key in type(body).model_fields and getattr(body, key) is not None and key not in own:
            takes = f"its own keys are {', '.join(own)}" if own else "it has no keys of its own"
            yield SceneError(f"{path}.{key}", f"{what} has no {key}; remove it ({takes})")
    if kind == "shape":
        if body.shape in _ONLY_3D and dimension == 2:
            yield SceneError(f"{path}.shape", f"a {body.shape} needs a 3D domain; in 2D use disk, box or another")
        if isinstance(body.size, list) and (body.shape != "box" or len(body.size) != dimension):
            count = f"one number, or {dimension} of them" if body.shape == "box" else "one number"
            yield SceneError(f"{path}.size", f"has {len(body.size)} numbers; {what} takes {count}")
        return
    if kind == "mesh":
        if dimension == 2:
            yield SceneError(f"{path}.mesh", "a mesh needs a 3D domain; in 2D use a shape, text or an image")
        yield from _mesh(path, body)
    elif kind == "run":
        yield from _run(path, body, dimension)
    elif kind != "text":
        yield from _file(f"{path}.{kind}", getattr(body, kind))
    if kind == "image":
        yield from _ink(path, body)
    if isinstance(body, Body) and body.font is not None:
        yield from _file(f"{path}.font", body.font)


def _ink(path: str, body: SolidBody) -> Iterator[SceneError]:
    assert isinstance(body, Body)
    if body.palette is not None and body.ink is None:
        yield SceneError(f"{path}.palette", "has no ink beside it; say which of these colours is smoke here")
    if body.ink is not None and body.ink not in (body.palette or []):
        yield SceneError(f"{path}.ink", "is not one of the colours of palette; add it there")
    if body.ink is not None and body.invert is not None:
        yield SceneError(f"{path}.invert", "stands beside ink; keep only one of them")


def _mesh(path: str, body: SolidBody) -> Iterator[SceneError]:
    mesh = str(body.mesh)
    if body.animated and Path(mesh).suffix.lower() not in (".gltf", ".glb"):
        yield SceneError(f"{path}.animated", "only .gltf and .glb files hold an animation; remove it")
    if body.mesh_fps is not None and not is_sequence(mesh):
        yield SceneError(f"{path}.mesh_fps", "only goes with a sequence such as walk.####.obj; remove it")
    if is_animated(body) and isinstance(body, Source):
        yield SceneError(f"{path}.mesh", "an animated mesh can't be a source; give one file")
    if not is_sequence(mesh):
        yield from _file(f"{path}.mesh", mesh)
    elif not _exists(Path(mesh)) and not _exists(Path(mesh).parent):
        yield SceneError(f"{path}.mesh", f"the folder {Path(mesh).parent} does not exist; check the path")


def _run(path: str, body: SolidBody, dimension: int) -> Iterator[SceneError]:
    assert isinstance(body, Body)
    yield from check_axes(f"{path}.move", body.move, dimension)
    yield from check_run(f"{path}.run", str(body.run))
    if body.twist is not None and dimension == 2:
        yield SceneError(f"{path}.twist", "turns about the upright axis, in 3D; in 2D use bend or rotation")
    if body.paint is not None:
        if dimension == 3:
            yield SceneError(f"{path}.paint", "is for 2D scenes; in 3D paint over a view and give it as a [[picture]]")
        yield from _file(f"{path}.paint", body.paint)


def _file(path: str, name: str) -> Iterator[SceneError]:
    try:
        if Path(name).is_file():
            return
        reason = "is not a file" if Path(name).exists() else "does not exist"
    except (OSError, ValueError) as error:
        too_long = getattr(error, "errno", None) == errno.ENAMETOOLONG
        reason = "is too long for a path" if too_long else "can't be a path"
    yield SceneError(path, f"{name[:200]!r} {reason}; check the path (it is relative to the scene's folder)")


def check_run(path: str, folder: str) -> Iterator[SceneError]:
    if not _exists(scene_file(Path(folder))):
        yield SceneError(path, f"{folder} holds no run (no {SCENE}); give the folder of a run")


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def _placement(path: str, body: SolidBody, dimension: int) -> Iterator[SceneError]:
    yield from check_axes(f"{path}.center", body.center, dimension)
    yield from check_axes(f"{path}.velocity", getattr(body, "velocity", None), dimension)
    yield from check_turn(f"{path}.rotation", body.rotation, dimension)


def check_axes(path: str, vector: list[float] | None, dimension: int) -> Iterator[SceneError]:
    if vector is not None and len(vector) != dimension:
        yield SceneError(path, f"has {len(vector)} numbers; the domain is {dimension}D, give {dimension}")


def check_turn(path: str, angles: float | list[float] | None, dimension: int) -> Iterator[SceneError]:
    if isinstance(angles, list) and dimension == 2:
        yield SceneError(path, "has three numbers; in 2D give one")
