"""Vertices and faces of PLY files: ASCII, binary little and big endian.

Of the element "vertex" x, y and z are read, of "face" the list vertex_indices (or vertex_index); other elements and
properties are skipped, comments never lead to other files. The numbers of an ASCII file are turned to float64 first;
from then on it is a binary file whose every value, counts too, is a float64.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from keyfluid.errors import KeyfluidError
from keyfluid.io.budget import Budget
from keyfluid.shapes.line_blocks import all_numbers
from keyfluid.shapes.triangulate import BYTES_PER_CORNER, triangulate

_TYPES = {
    "char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4", "float": "f4",
    "double": "f8", "int8": "i1", "uint8": "u1", "int16": "i2", "uint16": "u2", "int32": "i4", "uint32": "u4",
    "float32": "f4", "float64": "f8",
}  # fmt: skip
_ORDER = {"ascii": None, "binary_little_endian": "<", "binary_big_endian": ">"}
_LONGEST_HEADER = 1 << 20
_AXES, _CORNERS = ("x", "y", "z"), ("vertex_indices", "vertex_index")
_BYTES_PER_ROW = 400  # of Python objects where rows differ in length


@dataclass(frozen=True)
class _Property:
    """`stored`: type of a value in the file; `count`: type of the number before a list; `declared`: by the header."""

    name: str
    stored: np.dtype
    count: np.dtype | None
    declared: np.dtype


@dataclass
class _Element:
    name: str
    rows: int
    properties: list[_Property] = field(default_factory=list)

    def least_row(self) -> int:
        return sum((p.count or p.stored).itemsize for p in self.properties)


def read_ply(path: Path, budget: Budget) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (n, 3) and triangles (m, 3)."""
    budget.spend(path.stat().st_size, "the file")
    content = path.read_bytes()
    elements, order, position = _header(content)
    if order is None:
        position, content = 0, _as_doubles(content[position:], budget)
    vertices, triangles = np.zeros((0, 3)), np.zeros((0, 3), np.int64)
    for element in elements:
        columns, position = _rows(element, content, position, budget)
        if element.name == "vertex":
            if not all(axis in columns for axis in _AXES):
                raise KeyfluidError("its vertices have no x, y and z")
            vertices = np.stack([columns[axis][0] for axis in _AXES], axis=1)
        elif element.name == "face":
            name = next((name for name in _CORNERS if name in columns), None)
            if name is None:
                raise KeyfluidError("its faces have no list vertex_indices")
            triangles, _ = triangulate(*columns[name], budget)
    return vertices, triangles


def _header(content: bytes) -> tuple[list[_Element], str | None, int]:
    """The elements, the byte order (None: ASCII) and where the body begins."""
    end = content.find(b"\n", content.find(b"end_header", 0, _LONGEST_HEADER))
    lines = content[: max(end, 0)].decode("latin-1").split("\n")
    if end < 0 or lines[0].strip() != "ply" or lines[-1].strip() != "end_header":
        raise KeyfluidError("it has no PLY header")
    stated = lines[1].split()
    if len(stated) != 3 or stated[0] != "format" or stated[1] not in _ORDER:
        raise KeyfluidError(f"its header does not begin with a known format, but with {lines[1].strip()[:60]!r}")
    order = _ORDER[stated[1]]
    elements: list[_Element] = []
    for line in lines[2:-1]:
        match line.split():
            case [] | ["comment", *_] | ["obj_info", *_]:
                continue
            case ["element", name, count] if count.isascii() and count.isdigit() and len(count) < 19:
                elements.append(_Element(name, int(count)))
            case ["property", kind, name] if kind in _TYPES and elements:
                elements[-1].properties.append(_property(name, None, kind, order))
            case ["property", "list", count, kind, name] if {count, kind} <= set(_TYPES) and elements:
                elements[-1].properties.append(_property(name, count, kind, order))
            case _:
                raise KeyfluidError(f"its header has an unknown line: {line.strip()[:60]!r}")
    return elements, order, end + 1


def _property(name: str, count: str | None, kind: str, order: str | None) -> _Property:
    def stored(of: str) -> np.dtype:
        return np.dtype(order + _TYPES[of]) if order else np.dtype("<f8")

    return _Property(name, stored(kind), stored(count) if count else None, np.dtype(_TYPES[kind]))


