"""Blender's side of benchmarks/blender_pictures.py: a scene, a run by the extension, and Cycles' pictures of it.

film.py ZIP KEYFLUID FOLDER PICTURES smoke|liquid
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import bpy
from mathutils import Vector

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "blender" / "oracles"))
from blend_kit import box, follow, install

SIZE, SAMPLES = 256, 16
FRAME = 30


def smoke() -> bpy.types.Object:
    """A word out of an emitter's smoke, with a paddle that swings through it."""
    domain = box("Smoke", (0.0, 0.0, 1.0), (2.4, 0.8, 2.0), "NONE")
    bpy.context.view_layer.objects.active = domain
    bpy.ops.keyfluid.add_domain()
    settings = domain.keyfluid_domain
    settings.resolution, settings.preview_resolution, settings.method = 72, 36, "target"
    settings.strength, settings.buoyancy, settings.steps = 2.0, 0.3, 2
    bpy.ops.mesh.primitive_uv_sphere_add(radius=0.28, location=(0.0, 0.0, 0.35))
    emitter = bpy.context.object
    emitter.name, emitter.keyfluid.role = "Emitter", "SOURCE"
    emitter.keyfluid.velocity = (0.0, 0.0, 1.5)
    emitter.keyfluid.use_range, emitter.keyfluid.range_first, emitter.keyfluid.range_last = True, 1, 12
    paddle = box("Paddle", (-0.9, 0.0, 0.45), (0.1, 0.5, 0.4), "OBSTACLE")
    paddle.keyframe_insert("location", frame=1)
    paddle.keyframe_insert("rotation_euler", frame=1)
    paddle.location.x, paddle.rotation_euler.y = -0.55, math.radians(60)
    paddle.keyframe_insert("location", frame=20)
    paddle.keyframe_insert("rotation_euler", frame=20)
    curve = bpy.data.curves.new("Word", "FONT")
    curve.body, curve.align_x, curve.align_y, curve.size = "Hi", "CENTER", "CENTER", 1.5
    word = bpy.data.objects.new("Word", curve)
    bpy.context.scene.collection.objects.link(word)
    word.location, word.rotation_euler.x = (0.15, 0.0, 1.2), math.radians(90)
    word.keyfluid.thickness, word.keyfluid.frame, word.keyfluid.hold = 0.3, FRAME, 6
    word.keyfluid.role = "KEYFRAME"
    camera((0.0, -5.6, 1.3), (0.0, 0.0, 0.98))
    return domain


def liquid() -> bpy.types.Object:
    """A ball of water thrown at a pillar."""
    domain = box("Tank", (0.0, 0.0, 0.5), (1.6, 0.8, 1.0), "NONE")
    bpy.context.view_layer.objects.active = domain
    bpy.ops.keyfluid.add_domain()
    settings = domain.keyfluid_domain
    settings.fluid, settings.method = "liquid", "none"
    settings.resolution, settings.preview_resolution, settings.steps = 56, 28, 2
    bpy.ops.mesh.primitive_uv_sphere_add(radius=0.26, location=(-0.45, 0.0, 0.62))
    drop = bpy.context.object
    drop.name, drop.keyfluid.role, drop.keyfluid.velocity = "Drop", "START", (1.6, 0.0, 1.0)
    box("Pool", (0.0, 0.0, 0.07), (1.598, 0.798, 0.138), "START")
    box("Pillar", (0.35, 0.0, 0.25), (0.16, 0.3, 0.5), "OBSTACLE")
    camera((-1.3, -2.9, 1.25), (0.0, 0.0, 0.36))
    return domain


