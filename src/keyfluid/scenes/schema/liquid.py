"""[liquid]: a body of liquid under a free surface, in place of smoke.

To everything that counts and places (mass rules, bounds, keyframes) a liquid is smoke of density 1 named "surface";
`as_smoke` says so. What makes it a liquid is its model (keyfluid.models.liquid).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from keyfluid.scenes.schema.bodies import MOST_BODIES, Body
from keyfluid.tables import ColourValue, Flag, NotNegative, Number, Table, Vector, Wants, is_number, no_more_than

SURFACE = "surface"


class LiquidInitial(Body):
    """Liquid that is there at frame 0."""

    velocity: Vector | None = Field(default=None, description="of the liquid at the start, m/s; default: at rest")
    volume: (
        Annotated[
            float | Literal["first-key"],
            Wants(
                'a number above 0 or "first-key"',
                lambda v: v == "first-key" if isinstance(v, str) else is_number(v) and v > 0,
            ),
        ]
        | None
    ) = Field(
        default=None,
        description='m^2 in 2D, m^3 in 3D: the body is resized to it; "first-key": to that of the first keyframe, '
        "which then keeps its size; default: its own size",
    )


class Liquid(Table):
    """The liquid, instead of [smoke]; a keyframe is the shape of its surface. Sides are walls or periodic."""

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

    @field_validator("initial", mode="before")
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        return [value] if isinstance(value, dict) else value

    def as_smoke(self) -> dict[str, Any]:
        """Tables of smoke that stand for it where shapes are placed and sized."""
        starts = []
        for entry in self.initial:
            keys = entry.model_dump(mode="python", exclude_none=True)
            volume = keys.pop("volume", None)
            starts.append(keys if volume is None else {**keys, "mass": volume})
        return {
            "initial": starts,
            "field": [{"name": SURFACE, "colour": self.colour}],
            "viscosity": self.viscosity,
        }
