"""result.json: what a run says of itself, read with every number where it is expected."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal, NotRequired

from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict

from keyfluid.errors import KeyfluidError

_OPEN = ConfigDict(extra="allow", strict=True)
_MOST_BYTES = 256 << 20

Status = Literal["running", "stopped", "finished", "interrupted"]
"""Runs are interrupted when their process is killed: nobody writes that, readers find it."""


@with_config(_OPEN)
class KeyScore(TypedDict):
    """How well a keyframe was met."""

    frame: int
    field: str
    relative_error: float
    iou: float
    mass_ratio: float
    bound: float | None
    transported_iou: float | None
    stray: NotRequired[float | None]
    gathered: NotRequired[float]
    volume_error: NotRequired[float | None]


@with_config(_OPEN)
class OtherScore(TypedDict):
    """How well a picture or a velocity was met."""

    frame: int
    relative_error: float


@with_config(_OPEN)
class Result(TypedDict):
    """The fields of result.json; runs/recorder.py fills them."""

    method: str
    status: Status
    met: NotRequired[bool | None]
    words: NotRequired[list[str]]
    keyframes: list[KeyScore]
    solved: NotRequired[list[KeyScore]]
    pictures: NotRequired[list[OtherScore]]
    flows: NotRequired[list[OtherScore]]
    mass_drift: float
    mass_left: NotRequired[float]
    mass_may_change: NotRequired[list[str]]
    liquid: NotRequired[dict[str, object]]
    accepted_changes: NotRequired[list[str]]
    max_divergence: float
    force_norm: float
    iterations: int
    evaluations: int
    seconds: float
    peak_memory_mb: float
    threads: int
    history: list[dict[str, object]]


_RESULT = TypeAdapter(Result)


def read_result(path: Path) -> Result | None:
    """The file's content; None if there is none yet. Raises if it is not a result."""
    try:
        with path.open("rb") as file:
            content: Result = json.loads(file.read(min(_MOST_BYTES, path.stat().st_size)))
        _RESULT.validate_python(content)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError, ValidationError):
        raise KeyfluidError(f"{path}: is damaged; resume the run to rewrite it") from None
    return content
