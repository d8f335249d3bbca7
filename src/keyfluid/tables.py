"""A TOML table, and what its keys may hold: a test, and the words for it that errors and the documentation share.

TOML has types, so nothing is converted: "3" is not a number and true is not 1. Scenes and the methods' own settings are
made of these; nothing here knows of arrays.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationInfo
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from keyfluid.errors import KeyfluidError

LARGEST = 1e12
_COLOUR = re.compile(r"#[0-9a-fA-F]{6}|[a-zA-Z]{3,20}")


@dataclass(frozen=True, eq=False)
class Wants:
    """Metadata of an annotation: values that fail `test` are refused with `text`."""

    text: str
    test: Callable[[Any], bool]
    schema: dict[str, Any] = field(default_factory=dict)

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_before_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {**handler(schema), **self.schema}

    def check(self, value: Any) -> Any:
        if not self.test(value):
            beyond = any(map(_is_beyond, value if isinstance(value, list) else [value]))
            stated = " to " in self.text or "at most" in self.text
            limit = f", at most {LARGEST:g} in size" if beyond and not stated else ""
            raise PydanticCustomError("wants", "{text}", {"text": self.text + limit})
        return value


def is_number(value: Any) -> bool:
    """A finite int or float of reasonable size."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return -LARGEST <= value <= LARGEST and not math.isnan(value)


def _is_beyond(value: Any) -> bool:
    """A number that is only too large; sums and squares in float32 must stay finite."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) > LARGEST


def is_numbers(value: Any, *counts: int) -> bool:
    return isinstance(value, list) and len(value) in counts and all(is_number(v) for v in value)


def is_whole(value: Any) -> bool:
    return isinstance(value, int) and is_number(value)


def number(above: float | None = None, at_least: float | None = None, at_most: float | None = None) -> Wants:
    """A number, with its range."""

    def test(value: Any) -> bool:
        return (
            is_number(value)
            and (above is None or value > above)
            and (at_least is None or value >= at_least)
            and (at_most is None or value <= at_most)
        )

    limits = {"exclusiveMinimum": above, "minimum": at_least, "maximum": at_most}
    return Wants(
        "a number" + _range(above, at_least, at_most),
        test,
        {k: v for k, v in limits.items() if v is not None},
    )


def whole(at_least: int | None = None, at_most: int | None = None) -> Wants:
    """A whole number, with its range."""

    def test(value: Any) -> bool:
        return is_whole(value) and (at_least is None or value >= at_least) and (at_most is None or value <= at_most)

    limits = {"minimum": at_least, "maximum": at_most}
    return Wants(
        "a whole number" + _range(None, at_least, at_most),
        test,
        {k: v for k, v in limits.items() if v is not None},
    )


def _range(above: float | None, at_least: float | None, at_most: float | None) -> str:
    if at_least is not None and at_most is not None:
        return f" from {at_least} to {at_most}"
    if above is not None and at_most is not None:
        return f" above {above} and at most {at_most}"
    if above is not None:
        return f" above {above}"
    if at_least is not None:
        return f" of at least {at_least}"
    return f" of at most {at_most}" if at_most is not None else ""


def words(largest: int = 2000) -> Wants:
    return Wants(f"text of 1 to {largest} characters", lambda v: isinstance(v, str) and 0 < len(v) <= largest)


def no_more_than(count: int, what: str = "tables") -> Wants:
    """A list that is not longer than anybody needs: each entry is drawn, kept and looked at in every step."""
    return Wants(f"at most {count} {what}", lambda v: not isinstance(v, list) or len(v) <= count, {"maxItems": count})


def absolute(value: str, info: ValidationInfo) -> str:
    """A file named in a scene lies relative to the scene's folder; from then on its path is absolute."""
    folder = (info.context or {}).get("folder")
    if folder is None or "\0" in value:
        return value
    try:
        return str((Path(folder) / Path(value).expanduser()).absolute())
    except (RuntimeError, OSError):
        return value


def is_colour(value: Any) -> bool:
    if isinstance(value, str):
        return _COLOUR.fullmatch(value) is not None
    return is_numbers(value, 3) and all(0 <= v <= 1 for v in value)


Number = Annotated[float, number()]
Positive = Annotated[float, number(above=0)]
NotNegative = Annotated[float, number(at_least=0)]
Multiplier = Annotated[float, number(at_least=0, at_most=1e4)]
Coefficient = Annotated[float, number(at_least=0, at_most=1e9)]
Flag = Annotated[bool, Wants("true or false", lambda v: isinstance(v, bool))]
Vector = Annotated[list[float], Wants("a list of 2 or 3 numbers, one per axis", lambda v: is_numbers(v, 2, 3))]
Vector3 = Annotated[list[float], Wants("a list of 3 numbers", lambda v: is_numbers(v, 3))]
Angles = Annotated[
    float | list[float],
    Wants("a number of degrees, or in 3D a list of three", lambda v: is_number(v) or is_numbers(v, 3)),
]
Name = Annotated[
    str,
    Wants(
        "a name of up to 80 letters, digits, '-', '_' and '.', a letter or digit first",
        lambda v: isinstance(v, str) and re.fullmatch(r"[A-Za-z0-9][\w.-]{0,79}", v, re.ASCII) is not None,
    ),
]
FieldName = Annotated[
    str,
    Wants(
        "a name of up to 40 letters, digits and '_', a letter first",
        lambda v: isinstance(v, str) and re.fullmatch(r"[A-Za-z]\w{0,39}", v, re.ASCII) is not None,
    ),
]
ColourValue = Annotated[
    str | list[float],
    Wants("a colour: a name such as 'orange', '#rrggbb' or three numbers from 0 to 1", is_colour),
]
File = Annotated[str, words(4096), AfterValidator(absolute)]
"""A file or folder that a scene names."""


class Table(BaseModel):
    """A TOML table; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, hide_input_in_errors=True)

    def __setattr__(self, name: str, value: Any) -> None:
        raise self._unchangeable(name)

    def __delattr__(self, name: str) -> None:
        raise self._unchangeable(name)

    def _unchangeable(self, name: str) -> KeyfluidError:
        return KeyfluidError(
            f"{type(self).__name__}.{name}: a scene can't be changed once it is made; make another with overrides: "
            'keyfluid.scene_from(scene, overrides=["domain.resolution=64"])'
        )
