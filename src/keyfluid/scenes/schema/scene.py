"""The scene file as data, in metres and seconds; every key's description gives meaning, unit and default."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Any, Literal, get_args

from pydantic import Field, field_validator

from keyfluid.controllers.free.settings import FreeSettings
from keyfluid.scenes.schema.bodies import MOST_BODIES, Body, SolidBody
from keyfluid.scenes.schema.control import AnyControl
from keyfluid.scenes.schema.liquid import LiquidInitial, LiquidTable
from keyfluid.scenes.schema.smoke import Initial, SmokeTable
from keyfluid.scenes.schema.upres import Upres
from keyfluid.tables import (
    Angles,
    ColourValue,
    FieldName,
    File,
    Flag,
    Name,
    NotNegative,
    Number,
    Positive,
    Table,
    Vector,
    Vector3,
    Wants,
    is_number,
    is_numbers,
    is_whole,
    no_more_than,
    number,
    whole,
)

SIDES = ("walls", "periodic", "open")
MOST_FRAMES = 100_000
MOST_RESOLUTION = 16384
MOST_TARGETS = 2000
"""Keyframes of a scene, one for each frame of those with `until`: the target of each is kept in memory."""
MOST_PLACES = 2000
"""Places of an obstacle's path, at most."""

Frame = Annotated[int, whole()]
GridKind = Literal["density", "surface", "temperature", "velocity", "force", "colour", "target"]
Grids = Annotated[
    list[GridKind],
    Wants(
        "a list of " + ", ".join(f'"{kind}"' for kind in get_args(GridKind)) + ", at least one",
        lambda v: isinstance(v, list) and v != [] and all(isinstance(k, str) and k in get_args(GridKind) for k in v),
    ),
]
Boundaries = Annotated[
    str | list[str],
    Wants(
        '"walls", "periodic" or "open", or a list of these, one per axis',
        lambda v: (
            v in SIDES
            if isinstance(v, str)
            else isinstance(v, list) and len(v) in (2, 3) and all(isinstance(w, str) and w in SIDES for w in v)
        ),
    ),
]


class Domain(Table):
    """The box the smoke lives in."""

    size: Annotated[
        list[float],
        Wants(
            "a list of 2 or 3 lengths from 1e-6 to 1e6",
            lambda v: is_numbers(v, 2, 3) and all(1e-6 <= side <= 1e6 for side in v),
        ),
    ] = Field(default=[1.0, 1.0], description="side lengths, metres; two numbers make the scene 2D, three 3D")
    resolution: Annotated[int, whole(4, MOST_RESOLUTION)] = Field(
        default=128,
        description="cells along the longest side; changes nothing else, so a coarse preview predicts the final",
    )
    boundary: Boundaries = Field(default="walls", description="what the sides are")
    up: Literal["y", "z"] = Field(default="y", description="the axis that smoke rises along; z only in 3D")


class Time(Table):
    """How long the scene is."""

    fps: Annotated[float, number(at_least=0.01, at_most=10000)] = Field(default=24.0, description="frames per second")
    frames: Annotated[int, whole(1, MOST_FRAMES)] = Field(
        default=40,
        description="number of the last frame; frame 0 is the start, frame f is at f / fps seconds",
    )
    steps_per_frame: Annotated[
        int | Literal["auto"],
        Wants(
            'a whole number from 1 to 10000 or "auto"',
            lambda v: v == "auto" if isinstance(v, str) else is_whole(v) and 1 <= v <= 10000,
        ),
    ] = Field(
        default=1,
        description='simulation steps per frame; "auto": as many as simulation.cfl asks for. A run notes steps in '
        "which smoke crosses more than a tenth of the longest side, where it begins to lose mass, and ends with one "
        "line where it crosses all of it (and at least 40 cells); a liquid may cross 40 cells",
    )


class Simulation(Table):
    """How the engine computes; the defaults suit nearly all scenes."""

    precision: Literal["float32", "float64"] = Field(default="float32", description="of all fields")
    order: Annotated[Literal[1, 2, 3], Wants("1, 2 or 3", lambda v: is_whole(v) and v in (1, 2, 3))] = Field(
        default=2, description="order of the backtrace of the advection (Runge-Kutta)"
    )
    feet: Literal["own", "shared"] = Field(
        default="own",
        description='"shared" traces once per cell and averages to faces: twice as fast, a little softer',
    )
    interpolation: Literal["linear", "cubic"] = Field(
        default="linear", description='of the advection; "cubic" (monotone) keeps more detail'
    )
    cfl: Annotated[float, number(above=0, at_most=20)] = Field(
        default=1.0, description='cells that smoke may cross in one step with steps_per_frame = "auto"'
    )


