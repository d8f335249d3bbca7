"""The JSON of a glTF file, where every value is checked before use.

A key may be missing, hold another type, or an index may point nowhere: each is one KeyfluidError.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from keyfluid.errors import KeyfluidError
from keyfluid.io.budget import Budget

Json = dict[str, Any]
_BYTES_PER_ITEM = 150  # of a Python object and its place in a list or dict


def parse_json(text: bytes, budget: Budget) -> Json:
    """The document; its objects are counted by their commas and brackets before they are made."""
    items = sum(text.count(mark) for mark in (b",", b"[", b"{", b":"))
    budget.spend(3 * len(text) + _BYTES_PER_ITEM * items, "its JSON")
    try:
        document = json.loads(text.decode("utf-8-sig"), parse_constant=_refuse_constant)
    except RecursionError:
        raise KeyfluidError("its JSON is nested too deeply") from None
    except ValueError as error:
        raise KeyfluidError(f"its JSON is broken ({' '.join(str(error).split())[:120]})") from None
    if not isinstance(document, dict):
        raise KeyfluidError("its JSON is not an object")
    return document


def entries(table: Json, key: str) -> list[Json]:
    """A list of objects; empty where the key is missing."""
    found = table.get(key, [])
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        raise KeyfluidError(f"{key!r} must be a list of objects")
    return found


def entry(document: Json, key: str, index: int) -> Json:
    """One object of a list at the top of the document."""
    found = document.get(key)
    if not isinstance(found, list) or index >= len(found):
        raise KeyfluidError(f"{key}[{index}] does not exist")
    if not isinstance(found[index], dict):
        raise KeyfluidError(f"{key}[{index}] must be an object")
    return found[index]


def inner(table: Json, key: str) -> Json:
    """An object inside another."""
    found = table.get(key)
    if not isinstance(found, dict):
        raise KeyfluidError(f"{key!r} must be an object")
    return found


def whole(table: Json, key: str, default: int | None = None) -> int:
    """A whole number of at least 0; required if there is no default."""
    found: Any = table.get(key, default)
    if not _is_index(found):
        raise KeyfluidError(f"{key!r} must be a whole number of at least 0")
    return int(found)


def optional(table: Json, key: str) -> int | None:
    """The same, or None where the key is missing."""
    return whole(table, key) if key in table else None


def indices(table: Json, key: str, below: int) -> list[int]:
    """A list of whole numbers below a limit; empty where the key is missing."""
    found = table.get(key, [])
    if not isinstance(found, list) or not all(_is_index(item) and item < below for item in found):
        raise KeyfluidError(f"{key!r} must be a list of numbers below {below}")
    return found


def numbers(table: Json, key: str, count: int) -> np.ndarray | None:
    """A list of `count` finite numbers, or None if the key is missing."""
    found = table.get(key)
    if key not in table:
        return None
    if not isinstance(found, list) or len(found) != count or not all(map(_is_number, found)):
        raise KeyfluidError(f"{key!r} must be a list of {count} numbers")
    return np.asarray(found, dtype=float)


def word(table: Json, key: str, default: str | None = None) -> str:
    found = table.get(key, default)
    if not isinstance(found, str):
        raise KeyfluidError(f"{key!r} must be text")
    return found


def flag(table: Json, key: str) -> bool:
    found = table.get(key, False)
    if not isinstance(found, bool):
        raise KeyfluidError(f"{key!r} must be true or false")
    return found


def _is_index(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isfinite(value) if isinstance(value, float) else abs(value) < 2**1000


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number")
