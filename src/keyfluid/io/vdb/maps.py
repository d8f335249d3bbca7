"""The map of a grid, from index to world space, between the file's forms and a 4 x 4 matrix.

OpenVDB multiplies row vectors (the translation is the last row of its matrix), `VdbGrid.transform`
column vectors. The scale maps also store what follows from the scale s: |s|, 1/s, 1/s^2 and 1/(2s).
"""

from __future__ import annotations

import numpy as np

from keyfluid.errors import KeyfluidError
from keyfluid.io.vdb.cursor import Cursor
from keyfluid.io.vdb.metadata import encode_string

_SCALES = ("ScaleMap", "UniformScaleMap")
_SCALE_TRANSLATES = ("ScaleTranslateMap", "UniformScaleTranslateMap")
_MATRICES = ("AffineMap", "UnitaryMap")


def encode_map(transform: np.ndarray) -> bytes:
    """A scale-translate map where the axes stay axes (what most programs expect), else an affine map."""
    matrix = np.asarray(transform, dtype="<f8")
    if matrix.shape != (4, 4):
        raise KeyfluidError(f"the transform of a grid must be a 4 x 4 matrix, not {matrix.shape}")
    _require_invertible(matrix)
    scale = np.diag(matrix)[:3].copy()
    if np.any(matrix[:3, :3] != np.diag(scale)) or scale.min() <= 0:
        return encode_string("AffineMap") + matrix.T.tobytes()
    kind = "UniformScaleTranslateMap" if np.ptp(scale) == 0 else "ScaleTranslateMap"
    rows = np.stack([matrix[:3, 3], scale, np.abs(scale), 1 / scale, 1 / scale**2, 0.5 / scale])
    return encode_string(kind) + rows.astype("<f8").tobytes()


def decode_map(cursor: Cursor) -> np.ndarray:
    kind = cursor.string()
    matrix = np.eye(4)
    if kind in _MATRICES:
        matrix = _doubles(cursor, 16).reshape(4, 4).T.copy()
    elif kind == "TranslationMap":
        matrix[:3, 3] = _doubles(cursor, 3)
    elif kind in _SCALES:
        matrix[:3, :3] = np.diag(_doubles(cursor, 15)[:3])
    elif kind in _SCALE_TRANSLATES:
        numbers = _doubles(cursor, 18)
        matrix[:3, 3] = numbers[:3]
        matrix[:3, :3] = np.diag(numbers[3:6])
    else:
        raise KeyfluidError(f"transforms of type {kind[:40]!r} are not supported; use an affine one")
    _require_invertible(matrix)
    matrix[3] = 0, 0, 0, 1
    return matrix


def _doubles(cursor: Cursor, count: int) -> np.ndarray:
    return np.frombuffer(cursor.take(8 * count), dtype="<f8").astype(float)


def _require_invertible(matrix: np.ndarray) -> None:
    with np.errstate(all="ignore"):
        volume = np.linalg.det(matrix[:3, :3])
        if not (np.isfinite(matrix).all() and np.isfinite(volume) and np.isfinite(1 / volume)):
            raise KeyfluidError("the transform of a grid is not finite or not invertible")
    if np.abs(matrix[3] - [0, 0, 0, 1]).max() > 1e-9:
        raise KeyfluidError("the transform of a grid is projective; only affine ones are supported")
