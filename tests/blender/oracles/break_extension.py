"""What can go wrong, and what the panel then says. Prints JSON.

break_extension.py ZIP FOLDER
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import bpy
from blend_kit import box, follow, install, smoke_scene

archive, folder = sys.argv[1:]
place = Path(folder)
place.mkdir(parents=True, exist_ok=True)
extension = install(archive, str(place / "nowhere" / "keyfluid"))
preferences = bpy.context.preferences.addons["bl_ext.user_default.keyfluid"].preferences
said: dict[str, object] = {}


def program(name: str, lines: str) -> str:
    path = place / name
    heeds = "signal.signal(signal.SIGINT, signal.default_int_handler)"  # also where the shell of these tests ignores it
    path.write_text(f"#!{sys.executable}\nimport signal, sys, time, json\n{heeds}\n{lines}\n", encoding="utf-8")
    os.chmod(path, 0o755)
    return str(path)


def press() -> str:
    result = bpy.ops.keyfluid.run(preview=True)
    if result == {"FINISHED"}:
        follow(extension, 30)
    assert not extension.session.busy()
    return domain.keyfluid_domain.message


domain = smoke_scene(4, 16)
said["unsaved"] = press()
bpy.ops.wm.save_as_mainfile(filepath=str(place / "broken.blend"))
said["not found"] = press()
version = extension.preferences.version()
preferences.path = program("older", "print('0.0.7')")
said["another version"] = press()
start = f"if '--version' in sys.argv: print('{version}'); sys.exit()\n"
preferences.path = program(
    "failing", start + "print('keyfluid: smoke.buoyancy: is nonsense; lower it', file=sys.stderr); sys.exit(2)"
)
said["failing"] = press()
preferences.path = program("killed", start + "import os; os.kill(os.getpid(), 9)")
said["killed"] = press()
preferences.path = program("no program", "")
os.chmod(preferences.path, 0o644)
said["not executable"] = press()

preferences.path = program("fine", start + "print(json.dumps({'event': 'result', 'keyframes': []}))")
said["fine"] = press()
bpy.ops.mesh.primitive_plane_add(size=0.3, location=(3, 1, 1))
bpy.context.object.name = "Sheet"
bpy.context.object.keyfluid.role = "OBSTACLE"
said["no volume"] = press()
bpy.context.object.keyfluid.role = "NONE"
far = box("Far", (30, 0, 0), (1, 1, 1), "OBSTACLE")
said["outside"] = press()
far.keyfluid.role = "NONE"
bpy.data.objects["Word"].keyfluid.frame = 90
said["late keyframe"] = press()
bpy.data.objects["Word"].keyfluid.frame = 3
bpy.context.scene.timeline_markers["keyfluid Word"].frame = 70
said["marker moved"] = press()
bpy.data.objects["Word"].keyfluid.frame = 3
domain.rotation_euler.x = 0.5
bpy.context.view_layer.update()
said["tilted"] = press()
domain.rotation_euler.x = 0
bpy.context.view_layer.update()
bpy.data.objects["Emitter"].keyfluid.role = "NONE"
said["no fluid"] = press()
bpy.data.objects["Emitter"].keyfluid.role = "SOURCE"
second = box("Second", (0, 0, 0), (1, 1, 1), "DOMAIN")
said["two domains"] = press()
second.keyfluid.role = "NONE"
said["nothing to resume"] = (bpy.ops.keyfluid.resume(), domain.keyfluid_domain.message)[1]

event = "{'event': 'progress', 'done': 1, 'total': 4, 'unit': 'frame', 'seconds_left': 100}"
preferences.path = program("slow", start + f"print(json.dumps({event}), flush=True)\ntime.sleep(600)")
bpy.ops.keyfluid.run(preview=True)
follow(extension, 30, until=lambda: extension.session.job.fraction)
said["progress"] = extension.session.job.status()
said["pressed twice"] = (bpy.ops.keyfluid.run(preview=True), domain.keyfluid_domain.message)[1]
bpy.ops.keyfluid.stop()
follow(extension, 30)
said["stopped"] = domain.keyfluid_domain.message
said["objects"] = len(bpy.data.objects)
print("JSON" + json.dumps(said))
