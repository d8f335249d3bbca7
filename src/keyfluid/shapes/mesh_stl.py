"""Triangles of STL files, binary (recognised by their length) and ASCII. Normals and colours are ignored.

binary  80 bytes | uint32 n | n x (normal, three corners: 12 float32 | uint16)
ASCII   solid ... facet normal i j k, outer loop, three times "vertex x y z", endloop, endfacet ... endsolid
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from keyfluid.errors import KeyfluidError
from keyfluid.io.budget import Budget
from keyfluid.shapes.line_blocks import all_numbers, line_blocks

_HEAD = np.dtype([("name", "V80"), ("count", "<u4")])
_FACET = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
_BYTES_PER_FACET = _FACET.itemsize + 9 * 8 + 3 * 8
_LARGEST_BLOCK = 128 << 20


def read_stl(path: Path, budget: Budget) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (3 m, 3), three for each triangle, and triangles (m, 3)."""
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(_HEAD.itemsize)
        if len(head) == _HEAD.itemsize:
            count = int(np.frombuffer(head, _HEAD)["count"][0])
            if size == _HEAD.itemsize + count * _FACET.itemsize:
                budget.require(_BYTES_PER_FACET * count, f"{count} triangles")
                corners = np.frombuffer(file.read(size - _HEAD.itemsize), _FACET)["corners"]
                return _loose(corners.reshape(-1, 3).astype(float))
        if not head.lstrip()[:5].lower() == b"solid":
            raise KeyfluidError("it is not an ASCII STL, and too short or too long for a binary one; is it cut short?")
        file.seek(0)
        budget.require(_LARGEST_BLOCK, "a block of lines")
        points, facets = [np.zeros(0)], 0
        for lines in line_blocks(file):
            rows = [line[6:] for line in lines if line[:6].lower() == b"vertex"]
            if not all(len(row.split()) == 3 for row in rows):
                raise KeyfluidError("a vertex does not have three coordinates; the file is broken")
            found = all_numbers(b" ".join(rows), float, "a vertex")
            budget.spend(2 * found.nbytes + 8 * len(rows), "its vertices")
            points.append(found)
            facets += sum(line[:8].lower() == b"endfacet" for line in lines)
    numbers = np.concatenate(points)
    if len(numbers) != 9 * facets:
        raise KeyfluidError(f"its {facets} facets do not have three vertices each; is it cut short?")
    return _loose(numbers.reshape(-1, 3))


def _loose(vertices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return vertices, np.arange(len(vertices)).reshape(-1, 3)