class Source(Body):
    """An inflow: smoke, and air if it has a velocity, that comes in while it acts."""

    field: FieldName | None = Field(default=None, description="the kind of smoke; default: the first of smoke.field")
    density: Positive | None = Field(
        default=None, description="the region is held at this density; default 1 unless `rate` is given"
    )
    rate: Positive | None = Field(
        default=None,
        description="density added per second inside the region, instead of `density`: what the source gives is then "
        "known beforehand, though not what the flow keeps of it",
    )
    velocity: Vector | None = Field(
        default=None, description="the air in the region is held at it, m/s; default: left alone"
    )
    temperature: Number | None = Field(
        default=None,
        description="the air in the region is held at it, kelvin above the air around; default: left alone",
    )
    start: Frame = Field(default=0, description="frame at which it begins")
    stop: Frame | None = Field(default=None, description="frame at which it ends; default: the last")


class PathPoint(Table):
    """A place on an obstacle's path."""

    frame: Annotated[float, number(at_least=0)] = Field(..., description="when, in frames; may lie between two")
    center: Vector = Field(..., description="where the obstacle's middle is, metres")
    rotation: Angles | None = Field(default=None, description="how it is turned, degrees; default: as before")


class Obstacle(SolidBody):
    """A solid: a shape or a mesh, still, moving or deforming (a mesh sequence, or an animated glTF file)."""

    velocity: Vector | None = Field(default=None, description="it moves from its center at this velocity, m/s")
    path: Annotated[list[PathPoint], no_more_than(MOST_PLACES)] | None = Field(
        default=None,
        description="places it passes, straight and evenly between them; before the first and after the "
        "last it "
        "rests; instead of center and velocity",
    )
    spin: Annotated[
        float | list[float],
        Wants("a number, or in 3D a list of three", lambda v: is_number(v) or is_numbers(v, 3)),
    ] = Field(
        default=0.0,
        description="turning about its center, degrees per second; in 3D a vector along the axis, or one "
        "number about z",
    )


class Mask(Body):
    """The region that a keyframe or a flow asks about, or that a wind blows in."""

    outside: Flag = Field(default=False, description="the region is all but this body")


class WindEntry(Table):
    """Wind: the air is drawn towards a velocity. It needs "open" or "periodic" sides along it, or a `mask`."""

    velocity: Vector = Field(..., description="of the wind, m/s")
    start: Frame = Field(default=0, description="frame at which it begins")
    stop: Frame | None = Field(default=None, description="frame at which it has ended; default: never")
    ramp: Annotated[float, number(at_least=0)] = Field(
        default=4.0, description="frames over which it rises after `start`, and falls before `stop`"
    )
    rate: Annotated[float, number(above=0, at_most=10000)] = Field(
        default=4.0, description="how fast air takes it up, 1/s: after t seconds 1 - exp(-rate t) of it"
    )
    gust: Annotated[float, number(at_least=0, at_most=10)] = Field(
        default=0.0,
        description="strength of gusts, root mean square as a share of the wind's speed: it swells and has eddies",
    )
    gust_frequency: Annotated[float, number(above=0, at_most=1000)] = Field(
        default=1.5, description="how often gusts come, 1/s"
    )
    gust_size: Positive | None = Field(
        default=None, description="size of their eddies, metres; default: a sixth of the longest side"
    )
    mask: Mask | None = Field(default=None, description="only in this region; default: everywhere")


class KeyframeEntry(Body):
    """A shape the smoke is to have at a frame."""

    frame: Frame = Field(..., description="when: 1 to time.frames")
    until: Frame | None = Field(
        default=None,
        description="one keyframe for each frame from `frame` to this one (for animated meshes), at most "
        f"{MOST_TARGETS} in a scene; default: only one",
    )
    field: FieldName | None = Field(default=None, description="the kind of smoke; default: the first of smoke.field")
    mass: Literal["resize", "match", "keep"] | None = Field(
        default=None,
        description='"resize": scaled about its center until its mass, at the smoke\'s peak density, is '
        "that of the "
        'smoke present; "match": its density is scaled instead; "keep": left alone. Default '
        '"resize"; "match" for '
        'vdb and npy, "keep" for run',
    )
    weight: NotNegative = Field(default=1.0, description="how much it counts beside the others")
    mask: Mask | None = Field(default=None, description="only this region counts; default: everywhere")
    hold: Annotated[int, whole(0)] = Field(
        default=0, description="frames that it keeps acting before the next key or release"
    )


