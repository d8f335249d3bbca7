"""USD layers as text (.usda): prims with metadata, attributes, time samples and relationships.

Only what a film of a fluid needs is here; what it means to a renderer is in runs/usd_files.py.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

_INDENT = "    "


@dataclass(frozen=True)
class Asset:
    """The path of a file, relative to the layer's own folder."""

    path: str


@dataclass(frozen=True)
class PrimPath:
    """The path of another prim or attribute, such as /film/camera."""

    path: str


@dataclass(frozen=True)
class Samples:
    """Values by time code; between two of them floats are blended and everything else is held."""

    values: Mapping[int, Any]


@dataclass
class Prim:
    """One `def`: lines of properties, then children."""

    kind: str
    name: str
    metadata: dict[str, Any] = field(default_factory=dict)
    properties: list[str] = field(default_factory=list)
    children: list[Prim] = field(default_factory=list)

    def set(self, declared: str, value: Any) -> Prim:
        """An attribute or a relationship: set("uniform token purpose", "guide"), set("rel field:density", PrimPath)."""
        if isinstance(value, Samples):
            rows = [f"{_INDENT}{encode(time)}: {encode(each)}," for time, each in sorted(value.values.items())]
            self.properties += [f"{declared}.timeSamples = {{", *rows, "}"]
        else:
            self.properties.append(f"{declared} = {encode(value)}")
        return self

    def declare(self, declared: str) -> Prim:
        """An attribute without a value of its own."""
        self.properties.append(declared)
        return self

    def bind(self, material: str) -> Prim:
        """The material of a prim."""
        self.metadata["prepend apiSchemas"] = ["MaterialBindingAPI"]
        return self.set("rel material:binding", PrimPath(material))

    def lines(self) -> list[str]:
        head = f'def {self.kind} "{self.name}"'
        if self.metadata:
            rows = [row for key, value in self.metadata.items() for row in _metadatum(key, value)]
            head_lines = [f"{head} (", *(_INDENT + row for row in rows), ")"]
        else:
            head_lines = [head]
        inner = list(self.properties)
        for child in self.children:
            inner += ["", *child.lines()]
        return [*head_lines, "{", *(_INDENT + row if row else row for row in inner), "}"]


def layer_text(metadata: Mapping[str, Any], prims: Sequence[Prim]) -> str:
    """A whole layer."""
    rows = ["#usda 1.0", "(", *(f"{_INDENT}{key} = {encode(value)}" for key, value in metadata.items()), ")"]
    for prim in prims:
        rows += ["", *prim.lines()]
    return "\n".join(rows) + "\n"


def prim_name(text: str) -> str:
    """A name that USD accepts: letters, digits and underscores, no digit first."""
    name = re.sub(r"[^A-Za-z0-9_]", "_", text)
    return f"_{name}" if name[:1].isdigit() else name


def encode(value: Any) -> str:
    """A value as USD writes it: a 1D array or list is an array, rows of a 2D array and tuples are tuples."""
    if isinstance(value, Asset):
        return f"@{value.path}@"
    if isinstance(value, PrimPath):
        return f"<{value.path}>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, np.ndarray):
        return _array(value)
    if isinstance(value, list):
        return "[" + ", ".join(encode(each) for each in value) + "]"
    if isinstance(value, tuple):
        return "(" + ", ".join(encode(each) for each in value) + ")"
    return _number(value)


def _metadatum(key: str, value: Any) -> list[str]:
    """An entry of a prim's metadata; a dict is a dictionary whose keys carry their types."""
    if not isinstance(value, dict):
        return [f"{key} = {encode(value)}"]
    inner = [_INDENT + row for name, each in value.items() for row in _metadatum(name, each)]
    return [f"{key} = {{", *inner, "}"]


def _number(value: Any) -> str:
    if isinstance(value, int | np.integer):
        return str(int(value))
    number = float(value)
    if not math.isfinite(number):
        return "inf" if number > 0 else "-inf" if number < 0 else "nan"
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)


def _array(values: np.ndarray) -> str:
    """Floats to seven digits, which is what single precision holds."""
    form = "%d" if values.dtype.kind in "iu" else "%.7g"
    if values.ndim == 1:
        return "[" + ", ".join([form % each for each in values.tolist()]) + "]"
    row = "(" + ", ".join([form] * values.shape[1]) + ")"
    return "[" + ", ".join([row % tuple(each) for each in values.tolist()]) + "]"
