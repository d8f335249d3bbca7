"""A stage in Blender: what its importer makes of the volume, the camera, the bodies and the liquid. Prints JSON.

import_usd.py STAGE WIDTH HEIGHT [X,Y,Z ...]: the points are projected at the first frame and at the last.
"""

from __future__ import annotations

import json
import sys

import bpy
from bpy_extras.object_utils import world_to_camera_view
from mathutils import Vector

stage, width, height, *points = sys.argv[1:]
bpy.ops.wm.read_factory_settings(use_empty=True)
bpy.ops.wm.usd_import(filepath=stage, import_guide=True)
scene = bpy.context.scene
scene.render.resolution_x, scene.render.resolution_y = int(width), int(height)
scene.render.resolution_percentage = 100
found: dict[str, object] = {
    "blender": bpy.app.version_string,
    "objects": {item.name: item.type for item in scene.objects},
    "range": [scene.frame_start, scene.frame_end, scene.render.fps],
}
camera = next(item for item in scene.objects if item.type == "CAMERA")
corners = [Vector([float(part) for part in text.split(",")]) for text in points]
projected = {}
for frame in (scene.frame_start, scene.frame_end):
    scene.frame_set(frame)
    seen = [world_to_camera_view(scene, camera, corner) for corner in corners]
    projected[frame] = [[spot.x * int(width), (1 - spot.y) * int(height)] for spot in seen]
found["projected"] = projected
volume = next((item for item in scene.objects if item.type == "VOLUME"), None)
if volume is not None:
    frames = []
    for frame in range(scene.frame_start, scene.frame_end + 1):
        scene.frame_set(frame)
        bpy.context.view_layer.update()
        grids = volume.evaluated_get(bpy.context.evaluated_depsgraph_get()).data.grids
        grids.load()
        frames.append([grids.frame_filepath, grids.is_loaded, sorted(grid.name for grid in grids), grids.error_message])
    found["volume"] = frames
mesh = next((item for item in scene.objects if item.type == "MESH" and item.name.startswith("liquid")), None)
if mesh is not None:
    frames = []
    for frame in range(scene.frame_start, scene.frame_end + 1):
        scene.frame_set(frame)
        data = mesh.evaluated_get(bpy.context.evaluated_depsgraph_get()).data
        blur = data.attributes.get("velocity")
        speed = max((max(map(abs, each.vector)) for each in blur.data), default=0.0) if blur else None
        frames.append([len(data.vertices), len(data.polygons), speed])
    found["liquid"] = frames
print("JSON" + json.dumps(found))