class PictureEntry(Table):
    """How the smoke should look from one side of a 3D scene: for the methods adjoint and spectral."""

    frame: Frame = Field(..., description="when: 1 to time.frames")
    image: File = Field(
        ...,
        description="a picture file as wide and high as the domain seen from `view`: black is no smoke, white endless "
        "smoke; `keyfluid render RUN --view +z --frame F` makes one to paint over",
    )
    view: Literal["+x", "-x", "+y", "-y", "+z", "-z"] = Field(
        default="+z", description="where the viewer stands; +z: beyond the upper end of z, x to the right, y up"
    )
    field: FieldName | None = Field(default=None, description="the kind of smoke; default: the first of smoke.field")
    weight: NotNegative = Field(default=1.0, description="how much it counts beside the others")
    extinction: Positive | None = Field(
        default=None,
        description="of smoke of density 1, 1/m; default: 6 over the longest side. Where smoke is all white, paint "
        "has no hold on it: lower it",
    )


class FlowEntry(Table):
    """How the air should move at a frame, in a region: for the methods adjoint and spectral."""

    frame: Frame = Field(..., description="when: 1 to time.frames")
    velocity: Vector = Field(..., description="to reach in the region, m/s; zeros mean rest")
    mask: Mask | None = Field(default=None, description="only this region counts; default: everywhere")
    weight: NotNegative = Field(
        default=1.0,
        description="how much it counts: at 1, a velocity wrong by its own size counts as much as densities that are "
        "wholly wrong",
    )


class Edit(Table):
    """Another run to change in a window of time: for the methods adjoint and spectral."""

    run: File = Field(..., description="folder of a finished run with the same domain, time, smoke and bodies")
    first: Annotated[int, whole(0)] = Field(
        ..., description="the frames up to this one are the run's own, bit for bit; control begins after it"
    )
    last: Frame | None = Field(
        default=None,
        description="control ends at this frame; in the window and after it the run's own forces act too; default: the "
        "last keyframe",
    )


class Camera(Table):
    """Where pictures of 3D scenes are taken from."""

    position: Vector3 | None = Field(default=None, description="metres; default: a view that holds the whole domain")
    look_at: Vector3 | None = Field(default=None, description="metres; default: the middle of the domain")
    fov: Annotated[float, number(at_least=1, at_most=160)] = Field(
        default=28.0, description="angle of view, degrees of height"
    )
    orbit: Number = Field(default=0.0, description="degrees the camera is carried around look_at over the whole film")
    floor: Flag = Field(default=False, description="the domain stands on a lit floor that takes the shadow")


class Light(Table):
    """The light in pictures of 3D scenes."""

    direction: Vector3 | None = Field(default=None, description="towards the light; default: from above on the left")
    colour: ColourValue = Field(default="#fff1de", description="of the key light")
    strength: NotNegative = Field(default=1.5, description="of the key light")
    sky_colour: ColourValue = Field(default="#9fbdf0", description="of the sky")
    sky_strength: NotNegative = Field(default=0.38, description="of the sky")
    forward: Annotated[float, number(at_least=-0.95, at_most=0.95)] = Field(
        default=0.25,
        description="forward scattering (Henyey-Greenstein's g): above 0 smoke glows against the light",
    )
    extinction: Positive | None = Field(
        default=None,
        description="how opaque smoke of full density is, 1/m; default: 32 over the longest side",
    )


