"""Blender with the extension installed from its zip, and a scene for it; used by the scripts beside it."""

from __future__ import annotations

import importlib
import math
import time
from pathlib import Path
from typing import Any

import bpy


def install(archive: str, keyfluid: str) -> Any:
    """The extension from its zip, as "Install from Disk" does it; returns its package."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.extensions.package_install_files(filepath=archive, repo="user_default", enable_on_install=True)
    name = "bl_ext.user_default.keyfluid"
    assert name in bpy.context.preferences.addons, list(bpy.context.preferences.addons.keys())
    bpy.context.preferences.addons[name].preferences.path = keyfluid
    return importlib.import_module(name)


def box(name: str, center: tuple[float, float, float], size: tuple[float, float, float], role: str) -> bpy.types.Object:
    bpy.ops.mesh.primitive_cube_add(size=1, location=center)
    item = bpy.context.object
    item.name, item.scale = name, size
    item.keyfluid.role = role
    return item


def smoke_scene(frames: int, resolution: int) -> bpy.types.Object:
    """A text to reach, an obstacle that moves and turns, and an emitter; the domain stands away from the origin."""
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end, scene.render.fps = 1, frames, 24
    domain = box("Smoke box", (3.0, 1.0, 1.0), (2.0, 1.0, 2.0), "NONE")
    bpy.context.view_layer.objects.active = domain
    bpy.ops.keyfluid.add_domain()
    settings = domain.keyfluid_domain
    settings.resolution, settings.preview_resolution, settings.method = resolution, resolution // 2, "target"
    settings.buoyancy = 0.5

    emitter = box("Emitter", (3.0, 1.0, 0.3), (0.5, 0.5, 0.3), "SOURCE")
    emitter.keyfluid.velocity = (0.0, 0.0, 0.8)
    emitter.keyfluid.use_range, emitter.keyfluid.range_first, emitter.keyfluid.range_last = True, 1, frames // 2

    plate = box("Plate", (2.4, 1.0, 1.6), (0.4, 0.7, 0.15), "OBSTACLE")
    plate.keyframe_insert("location", frame=1)
    plate.keyframe_insert("rotation_euler", frame=1)
    plate.location.x, plate.rotation_euler.y = 3.5, math.radians(50)
    plate.keyframe_insert("location", frame=frames)
    plate.keyframe_insert("rotation_euler", frame=frames)

    curve = bpy.data.curves.new("Word", "FONT")
    curve.body, curve.align_x, curve.align_y, curve.size = "O", "CENTER", "CENTER", 1.1
    word = bpy.data.objects.new("Word", curve)
    scene.collection.objects.link(word)
    word.location, word.rotation_euler.x = (3.0, 1.0, 1.0), math.radians(90)
    word.keyfluid.frame = frames - 2
    word.keyfluid.thickness = 0.3
    word.keyfluid.role = "KEYFRAME"
    return domain


def liquid_scene(frames: int, resolution: int) -> bpy.types.Object:
    """A ball of water that falls beside a pillar."""
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end, scene.render.fps = 1, frames, 24
    domain = box("Tank", (0.0, 0.0, 0.5), (1.0, 1.0, 1.0), "NONE")
    bpy.context.view_layer.objects.active = domain
    bpy.ops.keyfluid.add_domain()
    settings = domain.keyfluid_domain
    settings.fluid, settings.method = "liquid", "none"
    settings.resolution, settings.preview_resolution = resolution, resolution // 2
    bpy.ops.mesh.primitive_uv_sphere_add(radius=0.24, location=(-0.1, 0.0, 0.65))
    drop = bpy.context.object
    drop.name, drop.keyfluid.role = "Drop", "START"
    drop.keyfluid.velocity = (1.2, 0.0, 0.0)
    box("Pillar", (0.3, 0.0, 0.2), (0.2, 0.3, 0.4), "OBSTACLE")
    return domain


def follow(extension: Any, seconds: float = 240.0, until: Any = lambda: False) -> dict[str, Any]:
    """Do what the timer does, until the job has ended or `until` holds; says how long the longest look took."""
    session = extension.session
    longest, counts, end = 0.0, [], time.monotonic() + seconds
    while session.job.active and not until() and time.monotonic() < end:
        began = time.perf_counter()
        session.tick()
        longest = max(longest, time.perf_counter() - began)
        volume = next((item.data for item in bpy.data.objects if item.type == "VOLUME"), None)
        counts.append(volume.frame_duration if volume is not None else 0)
        time.sleep(0.05)
    job = session.job
    return {"state": job.state, "message": job.message, "longest_look": longest, "frames_seen": sorted(set(counts))}


def shown_files(item: bpy.types.Object, frames: range) -> list[str]:
    """Names of the files that a volume object shows at these frames."""
    found = []
    for frame in frames:
        bpy.context.scene.frame_set(frame)
        grids = item.evaluated_get(bpy.context.evaluated_depsgraph_get()).data.grids
        grids.load()
        found.append(Path(grids.frame_filepath).name if grids.is_loaded else f"not loaded: {grids.error_message}")
    return found
