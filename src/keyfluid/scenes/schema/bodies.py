"""What something is made of and where it stands: keys shared by starts, sources, obstacles and keyframes."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from keyfluid.tables import (
    Angles,
    ColourValue,
    File,
    Flag,
    Positive,
    Table,
    Vector,
    Wants,
    is_number,
    is_numbers,
    no_more_than,
    number,
    whole,
    words,
)

ShapeName = Literal["disk", "sphere", "ring", "torus", "box", "capsule", "cylinder", "cone", "star", "cross", "heart"]
Lengths = Annotated[
    float | list[float],
    Wants(
        "a number above 0, or for a box one per axis",
        lambda v: (is_number(v) and v > 0) or (is_numbers(v, 2, 3) and min(v) > 0),
    ),
]

MOST_FIELDS = 32
"""Kinds of smoke, and colours of a palette."""
Palette = Annotated[list[ColourValue], no_more_than(MOST_FIELDS, "colours")]

MOST_BODIES = 500
"""Starts, sources, obstacles, pictures and flows of a scene, of each kind."""

SHAPE_KEYS: dict[str, tuple[str, ...]] = {
    "disk": ("radius",),
    "sphere": ("radius",),
    "ring": ("radius", "thickness"),
    "torus": ("radius", "thickness"),
    "box": ("size",),
    "capsule": ("length", "radius"),
    "cylinder": ("radius", "height"),
    "cone": ("radius", "height"),
    "star": ("points", "radius", "inner", "depth"),
    "cross": ("size", "thickness", "depth"),
    "heart": ("size", "depth"),
}
"""The measures each named shape has (a test compares them with keyfluid.shapes)."""

KIND_KEYS: dict[str, tuple[str, ...]] = {
    "shape": tuple(sorted({key for keys in SHAPE_KEYS.values() for key in keys})),
    "text": ("font", "align", "depth", "axis"),
    "image": ("invert", "palette", "ink", "depth", "axis"),
    "mesh": ("animated", "mesh_fps"),
    "vdb": ("grid",),
    "npy": (),
    "run": ("run_frame", "move", "twist", "bend", "paint"),
}
"""The keys that only go with one kind of body."""


class Placed(Table):
    """Where a body stands and how large it is."""

    center: Vector | None = Field(
        default=None,
        description="where its middle goes, metres; default: the middle of the domain (a VDB keeps its place)",
    )
    scale: Positive = Field(default=1.0, description="multiplies its size")
    rotation: Angles = Field(
        default=0.0,
        description="degrees, counter-clockwise; in 3D three angles about the fixed x, then y, then z axis, "
        "one number turns about z",
    )
    fit: Positive | None = Field(
        default=None,
        description="the fraction of the domain it fills on its tightest axis; default: 0.6 for text and "
        "images, "
        "else its own size in metres",
    )


class SolidBody(Placed):
    """A body with a surface: a named shape or a mesh."""

    shape: ShapeName | None = Field(
        default=None,
        description="a named shape: disk/sphere, ring/torus, box, capsule (along x), cylinder and cone "
        "(3D, along "
        "up), star, cross, heart",
    )
    mesh: File | None = Field(
        default=None,
        description="a mesh file (.obj .ply .stl .gltf .glb; 3D), or a sequence: a folder or walk.####.obj; metres "
        "unless `fit` is given. Buffers of a .gltf file must lie in its own folder or below; materials and images "
        "that a mesh names are never opened",
    )
    radius: Positive | None = Field(
        default=None,
        description="of disk, sphere, ring, torus, capsule, cylinder, cone or star, metres; default 0.1 to 0.25",
    )
    thickness: Positive | None = Field(
        default=None, description="of the ring's or torus's tube (0.1) or the cross's bars (0.14), metres"
    )
    size: Lengths | None = Field(
        default=None,
        description="side of a box (or a list, one per axis), width of a cross or heart, metres; default 0.4",
    )
    length: Positive | None = Field(default=None, description="of a capsule's segment, metres; default 0.3")
    height: Positive | None = Field(default=None, description="of a cylinder or cone, metres; default 0.4")
    points: Annotated[int, whole(3, 100)] | None = Field(default=None, description="tips of a star; default 5")
    inner: Annotated[float, number(above=0, at_most=0.99)] | None = Field(
        default=None, description="radius of a star's notches over that of its tips; default 0.45"
    )
    depth: Positive | None = Field(
        default=None,
        description="thickness in 3D of a star, cross, heart, text or image, metres; default 0.15 of its extent",
    )
    animated: Flag | None = Field(
        default=None,
        description="play the animation of a .gltf or .glb file, in step with the scene's time; default "
        "false "
        "(sequences always play)",
    )
    mesh_fps: Positive | None = Field(
        default=None,
        description="frames per second of a mesh sequence; default: time.fps, one mesh per frame",
    )


class Body(SolidBody):
    """Anything that has density: one of shape, text, image, mesh, vdb, npy, run."""

    text: Annotated[str, words()] | None = Field(default=None, description='letters; "\\n" breaks the line')
    image: File | None = Field(
        default=None,
        description="a picture; its alpha channel is the density, or else its brightness (white is full)",
    )
    vdb: File | None = Field(
        default=None,
        description="an OpenVDB file: a fog volume or a level set, at its own place in metres; in 2D one voxel thick",
    )
    npy: File | None = Field(
        default=None, description="a .npy array a[x, y(, z)] of density, spread over the domain unless placed"
    )
    font: File | None = Field(default=None, description="a .ttf or .otf file for text; default DejaVu Sans Bold")
    align: Literal["left", "center", "right"] | None = Field(
        default=None, description='of lines of different length; default "center"'
    )
    invert: Flag | None = Field(default=None, description="of an image: black is full; default false")
    palette: Palette | None = Field(
        default=None,
        description="of an image: the colours it is drawn in, beside its paper (what is transparent, or else the "
        "border's colour); every other colour counts as the nearest of them. `smoke.colours` fills it in",
    )
    ink: ColourValue | None = Field(
        default=None,
        description="of an image with `palette`: the one of these colours that is smoke here; `center`, `fit` and "
        "`mass` still refer to the whole drawing, so that its colours stay together",
    )
    axis: Literal["x", "y", "z", "-x", "-y", "-z"] | None = Field(
        default=None,
        description='where text and images face in 3D; default "z" ("-y" where up is "z"): the front view',
    )
    grid: Annotated[str, words(200)] | None = Field(
        default=None,
        description='name of the grid in the VDB file; default "density", or else its only scalar grid',
    )
    run: File | None = Field(
        default=None, description="folder of a run: its smoke at `run_frame`, of the same field, over the whole domain"
    )
    run_frame: Annotated[int, whole(0)] | None = Field(
        default=None, description="which frame of the run; default: the keyframe's own, of a start 0"
    )
    move: Vector | None = Field(default=None, description="of a run's smoke: how far it is moved, metres")
    twist: Annotated[float, number(at_least=-1440, at_most=1440)] | None = Field(
        default=None,
        description="of a run's smoke, 3D: degrees it is turned about the upright axis through its middle, from 0 at "
        "its lower end to this at its upper end",
    )
    bend: Annotated[float, number(at_least=-180, at_most=180)] | None = Field(
        default=None,
        description="of a run's smoke: degrees it is bent from upright towards x, from its lower end to its upper end",
    )
    paint: File | None = Field(
        default=None,
        description="of a run's smoke, 2D: a grey picture of the whole domain in its place; white is the frame's peak",
    )