class Output(Table):
    """What a run writes."""

    vdb: Flag = Field(default=True, description="a VDB sequence")
    live: Flag = Field(
        default=False,
        description="write each VDB file as soon as its frame is computed too, for a program that shows the film while "
        "it grows",
    )
    usd: Flag = Field(
        default=False,
        description="a USD stage, NAME.usda: the VDB sequence as a volume, or the liquid as a mesh with velocities, "
        "with camera, lights, obstacles, targets and the domain",
    )
    video: Flag = Field(default=True, description="a film (MP4 where the video extra is installed, else GIF)")
    film: Literal["draft", "final"] | None = Field(
        default=None,
        description='how pictures are drawn; "draft": half as large and, in 3D, with fewer samples, four times as fast '
        'or better; default "final", and "draft" with --preview',
    )
    png: Flag = Field(default=False, description="the film's frames as PNG files")
    start_frame: Annotated[int, whole(0, 10_000_000)] = Field(
        default=1001, description="number of frame 0 in file names"
    )
    names: Literal["houdini", "blender", "both"] = Field(
        default="houdini",
        description='whose names VDB grids have: "vel" and "Cd", or "velocity" and "color"; "both": these grids twice',
    )
    up: Literal["y", "z"] | None = Field(default=None, description="the up axis in VDB files; default: domain.up")
    half: Annotated[
        bool | Literal["density"], Wants('true, false or "density"', lambda v: isinstance(v, bool) or v == "density")
    ] = Field(
        default="density",
        description='half precision in VDB files: true: of every grid, "density": of densities, temperatures, '
        "colours and targets, but not where their peak is below 0.1 or above 30,000; false: of none",
    )
    grids: Grids | None = Field(
        default=None,
        description="the grids in VDB files; default: all that there are (density or surface, temperature where "
        "something is warm, velocity, force, colour where there are several kinds of smoke, target at keyframes)",
    )
    threshold: Annotated[float, number(at_least=0, at_most=1)] = Field(
        default=1e-3,
        description="voxels with less smoke than this share of its peak density are inactive in VDB files, and with "
        "them vectors and colours that are not beside smoke; 0: every voxel that is not zero is stored",
    )
    keep: Literal["all", "film", "scene"] = Field(
        default="film",
        description='what stays in the folder of a finished run: "film": frames, and the forces that an optimisation '
        'found, which resume, --from, edit, render and export need; "all": also the optimiser\'s memory; "scene": '
        "neither, only scene, result, films, report and exported files",
    )
    size: Annotated[int, whole(16, 8192)] = Field(default=512, description="longer side of pictures, pixels")


class Scene(Table):
    """A scene; `name` and `seed` stand above the first table."""

    name: Name = Field(default="scene", description="names the output files")
    seed: Annotated[int, whole(0, 2**31 - 1)] = Field(default=0, description="of everything random")
    domain: Domain = Field(default=Domain(), description="the box")
    time: Time = Field(default=Time(), description="its length")
    smoke: SmokeTable = Field(default=SmokeTable(), description="the smoke")
    liquid: LiquidTable | None = Field(default=None, description="a liquid instead of smoke")
    source: Annotated[list[Source], no_more_than(MOST_BODIES)] = Field(default=[], description="inflows")
    wind: Annotated[list[WindEntry], no_more_than(MOST_BODIES)] = Field(
        default=[], description="winds: a table, or several ([[wind]])"
    )
    obstacle: Annotated[list[Obstacle], no_more_than(MOST_BODIES)] = Field(default=[], description="solids")
    keyframe: Annotated[list[KeyframeEntry], no_more_than(MOST_TARGETS)] = Field(
        default=[], description="shapes to reach"
    )
    picture: Annotated[list[PictureEntry], no_more_than(MOST_BODIES)] = Field(default=[], description="looks to reach")
    flow: Annotated[list[FlowEntry], no_more_than(MOST_BODIES)] = Field(default=[], description="velocities to reach")
    edit: Edit | None = Field(default=None, description="a run to change")
    control: AnyControl = Field(default=FreeSettings(), description="the method")
    upres: Upres | None = Field(default=None, description="a finer film of the run")
    simulation: Simulation = Field(default=Simulation(), description="engine options")
    camera: Camera = Field(default=Camera(), description="view of 3D scenes")
    light: Light = Field(default=Light(), description="light of 3D scenes")
    output: Output = Field(default=Output(), description="files to write")

    @field_validator("wind", mode="before")
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        return [value] if isinstance(value, dict) else value

    @property
    def dimension(self) -> int:
        return len(self.domain.size)

    @property
    def warm(self) -> bool:
        """Whether something has a temperature of its own."""
        return any(entry.temperature is not None for entry in (*self.source, *self.fluid.initial))

    @cached_property
    def fluid(self) -> SmokeTable | LiquidTable:
        """The table of the scene's fluid."""
        return self.liquid or self.smoke

    def field_of(self, entry: Initial | LiquidInitial | Source | KeyframeEntry | PictureEntry) -> str:
        """The name of the kind of fluid an entry refers to."""
        return entry.field if entry.field is not None else self.fluid.field[0].name
