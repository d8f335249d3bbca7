"""Vertices and faces of Wavefront OBJ files; everything else is ignored, and no other file is opened.

    v x y z [anything]          f a b c ...     where a corner is v, v/vt, v//vn or v/vt/vn

Corners count from 1, or backwards from the last vertex so far when negative. A backslash continues a line, # starts
a comment.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from keyfluid.errors import KeyfluidError
from keyfluid.io.budget import Budget
from keyfluid.shapes.line_blocks import all_numbers, line_blocks
from keyfluid.shapes.triangulate import triangulate

_VERTEX, _FACE = (b"v ", b"v\t"), (b"f ", b"f\t")
_BESIDE_VERTEX = re.compile(rb"/\S*")
_LARGEST_BLOCK = 128 << 20  # what the lines of a block take as Python objects, at most


def read_obj(path: Path, budget: Budget) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (n, 3) and triangles (m, 3) in the order of the file."""
    budget.require(_LARGEST_BLOCK, "a block of lines")
    vertices, corners, counts = [np.zeros((0, 3))], [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    known = 0
    with path.open("rb") as file:
        for lines in line_blocks(file, continued=True):
            points = _vertices([_without_comment(line) for line in lines if line.startswith(_VERTEX)])
            block_counts, block_corners = _corners([_without_comment(line) for line in lines if line.startswith(_FACE)])
            if block_corners.size and block_corners.min() < 0:
                block_corners = _absolute(lines, block_corners, block_counts, known)
            # Kept in pieces, then joined: twice.
            budget.spend(2 * (points.nbytes + block_corners.nbytes + block_counts.nbytes), "its vertices and faces")
            vertices.append(points)
            corners.append(block_corners)
            counts.append(block_counts)
            known += len(points)
    named = np.concatenate(corners) - 1
    if named.size and (named.min() < 0 or named.max() >= known):
        wrong = int(named.min() if named.min() < 0 else named.max()) + 1
        raise KeyfluidError(f"a face refers to vertex {wrong}; the file has vertices 1 to {known}")
    sizes = np.concatenate(counts)
    triangles, owner = triangulate(named, sizes, budget)
    if len(sizes) and sizes.min() != sizes.max():
        triangles = triangles[np.argsort(owner, kind="stable")]
    return np.concatenate(vertices), triangles


def _without_comment(line: bytes) -> bytes:
    return line.partition(b"#")[0]


def _vertices(lines: list[bytes]) -> np.ndarray:
    words = [len(line.split()) for line in lines]
    if min(words, default=4) < 4:
        short = lines[words.index(min(words))][:60].decode("ascii", "replace")
        raise KeyfluidError(f"the vertex {short!r} lacks a coordinate; give x, y and z")
    if max(words, default=4) == 4:
        text = b" ".join([line[2:] for line in lines])
    else:
        text = b" ".join([b" ".join(line.split()[1:4]) for line in lines])
    return _exactly(3 * len(lines), all_numbers(text, float, "a vertex")).reshape(-1, 3)


def _corners(lines: list[bytes]) -> tuple[np.ndarray, np.ndarray]:
    """How many corners each face has, and the vertices they name as the file counts them."""
    counts = np.array([len(line.split()) - 1 for line in lines], dtype=np.int64)
    text = b" ".join([line[2:] for line in lines])
    if b"/" in text:
        text = _BESIDE_VERTEX.sub(b"", text)
    return counts, _exactly(int(counts.sum()), all_numbers(text, np.int64, "a face"))


def _exactly(count: int, numbers: np.ndarray) -> np.ndarray:
    if len(numbers) != count:
        raise KeyfluidError("a vertex or face holds something that is not a number; the file is broken")
    return numbers


def _absolute(lines: list[bytes], corners: np.ndarray, counts: np.ndarray, known: int) -> np.ndarray:
    """Corners that count backwards from the vertices before their line, counted from 1."""
    so_far = known + np.cumsum([line.startswith(_VERTEX) for line in lines])
    before = np.repeat(so_far[[line.startswith(_FACE) for line in lines]], counts)
    backwards = np.maximum(before + corners + 1, 0)
    return np.where(corners < 0, backwards, corners)
