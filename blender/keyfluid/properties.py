# SPDX-License-Identifier: GPL-3.0-or-later
"""What is saved in the .blend: the role of an object, and the settings of a domain and of its last run."""

from __future__ import annotations

import bpy
from bpy.props import (
    BoolProperty,
    CollectionProperty,
    EnumProperty,
    FloatProperty,
    FloatVectorProperty,
    IntProperty,
    PointerProperty,
    StringProperty,
)

MARKER = "keyfluid "
"""Begins the names of timeline markers; the object's name follows."""

ROLES = (
    ("NONE", "None", "keyfluid leaves this object alone"),
    ("DOMAIN", "Domain", "The box that the fluid lives in"),
    ("START", "Start", "Fluid that is there at the first frame"),
    ("SOURCE", "Source", "Smoke comes in here"),
    ("OBSTACLE", "Obstacle", "A solid, at rest, moving or deforming"),
    ("KEYFRAME", "Keyframe", "The shape that the fluid takes at a frame"),
)
METHODS = (
    ("target", "Target", "One pass; the smoke is drawn to each keyframe. Fast"),
    ("spectral", "Spectral", "Optimised long waves; smooth and precise. Slow"),
    ("adjoint", "Adjoint", "Optimised winds or forces. Slow, the only precise one for liquids"),
    ("particles", "Particles", "Markers follow the shape, for animated characters"),
    ("spacetime", "Spacetime", "All frames optimised together with the least force"),
    ("none", "Free", "Nothing steers the fluid"),
)


def marker_of(item: bpy.types.Object) -> bpy.types.TimelineMarker | None:
    """The marker that says when a keyframe is."""
    scene = bpy.context.scene
    return scene.timeline_markers.get(MARKER + item.name) if scene is not None else None


def place_marker(settings: KeyfluidObject, _context: object = None) -> None:
    """Keep the marker of a keyframe at its frame; remove it where the role has changed."""
    item, scene = settings.id_data, bpy.context.scene
    found = marker_of(item)
    if settings.role == "KEYFRAME":
        if found is None:
            found = scene.timeline_markers.new(MARKER + item.name)
        found.frame = settings.frame
    elif found is not None:
        scene.timeline_markers.remove(found)


class KeyfluidScore(bpy.types.PropertyGroup):
    """How well a keyframe is met."""

    frame: IntProperty()
    error: FloatProperty()
    overlap: FloatProperty()


class KeyfluidObject(bpy.types.PropertyGroup):
    """Settings of an object; only those of its role are used."""

    role: EnumProperty(name="Role", items=ROLES, default="NONE", update=place_marker)

    density: FloatProperty(name="Density", default=1.0, min=0.01, soft_max=4.0, description="Of the smoke")
    velocity: FloatVectorProperty(
        name="Velocity", subtype="VELOCITY", description="Of the fluid, m/s; zero: left alone"
    )
    temperature: FloatProperty(name="Warmer by", default=0.0, description="Kelvin above the air around; 0: left alone")
    fit_first_key: BoolProperty(
        name="Size of first keyframe", default=False, description="Resize the start to the mass of the first keyframe"
    )

    use_range: BoolProperty(name="Limit frames", default=False, description="The source acts in a part of the film")
    range_first: IntProperty(name="First", default=1)
    range_last: IntProperty(name="Last", default=40)

    frame: IntProperty(name="Frame", default=30, description="When the fluid has this shape", update=place_marker)
    animated: BoolProperty(name="Follow the animation", description="One keyframe for each frame up to the last")
    until: IntProperty(name="Until", default=40, description="Last frame of an animated keyframe")
    hold: IntProperty(name="Hold", default=0, min=0, description="Frames that the shape is kept")
    keep_size: BoolProperty(
        name="Keep size", default=False, description="Do not resize the shape to the mass of the fluid that is there"
    )
    weight: FloatProperty(name="Weight", default=1.0, min=0.0)
    thickness: FloatProperty(
        name="Thickness", default=0.0, min=0.0, unit="LENGTH", description="Of flat text, curves and images; 0: a sixth"
    )


class KeyfluidDomain(bpy.types.PropertyGroup):
    """Settings of a domain and what its last run gave."""

    fluid: EnumProperty(
        name="Fluid", items=(("smoke", "Smoke", "Smoke in air"), ("liquid", "Liquid", "Water, honey or clay"))
    )
    resolution: IntProperty(
        name="Resolution", default=64, min=8, max=1024, description="Cells along the longest side of the domain"
    )
    preview_resolution: IntProperty(name="Preview", default=32, min=8, max=512, description="Cells of a preview")
    frame_first: IntProperty(name="First frame", default=1, min=0)
    frame_last: IntProperty(name="Last frame", default=40, min=1)
    steps: IntProperty(
        name="Steps per frame", default=1, min=0, max=100, description="0: as many as the speed requires"
    )
    boundary: EnumProperty(
        name="Sides",
        items=(("walls", "Walls", ""), ("open", "Open", "Smoke leaves through them"), ("periodic", "Periodic", "")),
    )
    buoyancy: FloatProperty(name="Buoyancy", default=1.0, description="Upward acceleration of full smoke, m/s²")
    vorticity: FloatProperty(name="Vorticity", default=0.0, min=0.0, description="Keeps eddies alive")
    dissipation: FloatProperty(
        name="Dissipation", default=0.0, min=0.0, description="Rate at which smoke thins out, 1/s"
    )
    gravity: FloatProperty(name="Gravity", default=9.81, description="m/s²")
    viscosity: FloatProperty(
        name="Viscosity", default=0.0, min=0.0, precision=4, description="m²/s; honey 0.05, clay 0.5"
    )

    method: EnumProperty(name="Method", items=METHODS, default="target")
    strength: FloatProperty(name="Strength", default=0.0, min=0.0, description="More arrives earlier; 0: automatic")
    damping: FloatProperty(name="Damping", default=1.0, min=0.0, description="More is calmer, less overshoots")
    gathering: FloatProperty(name="Gathering", default=1.0, min=0.0, description="More is sharper and less natural")
    iterations: IntProperty(name="Iterations", default=0, min=0, description="Of the search, at most; 0: automatic")
    threads: IntProperty(name="Threads", default=0, min=0, description="0: automatic")
    upres_factor: IntProperty(name="Factor", default=2, min=2, max=16, description="Cells per axis, times the run's")
    solve_from: IntProperty(name="From frame", default=20, description="Frames up to this one are kept")
    video: BoolProperty(name="Film and report", default=False, description="keyfluid draws a film of its own too")
    motion_blur: BoolProperty(name="Motion blur", default=True, description="Turn on motion blur when a run is shown")

    folder: StringProperty(
        name="Folder", default="//keyfluid", subtype="DIR_PATH", description="Where scenes are written"
    )
    shown: StringProperty(description="The run that is shown: preview, run or upres")
    message: StringProperty()
    failed: BoolProperty()
    scores: CollectionProperty(type=KeyfluidScore)
    volume: PointerProperty(type=bpy.types.Object)
    liquid: PointerProperty(type=bpy.types.Object)


CLASSES = (KeyfluidScore, KeyfluidObject, KeyfluidDomain)


def register() -> None:
    for each in CLASSES:
        bpy.utils.register_class(each)
    bpy.types.Object.keyfluid = PointerProperty(type=KeyfluidObject)
    bpy.types.Object.keyfluid_domain = PointerProperty(type=KeyfluidDomain)


def unregister() -> None:
    del bpy.types.Object.keyfluid_domain
    del bpy.types.Object.keyfluid
    for each in reversed(CLASSES):
        bpy.utils.unregister_class(each)
