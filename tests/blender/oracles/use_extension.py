"""The extension from its zip to the volume of a finished run. Prints JSON.

use_extension.py ZIP KEYFLUID FOLDER
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import bpy
from blend_kit import follow, install, liquid_scene, shown_files, smoke_scene

FRAMES = 12
archive, keyfluid, folder = sys.argv[1:]
extension = install(archive, keyfluid)
extension.session._SHOW = 0.2  # the films here are short
answer: dict[str, object] = {"blender": bpy.app.version_string}
place = Path(folder)
place.mkdir(parents=True, exist_ok=True)

domain = smoke_scene(FRAMES, 16)
settings = domain.keyfluid_domain
bpy.ops.wm.save_as_mainfile(filepath=str(place / "smoke.blend"))
scene_folder = extension.gather.folder_of(domain)
before = bpy.context.scene.frame_current

assert bpy.ops.keyfluid.run(preview=True) == {"FINISHED"}, settings.message
answer["preview"] = follow(extension)
answer["preview_files"] = shown_files(settings.volume, range(1, FRAMES + 1))

bpy.ops.keyfluid.run(preview=False)
vdb = scene_folder / "run" / "vdb"
answer["stopped"] = {}
follow(extension, until=lambda: len(list(vdb.glob("*.vdb"))) >= 4)
if extension.session.job.active:
    bpy.ops.keyfluid.stop()
    answer["stopped"] = follow(extension)
    answer["frames_when_stopped"] = settings.volume.data.frame_duration
    bpy.ops.keyfluid.resume()
answer["run"] = follow(extension)
answer["run_files"] = shown_files(settings.volume, range(1, FRAMES + 1))
volume = settings.volume
answer["volume"] = {
    "place": list(volume.matrix_world.translation),
    "velocity": [volume.data.velocity_grid, volume.data.velocity_unit],
    "shader": [node.type for node in volume.data.materials[0].node_tree.nodes],
    "blur": bpy.context.scene.render.use_motion_blur,
}
answer["scores"] = [[score.frame, score.error, score.overlap] for score in settings.scores]
answer["markers"] = {marker.name: marker.frame for marker in bpy.context.scene.timeline_markers}

shutil.copytree(vdb, scene_folder / "vdb_of_run")
settings.solve_from, settings.damping = 6, 2.0
bpy.ops.keyfluid.solve_from()
answer["solved_from"] = follow(extension)

bpy.context.scene.frame_set(before)
bpy.ops.wm.save_mainfile()
bpy.ops.wm.open_mainfile(filepath=str(place / "smoke.blend"))
again = bpy.data.objects["Smoke box"]
answer["reopened"] = {
    "role": again.keyfluid.role,
    "damping": again.keyfluid_domain.damping,
    "volume": again.keyfluid_domain.volume.name,
    "files": shown_files(again.keyfluid_domain.volume, range(1, 3)),
    "scores": len(again.keyfluid_domain.scores),
}

bpy.ops.wm.read_homefile(use_empty=True)
tank = liquid_scene(5, 16)
bpy.ops.wm.save_as_mainfile(filepath=str(place / "liquid.blend"))
bpy.ops.keyfluid.run(preview=False)
answer["liquid_run"] = follow(extension)
liquid = tank.keyfluid_domain.liquid
meshes = []
for frame in range(1, 6):
    bpy.context.scene.frame_set(frame)
    data = liquid.evaluated_get(bpy.context.evaluated_depsgraph_get()).data
    blur = data.attributes.get("velocity")
    low = min((liquid.matrix_world @ vertex.co).z for vertex in data.vertices)
    speed = max((max(map(abs, each.vector)) for each in blur.data), default=0.0) if blur else None
    meshes.append([len(data.vertices), low, speed])
answer["liquid"] = meshes
answer["objects"] = sorted(item.name for item in bpy.data.objects)
print("JSON" + json.dumps(answer))
