"""[liquid]: a body of liquid under a free surface, in place of smoke.

To everything that counts and places (mass rules, bounds, keyframes) it has one field, "surface", of density 1, whose
mass is its volume.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from keyfluid.scenes.schema.bodies import MOST_BODIES, Body
from keyfluid.scenes.schema.fluid import FluidTable, StartSize
from keyfluid.scenes.schema.smoke import SmokeField
from keyfluid.tables import ColourValue, Flag, NotNegative, Number, Vector, no_more_than

SURFACE = "surface"


class LiquidInitial(Body):
    """Liquid that is there at frame 0."""

    velocity: Vector | None = Field(default=None, description="of the liquid at the start, m/s; default: at rest")
    volume: StartSize | None = Field(
        default=None,
        description='m^2 in 2D, m^3 in 3D: the body is resized to it; "first-key": to that of the first keyframe, '
        "which then keeps its size; default: its own size",
    )

    field: ClassVar[None] = None
    temperature: ClassVar[None] = None
    density: ClassVar[float] = 1.0

    @property
    def mass(self) -> StartSize | None:
        return self.volume


class LiquidTable(FluidTable):
    """The liquid, instead of [smoke]; a keyframe is the shape of its surface. Sides are walls or periodic."""

    table: ClassVar[str] = "liquid"
    dissipation: ClassVar[float] = 0.0
    colours: ClassVar[None] = None
    colour_key: ClassVar[str] = "liquid.colour"
    steered_by: ClassVar[str] = "adjoint"
    no_upres: ClassVar[tuple[str, ...]] = ("vorticity", "buoyancy", "polish")
    no_grids: ClassVar[tuple[tuple[str, ...], str]] = (("density", "colour"), "surface")

    initial: Annotated[list[LiquidInitial], no_more_than(MOST_BODIES)] = Field(
        default=[], description="what is there at the start: a table, or several ([[liquid.initial]])"
    )
    gravity: Number = Field(default=9.81, description="downward acceleration, m/s^2")
    viscosity: NotNegative = Field(
        default=0.0, description="kinematic viscosity, m^2/s: 0 is water, 0.05 honey, 0.5 and more clay"
    )
    volume: Literal["keep", "free"] = Field(
        default="keep",
        description='"keep": what the grid loses or gains of it in a step is given back along the whole surface',
    )
    order: Literal["projected", "paper"] = Field(
        default="projected",
        description='of a step: the surface moves with the projected velocity; "paper": McNamara 2004\'s order, which '
        "moves it with the wind before projection",
    )
    colour: ColourValue = Field(default="#3f8fd0", description="in pictures")
    mesh: Flag = Field(default=True, description="in 3D the surface of every frame as a mesh: mesh/NAME.1001.ply")

    @property
    def field(self) -> list[SmokeField]:
        return [SmokeField(name=SURFACE, colour=self.colour)]
