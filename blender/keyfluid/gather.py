# SPDX-License-Identifier: GPL-3.0-or-later
"""From objects to plain data: samples of their geometry in the domain's coordinates, and the keys of their tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bpy
import numpy as np
from mathutils import Matrix, Vector

from .core.frames import FrameRange
from .core.geometry import is_flat, is_solid, thickened, welded
from .core.messages import NO_DOMAIN, NO_FLUID, UNSAVED, Fault, no_mesh, no_volume, tilted, two_domains, wrong_frame
from .core.motion import Sample
from .core.scene_folder import Body, Film, file_name, image_density
from .properties import marker_of

GEOMETRY = ("MESH", "FONT", "CURVE", "SURFACE", "META")


def domain_of(scene: bpy.types.Scene) -> bpy.types.Object:
    """The one domain of a scene."""
    found = [item for item in scene.objects if item.keyfluid.role == "DOMAIN"]
    if not found:
        raise Fault(NO_DOMAIN)
    if len(found) > 1:
        raise Fault(two_domains([item.name for item in found[:2]]))
    return found[0]


def folder_of(domain: bpy.types.Object) -> Path:
    """The scene folder, beside the .blend."""
    folder = domain.keyfluid_domain.folder
    if folder.startswith("//") and not bpy.data.is_saved:
        raise Fault(UNSAVED)
    return Path(bpy.path.abspath(folder)).resolve() / file_name(domain.name)


def frames_of(domain: bpy.types.Object) -> FrameRange:
    settings = domain.keyfluid_domain
    return FrameRange(settings.frame_first, max(settings.frame_last, settings.frame_first + 1))


def corner_of(domain: bpy.types.Object) -> tuple[Matrix, Vector]:
    """From the domain's coordinates (metres from its lowest corner) to the world's, and its size."""
    place, turn, scale = domain.matrix_world.decompose()
    rotation = turn.to_matrix()
    if rotation.col[2].z < 0.9999:
        raise Fault(tilted(domain.name))
    low = Vector([min(corner[axis] * scale[axis] for corner in domain.bound_box) for axis in range(3)])
    high = Vector([max(corner[axis] * scale[axis] for corner in domain.bound_box) for axis in range(3)])
    return Matrix.Translation(place + rotation @ low) @ rotation.to_4x4(), high - low


def film_of(scene: bpy.types.Scene, domain: bpy.types.Object) -> Film:
    settings = domain.keyfluid_domain
    _, size = corner_of(domain)
    smoke = {"buoyancy": settings.buoyancy, "vorticity": settings.vorticity, "dissipation": settings.dissipation}
    liquid = {"gravity": settings.gravity, "viscosity": settings.viscosity}
    return Film(
        name=domain.name,
        size=(size.x, size.y, size.z),
        frames=frames_of(domain),
        fps=scene.render.fps / scene.render.fps_base,
        resolution=settings.resolution,
        fluid=settings.fluid,
        boundary=settings.boundary,
        steps=settings.steps or "auto",
        fluid_keys=_plain(smoke if settings.fluid == "smoke" else liquid),
        control=_plain(_control(settings)),
        video=settings.video,
    )


def _control(settings: Any) -> dict[str, Any]:
    """The method and those of its settings that the panel shows."""
    keys: dict[str, Any] = {"method": settings.method}
    if settings.method == "target":
        keys |= {"damping": settings.damping, "gathering": settings.gathering}
        keys |= {"strength": settings.strength} if settings.strength else {}
    if settings.method in ("spectral", "adjoint", "spacetime") and settings.iterations:
        keys["iterations"] = settings.iterations
    return keys


def bodies_of(scene: bpy.types.Scene, domain: bpy.types.Object) -> list[Body]:
    """Every object with a role, sampled at all frames that it moves in; the current frame is left as it was."""
    to_domain = corner_of(domain)[0].inverted()
    items = [item for item in scene.objects if item.keyfluid.role not in ("NONE", "DOMAIN")]
    if not any(item.keyfluid.role in ("START", "SOURCE") for item in items):
        raise Fault(NO_FLUID)
    frames, before = frames_of(domain), scene.frame_current
    bodies = [Body(item.name, item.keyfluid.role.lower(), keys=_keys(item, frames, domain)) for item in items]
    samples: dict[str, list[Sample]] = {item.name: [] for item in items if item.type in GEOMETRY}
    for item, body in zip(items, bodies):
        if item.type == "EMPTY" and item.empty_display_type == "IMAGE" and item.data is not None:
            body.density = _image(item, to_domain, domain)
        elif item.type not in GEOMETRY:
            raise Fault(no_mesh(item.name))
    try:
        for frame in frames:
            scene.frame_set(frame)
            graph = bpy.context.evaluated_depsgraph_get()
            for item in items:
                if item.name in samples and (frame == frames.first or _may_move(item)):
                    samples[item.name].append(_sample(item, graph, frame, to_domain))
    finally:
        scene.frame_set(before)
    for body in bodies:
        body.samples = samples.get(body.name, [])
    return bodies


def _may_move(item: bpy.types.Object) -> bool:
    """Whether anything could change with time; an object without any of these is sampled once."""
    above: bpy.types.Object | None = item
    while above is not None:
        data = above.data
        moved = [above, data, getattr(data, "shape_keys", None)]
        if any(each is not None and each.animation_data is not None for each in moved):
            return True
        if above.constraints or above.modifiers or above.rigid_body is not None:
            return True
        above = above.parent
    return False


def _sample(item: bpy.types.Object, graph: Any, frame: int, to_domain: Matrix) -> Sample:
    evaluated = item.evaluated_get(graph)
    mesh = evaluated.to_mesh()
    try:
        vertices, triangles = _arrays(mesh) if mesh is not None else (np.zeros((0, 3)), np.zeros((0, 3), int))
    finally:
        evaluated.to_mesh_clear()
    matrix = np.array(to_domain @ evaluated.matrix_world)
    vertices, triangles = welded(vertices, triangles)
    if len(triangles) and item.type in ("FONT", "CURVE") and is_flat(vertices):
        given = item.keyfluid.thickness / max(np.linalg.norm(matrix[:3, 2]), 1e-9)
        vertices, triangles = thickened(vertices, triangles, given or np.ptp(vertices, axis=0)[:2].min() / 6)
    if not len(triangles) or not is_solid(vertices, triangles):
        raise Fault(no_volume(item.name))
    return Sample(frame, vertices, triangles, matrix)


def _arrays(mesh: bpy.types.Mesh) -> tuple[np.ndarray, np.ndarray]:
    mesh.calc_loop_triangles()
    vertices = np.empty(3 * len(mesh.vertices), np.float32)
    triangles = np.empty(3 * len(mesh.loop_triangles), np.int32)
    mesh.vertices.foreach_get("co", vertices)
    mesh.loop_triangles.foreach_get("vertices", triangles)
    return vertices.reshape(-1, 3).astype(np.float64), triangles.reshape(-1, 3)


def _image(item: bpy.types.Object, to_domain: Matrix, domain: bpy.types.Object) -> np.ndarray:
    """The picture of an image object, by its alpha or else its brightness, where it stands."""
    image = item.data
    width, height = image.size
    if not width or not height:
        raise Fault(f"{item.name}: its image can't be read; reload it")
    pixels = np.empty(width * height * image.channels, np.float32)
    image.pixels.foreach_get(pixels)
    pixels = pixels.reshape(height, width, image.channels)
    clear = image.channels == 4 and float(pixels[..., 3].min()) < 0.99
    picture = pixels[..., 3] if clear else pixels[..., : min(image.channels, 3)].mean(axis=-1)
    side = item.empty_display_size / max(width, height)
    x, y = item.empty_image_offset
    own = Matrix.Translation((x * width * side, y * height * side, 0.0)) @ Matrix.Diagonal(
        (width * side, height * side, 1, 1)
    )
    matrix = np.array(to_domain @ item.matrix_world @ own)
    size = corner_of(domain)[1]
    depth = item.keyfluid.thickness or min(np.linalg.norm(matrix[:3, 0]), np.linalg.norm(matrix[:3, 1])) / 6
    cells = min(max(domain.keyfluid_domain.resolution, 64), 192)
    return image_density(picture, matrix, tuple(size), float(depth), cells)


def _keys(item: bpy.types.Object, frames: FrameRange, domain: bpy.types.Object) -> dict[str, Any]:
    """The keys of its table beside its geometry."""
    own, smoke = item.keyfluid, domain.keyfluid_domain.fluid == "smoke"
    keys: dict[str, Any] = {}
    if own.role == "KEYFRAME":
        marker = marker_of(item)
        frame = marker.frame if marker is not None else own.frame
        if not frames.first < frame <= frames.last:
            raise Fault(wrong_frame(item.name, frame, frames.first + 1, frames.last))
        keys = {"frame": frames.to_run(frame)}
        if own.animated:
            keys["until"] = frames.to_run(min(max(own.until, frame), frames.last))
        keys |= {"hold": own.hold} if own.hold else {}
        keys |= {"weight": own.weight} if own.weight != 1 else {}
        if own.keep_size:
            keys["mass"] = "keep"
    elif own.role == "START":
        if own.fit_first_key:
            keys["mass" if smoke else "volume"] = "first-key"
        keys |= {"density": own.density} if smoke and own.density != 1 else {}
    elif own.role == "SOURCE":
        keys["density"] = own.density
        if own.use_range:
            keys |= {"start": frames.to_run(own.range_first), "stop": frames.to_run(own.range_last)}
    if own.role in ("START", "SOURCE"):
        if any(own.velocity):
            turned = corner_of(domain)[0].to_3x3().inverted() @ Vector(own.velocity)
            keys["velocity"] = list(turned)
        if smoke and own.temperature:
            keys["temperature"] = own.temperature
    return _plain(keys)


def _plain(keys: dict[str, Any]) -> dict[str, Any]:
    """Numbers as people write them: 0.1, not the single precision of it."""
    return {key: _rounded(value) for key, value in keys.items()}


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.7g}")
    return [_rounded(each) for each in value] if isinstance(value, list) else value
