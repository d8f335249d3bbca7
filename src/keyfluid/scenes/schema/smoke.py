"""[smoke]: densities carried by air."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from keyfluid.scenes.schema.bodies import MOST_BODIES, MOST_FIELDS, Body
from keyfluid.scenes.schema.fluid import FluidTable, StartSize
from keyfluid.tables import (
    ColourValue,
    FieldName,
    NotNegative,
    Number,
    Positive,
    Table,
    Vector,
    Wants,
    is_colour,
    is_whole,
    no_more_than,
    number,
)

DEFAULT_FIELD = "density"
ROOM_LIFT = 0.0335
"""g / T: the lift of air a kelvin warmer than a room of 293 K, m/s^2."""
Rate = Annotated[float, number(at_least=0, at_most=10000)]
MOST_COLOURS = 12
"""Colours that are looked for in pictures; each is a field that every step carries."""


Colours = Annotated[
    int | Literal["auto", "fields"] | list[ColourValue],
    Wants(
        f'"auto", "fields", a whole number from 1 to {MOST_COLOURS} or a list of 1 to {MOST_FIELDS} colours',
        lambda v: (
            v in ("auto", "fields")
            if isinstance(v, str)
            else (0 < len(v) <= MOST_FIELDS and all(map(is_colour, v)))
            if isinstance(v, list)
            else is_whole(v) and 1 <= v <= MOST_COLOURS
        ),
    ),
]


class SmokeField(Table):
    """One kind of smoke; several share the air."""

    name: FieldName = Field(..., description="what `field =` refers to, and the grid's name in VDB files")
    colour: ColourValue = Field(
        default="#f4f4f2", description="in pictures: a name, '#rrggbb' or three numbers from 0 to 1"
    )


class Initial(Body):
    """Smoke that is there at frame 0."""

    field: FieldName | None = Field(default=None, description="the kind of smoke; default: the first of smoke.field")
    density: Positive = Field(
        default=1.0, description="of the smoke where the body is full; multiplies the values of vdb and npy"
    )
    velocity: Vector | None = Field(
        default=None, description="of the air inside it at the start, m/s; default: at rest"
    )
    temperature: Number | None = Field(
        default=None, description="kelvin above the air around, inside it at the start; default: as the air around"
    )
    mass: StartSize | None = Field(
        default=None,
        description="density times volume (m^2 in 2D, m^3 in 3D): the body is resized to it; "
        '"first-key": to the mass '
        "of the first keyframe of its field, which then keeps its size; default: its own size",
    )


class SmokeTable(FluidTable):
    """The smoke and how the air under it behaves."""

    table: ClassVar[str] = "smoke"
    colour_key: ClassVar[str] = "smoke.field[{}].colour"
    reserved: ClassVar[tuple[str, ...]] = ("vel", "velocity", "force", "target", "temperature", "Cd", "surface")
    reusable: ClassVar[bool] = True
    no_upres: ClassVar[tuple[str, ...]] = ("spray", "near")
    stride: ClassVar[int] = 2
    steered_by: ClassVar[str] = "spectral"
    thinned: ClassVar[bool] = True
    no_grids: ClassVar[tuple[tuple[str, ...], str]] = (("surface",), "density")

    initial: Annotated[list[Initial], no_more_than(MOST_BODIES)] = Field(
        default=[], description="what is there at the start: a table, or several ([[smoke.initial]])"
    )
    field: Annotated[list[SmokeField], no_more_than(MOST_FIELDS)] = Field(
        default=[SmokeField(name=DEFAULT_FIELD)], description='kinds of smoke; default: one, named "density"'
    )
    colours: Colours | None = Field(
        default=None,
        description="coloured pictures: every start, source and keyframe that is an image without `field` becomes one "
        'body for each of its colours, and each colour a field with a name such as "red". "auto" finds the colours in '
        'the pictures, a number says how many, a list gives them; "fields": those of smoke.field. Transparent pixels '
        "and paper (the border's colour) are no smoke; default: an image is one body, by alpha or brightness",
    )
    buoyancy: Number = Field(
        default=0.0, description="upward acceleration of air filled with smoke of density 1, m/s^2"
    )
    viscosity: NotNegative = Field(default=0.0, description="kinematic viscosity of the air, m^2/s")
    vorticity: NotNegative = Field(
        default=0.0,
        description="strength of vorticity confinement, 1/s: Fedkiw 2001's epsilon, weaker on finer grids",
    )
    drag: Rate = Field(
        default=0.0,
        description="rate at which the air comes to rest, 1/s: after t seconds exp(-drag t) of its speed is left",
    )
    dissipation: Rate = Field(
        default=0.0,
        description="rate at which smoke thins out, 1/s: after t seconds exp(-dissipation t) of it is "
        "left; keyframes thin out with it",
    )
    cooling: Rate = Field(
        default=0.0,
        description="rate at which warm air cools, 1/s: after t seconds exp(-cooling t) of its `temperature` is left",
    )
    heat_buoyancy: Number = Field(
        default=ROOM_LIFT,
        description="upward acceleration of air per kelvin of `temperature`, m/s^2; default: 9.81 / 293, that of warm "
        "air in a room",
    )
