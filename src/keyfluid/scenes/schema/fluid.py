"""What the tables of all fluids share, so that nothing else has to ask which fluid a scene has."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import field_validator

from keyfluid.tables import Table, Wants, is_number

StartSize = Annotated[
    float | Literal["first-key"],
    Wants(
        'a number above 0 or "first-key"',
        lambda v: v == "first-key" if isinstance(v, str) else is_number(v) and v > 0,
    ),
]


class FluidTable(Table):
    """A fluid's table. `initial`: bodies at the start (field, density, velocity, mass); `field`: kinds (name, colour).

    table      its key in the scene
    colour_key the key path of the colour of one of its fields, by the field's number
    reserved   names that its fields can't have
    reusable   whether other scenes can take frames of its runs, or edit them
    steered_by the method to recommend for its keyframes
    thinned    whether a keyframe's density may be lowered to fit (mass = "match")
    no_upres   keys of [upres] that a finer film of it does not have
    stride     cells that it may cross in a step of a finer film, for each that it crossed in the run
    no_grids   kinds of VDB grids that it does not have, and the one that takes their place
    """

    table: ClassVar[str]
    colour_key: ClassVar[str]
    reserved: ClassVar[tuple[str, ...]] = ()
    reusable: ClassVar[bool] = False
    steered_by: ClassVar[str]
    thinned: ClassVar[bool] = False
    no_upres: ClassVar[tuple[str, ...]] = ()
    stride: ClassVar[int] = 1
    no_grids: ClassVar[tuple[tuple[str, ...], str]]

    @field_validator("initial", mode="before", check_fields=False)
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        return [value] if isinstance(value, dict) else value