def _as_doubles(body: bytes, budget: Budget) -> bytes:
    words = 1 + sum(body.count(space) for space in (b" ", b"\n", b"\t", b"\r"))
    budget.spend(2 * 8 * words, "its numbers")
    return all_numbers(body, float, "its body").astype("<f8", copy=False).tobytes()


def _rows(
    element: _Element, content: bytes, position: int, budget: Budget
) -> tuple[dict[str, tuple[np.ndarray, np.ndarray]], int]:
    """For each property its values and their number per row; and where the next element begins."""
    if not (element.rows and element.properties):
        nothing = np.zeros(0), np.zeros(0, np.int64)
        return {p.name: nothing for p in element.properties}, position
    if element.rows * element.least_row() > len(content) - position:
        raise KeyfluidError(f"its header claims {element.rows} of {element.name[:40]!r}; the file is too short")
    counts, length = _first_row(element, content, position)
    if element.rows * length <= len(content) - position:
        fields = [[("count", p.count or "V0"), ("values", p.stored, (n,))] for p, n in zip(element.properties, counts)]
        table = np.dtype([(str(i), each) for i, each in enumerate(fields)])
        rows = np.frombuffer(content, table, element.rows, position)
        if all(p.count is None or np.all(rows[str(i)]["count"] == counts[i]) for i, p in enumerate(element.properties)):
            _spend(budget, element, element.rows * (sum(counts) + len(counts)))
            columns = {
                p.name: (_declared(rows[str(i)]["values"], p), np.full(element.rows, counts[i]))
                for i, p in enumerate(element.properties)
            }
            return columns, position + element.rows * length
    return _ragged_rows(element, content, position, budget)


def _first_row(element: _Element, content: bytes, position: int) -> tuple[list[int], int]:
    """How many values each property has in the row that begins here, and how many bytes the row takes."""
    start, counts = position, []
    for p in element.properties:
        count = 1
        if p.count is not None:
            count = _list_length(content, position, p)
            position += p.count.itemsize
        position += count * p.stored.itemsize
        if position > len(content):
            raise KeyfluidError(f"a list of {element.name[:40]!r} is longer than the file; is it cut short?")
        counts.append(count)
    return counts, position - start


def _list_length(content: bytes, position: int, p: _Property) -> int:
    assert p.count is not None
    if position + p.count.itemsize > len(content):
        raise KeyfluidError("its body is too short for its header; is it cut short?")
    length = np.frombuffer(content, p.count, 1, position)[0].item()
    if not (0 <= length <= len(content) and length == int(length)):
        raise KeyfluidError(f"a list {p.name[:40]!r} claims {length} values; the file is broken")
    return int(length)


def _ragged_rows(
    element: _Element, content: bytes, position: int, budget: Budget
) -> tuple[dict[str, tuple[np.ndarray, np.ndarray]], int]:
    """The same where lists differ in length: row by row."""
    budget.spend(_BYTES_PER_ROW * element.rows * len(element.properties), f"{element.rows} rows of differing length")
    pieces: list[list[bytes]] = [[] for _ in element.properties]
    counts: list[list[int]] = [[] for _ in element.properties]
    for _ in range(element.rows):
        lengths, size = _first_row(element, content, position)
        end = position + size
        for i, (p, length) in enumerate(zip(element.properties, lengths)):
            position += p.count.itemsize if p.count is not None else 0
            pieces[i].append(content[position : position + length * p.stored.itemsize])
            counts[i].append(length)
            position += length * p.stored.itemsize
        position = end
    columns = {}
    for p, found, number in zip(element.properties, pieces, counts):
        values = np.frombuffer(b"".join(found), p.stored)
        _spend(budget, element, len(values) + element.rows)
        columns[p.name] = _declared(values, p), np.array(number, dtype=np.int64)
    return columns, position


def _spend(budget: Budget, element: _Element, values: int) -> None:
    """Reserve memory for values in the header's type and in 64 bits, and check that there is room for what follows."""
    purpose = f"{element.rows} of {element.name[:40]!r} with {values} values"
    budget.require((16 + BYTES_PER_CORNER) * values, purpose)
    budget.spend(16 * values, purpose)


def _declared(values: np.ndarray, p: _Property) -> np.ndarray:
    """Flat, as the header's type has them (ASCII floats are rounded to it), in float64 or int64."""
    with np.errstate(all="ignore"):
        exact = values.reshape(-1).astype(p.declared)
        return exact.astype(np.int64 if p.count is not None else float)