def camera(place: tuple[float, float, float], target: tuple[float, float, float]) -> None:
    scene = bpy.context.scene
    item = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
    scene.collection.objects.link(item)
    item.location = place
    item.rotation_euler = (Vector(target) - Vector(place)).to_track_quat("-Z", "Y").to_euler()
    item.data.lens = 50
    scene.camera = item
    lamp = bpy.data.objects.new("Sun", bpy.data.lights.new("Sun", "SUN"))
    lamp.data.energy, lamp.data.angle = 4.0, 0.05
    lamp.rotation_euler = (math.radians(40), math.radians(-30), 0)
    scene.collection.objects.link(lamp)
    world = bpy.data.worlds.new("Sky")
    scene.world = world
    world.use_nodes = True
    sky = next(node for node in world.node_tree.nodes if node.type == "BACKGROUND")
    sky.inputs["Color"].default_value, sky.inputs["Strength"].default_value = (0.12, 0.16, 0.24, 1.0), 1.0
    bpy.ops.mesh.primitive_plane_add(size=30, location=(0, 0, -0.01))
    bpy.context.object.name = "Floor"
    paint(bpy.context.object, (0.22, 0.22, 0.24))


def paint(item: bpy.types.Object, colour: tuple[float, float, float]) -> None:
    material = bpy.data.materials.new(item.name)
    material.use_nodes = True
    shader = next(node for node in material.node_tree.nodes if node.type == "BSDF_PRINCIPLED")
    shader.inputs["Base Color"].default_value = (*colour, 1.0)
    item.data.materials.clear()
    item.data.materials.append(material)


def render(path: Path, frame: int) -> None:
    scene = bpy.context.scene
    scene.render.engine, scene.cycles.device, scene.cycles.samples = "CYCLES", "CPU", SAMPLES
    scene.cycles.use_denoising = True
    scene.cycles.volume_bounces = 6  # smoke is white because light goes on in it
    scene.render.resolution_x = scene.render.resolution_y = SIZE
    scene.render.resolution_percentage = 100
    scene.render.threads_mode, scene.render.threads = "FIXED", 2
    scene.render.filepath = str(path)
    scene.view_settings.view_transform = "Standard"
    scene.frame_set(frame)
    bpy.ops.render.render(write_still=True)


def picture_of_roles(path: Path, domain: bpy.types.Object) -> None:
    """What was set up: the domain's edges, and each role in a colour of its own."""
    colours = {
        "SOURCE": (0.9, 0.45, 0.1),
        "START": (0.2, 0.5, 0.9),
        "OBSTACLE": (0.5, 0.5, 0.5),
        "KEYFRAME": (0.9, 0.75, 0.2),
    }
    for item in bpy.context.scene.objects:
        if item.keyfluid.role in colours and item.type in ("MESH", "FONT"):
            paint(item, colours[item.keyfluid.role])
            item.hide_render = False
    edges = domain.modifiers.new("Edges", "WIREFRAME")
    edges.thickness = 0.02
    domain.hide_render = False
    render(path, 1)
    domain.modifiers.remove(edges)
    domain.hide_render = True


archive, keyfluid, folder, pictures, kind = sys.argv[1:]
place, out = Path(folder), Path(pictures)
place.mkdir(parents=True, exist_ok=True)
extension = install(archive, keyfluid)
bpy.context.scene.frame_end, bpy.context.scene.render.fps = 36, 24
made = smoke() if kind == "smoke" else liquid()
bpy.ops.wm.save_as_mainfile(filepath=str(place / f"{kind}.blend"))
picture_of_roles(out / f"{kind}_scene.png", made)
if not (extension.gather.folder_of(made) / "run" / "result.json").is_file():
    bpy.ops.keyfluid.run(preview=False)
    print(follow(extension, 3600))
else:
    made.keyfluid_domain.shown = "run"
    bpy.ops.keyfluid.show()
for item in bpy.context.scene.objects:
    if item.keyfluid.role in ("SOURCE", "START", "KEYFRAME"):
        item.hide_render = True
bpy.ops.wm.save_mainfile()
for number in (12, FRAME):
    render(out / f"{kind}_{number}.png", number)
print([[score.frame, round(score.error, 3), round(score.overlap, 3)] for score in made.keyfluid_domain.scores])
if kind == "liquid":
    bpy.context.scene.render.use_motion_blur = False
    render(out / "liquid_12_sharp.png", 12)
