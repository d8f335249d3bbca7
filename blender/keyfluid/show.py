# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs in the scene: the VDB sequence as a volume with a shader, the liquid as a mesh sequence with velocities."""

from __future__ import annotations

from pathlib import Path

import bpy

from .core.frames import sequence
from .core.scene_folder import run_name
from .gather import corner_of

OPTICAL_DEPTH = 40.0
"""Of full smoke as deep as the longest side of the domain."""


def show_volume(domain: bpy.types.Object, run: Path) -> int:
    """The files of a run that are there so far; returns how many frames that is."""
    files = sequence(run / "vdb", run_name(run), "vdb")
    if not files:
        return 0
    settings = domain.keyfluid_domain
    item = settings.volume
    if item is None or item.name not in bpy.data.objects:
        data = bpy.data.volumes.new(f"{domain.name} fluid")
        item = bpy.data.objects.new(data.name, data)
        _collection(domain).objects.link(item)
        item["keyfluid"] = domain.name
        settings.volume = item
    matrix, size = corner_of(domain)
    item.matrix_world = matrix
    data = item.data
    first, path = files[0]
    text = bpy.path.relpath(str(path)) if bpy.data.is_saved else str(path)
    if Path(bpy.path.abspath(data.filepath)) != path:
        data.filepath = text
    data.is_sequence = True
    data.frame_start, data.frame_offset = first, first - 1
    if data.frame_duration != len(files):
        data.frame_duration = len(files)
        data.grids.unload()
    data.sequence_mode = "EXTEND"
    if data.velocity_grid != "velocity":  # it is looked up in the file
        data.grids.load()
        data.velocity_grid = "velocity"
    data.velocity_unit, data.velocity_scale = "SECOND", 1.0
    data.display.density = OPTICAL_DEPTH / max(size) / 4
    if settings.fluid == "smoke" and not data.materials:
        data.materials.append(smoke_material(max(size)))
    liquid = settings.liquid is not None and settings.fluid == "liquid"
    item.hide_render = item.hide_viewport = liquid
    if settings.motion_blur:
        bpy.context.scene.render.use_motion_blur = True
    return len(files)


def smoke_material(side: float) -> bpy.types.Material:
    """Principled Volume by the grid `density`, as opaque in a domain of any size."""
    material = bpy.data.materials.new("keyfluid smoke")
    material.use_nodes = True
    nodes, links = material.node_tree.nodes, material.node_tree.links
    nodes.clear()
    output, volume = nodes.new("ShaderNodeOutputMaterial"), nodes.new("ShaderNodeVolumePrincipled")
    volume.location = (-300, 0)
    volume.inputs["Color"].default_value = (0.95, 0.95, 0.95, 1.0)
    volume.inputs["Density"].default_value = OPTICAL_DEPTH / side
    volume.inputs["Anisotropy"].default_value = 0.25
    links.new(volume.outputs["Volume"], output.inputs["Volume"])
    return material


def show_liquid(domain: bpy.types.Object, run: Path) -> bpy.types.Object | None:
    """The liquid's mesh of every frame, with its velocities, from the run's USD stage."""
    settings = domain.keyfluid_domain
    stage = run / f"{run_name(run)}.usda"
    if not stage.is_file():
        return None
    if settings.liquid is not None and settings.liquid.name in bpy.data.objects:
        bpy.data.objects.remove(settings.liquid)
        settings.liquid = None
    before, selected = set(bpy.data.objects), list(bpy.context.selected_objects)
    frame, active = bpy.context.scene.frame_current, bpy.context.view_layer.objects.active
    bpy.ops.wm.usd_import(
        filepath=str(stage), import_cameras=False, import_lights=False, import_volumes=False, import_curves=False,
        import_materials=False, set_frame_range=False, create_world_material=False, scale=1.0,
    )  # fmt: skip
    new = [item for item in bpy.data.objects if item not in before]
    liquid = next((item for item in new if item.type == "MESH" and item.modifiers), None)
    for item in new:
        if item is not liquid:
            bpy.data.objects.remove(item)
    for item in selected:
        item.select_set(True)
    bpy.context.view_layer.objects.active = active
    bpy.context.scene.frame_set(frame)
    if liquid is None:
        return None
    for collection in list(liquid.users_collection):
        collection.objects.unlink(liquid)
    _collection(domain).objects.link(liquid)
    liquid.name, liquid["keyfluid"] = f"{domain.name} liquid", domain.name
    liquid.matrix_world = corner_of(domain)[0]
    for modifier in liquid.modifiers:
        if modifier.type == "MESH_SEQUENCE_CACHE":
            modifier.read_data = {"VERT", "POLY"}
    liquid.data.materials.clear()
    liquid.data.materials.append(liquid_material())
    settings.liquid = liquid
    if settings.volume is not None:
        settings.volume.hide_render = settings.volume.hide_viewport = True
    if settings.motion_blur:
        bpy.context.scene.render.use_motion_blur = True
    return liquid


def liquid_material() -> bpy.types.Material:
    """Water."""
    material = bpy.data.materials.new("keyfluid liquid")
    material.use_nodes = True
    shader = next(node for node in material.node_tree.nodes if node.type == "BSDF_PRINCIPLED")
    shader.inputs["Base Color"].default_value = (0.55, 0.8, 0.95, 1.0)
    shader.inputs["Roughness"].default_value = 0.03
    shader.inputs["IOR"].default_value = 1.33
    shader.inputs["Transmission Weight"].default_value = 1.0
    return material


def _collection(domain: bpy.types.Object) -> bpy.types.Collection:
    return domain.users_collection[0] if domain.users_collection else bpy.context.scene.collection


def prepare_domain(domain: bpy.types.Object) -> None:
    """A domain is a frame, not a box that hides what is in it."""
    domain.display_type = "WIRE"
    domain.hide_render = True
