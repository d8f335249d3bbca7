"""Numbers, words and lists that are kept beside arrays, in frames and checkpoints."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias

Json: TypeAlias = bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"] | None
Meta = Mapping[str, Json]
"""What is written: anything that JSON has."""


def whole(meta: Meta, name: str) -> int:
    """A number that was kept, as an integer; KeyError if it is not there, or is something else."""
    return int(number(meta, name))


def number(meta: Meta, name: str) -> float:
    found = meta[name]
    if not isinstance(found, int | float):
        raise KeyError(name)
    return found


def number_or_none(meta: Meta, name: str) -> float | None:
    return None if meta.get(name) is None else number(meta, name)


def number_or_infinite(meta: Meta, name: str) -> float:
    """JSON has no infinity: it is kept as null."""
    return math.inf if meta[name] is None else number(meta, name)


def text(meta: Meta, name: str) -> str:
    found = meta[name]
    if not isinstance(found, str):
        raise KeyError(name)
    return found


def table(meta: Meta, name: str) -> Meta:
    found = meta[name]
    if not isinstance(found, Mapping):
        raise KeyError(name)
    return found


def items(meta: Meta, name: str) -> Sequence[Json]:
    found = meta[name]
    if isinstance(found, str) or not isinstance(found, Sequence):
        raise KeyError(name)
    return found
