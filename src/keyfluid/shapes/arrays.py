"""Density from .npy files and from arrays in memory."""

from __future__ import annotations

import hashlib
import io
import math
import os
import tokenize
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from keyfluid.errors import KeyfluidError
from keyfluid.io.atomic import write_whole
from keyfluid.io.budget import Budget, enough_memory
from keyfluid.shapes.placement import Hull, Placement, Transform, domain_of, resolve
from keyfluid.shapes.resample import resample
from keyfluid.shapes.source import OWN_SIZE

_DOUBLE = 8
_MOST_HEADER = 1 << 17
# What numpy raises for invalid headers.
_BROKEN = (
    OSError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    OverflowError,
    SyntaxError,
    RecursionError,
    EOFError,
    tokenize.TokenError,
)
LARGEST_DENSITY = 1e12
"""Sums of its squares stay finite in float32; it is also the largest number that a scene may hold."""


@dataclass(frozen=True, eq=False)
class DensityArray:
    """values[x, y, z], stretched over the domain; with a placement its cells are cubes and `fit` is 1.

    The only source whose density may exceed 1: values are kept as they are.
    """

    values: np.ndarray

    @classmethod
    def build(cls, values: np.ndarray, name: str = "array") -> DensityArray:
        if values.ndim not in (2, 3) or 0 in values.shape:
            raise KeyfluidError(f"{name} has shape {values.shape}; density needs a 2D or 3D array")
        if not (np.issubdtype(values.dtype, np.floating) or values.dtype.kind in "iub"):
            raise KeyfluidError(f"{name} holds {values.dtype}; density needs real numbers")
        with np.errstate(all="ignore"):
            values = np.asarray(values, dtype=float)
        least, largest = values.min(), values.max()
        if not (np.isfinite(least) and np.isfinite(largest)):
            first = int(np.argmin(np.isfinite(values)))
            where = [int(i) for i in np.unravel_index(first, values.shape)]
            raise KeyfluidError(f"{name} holds NaN or infinite values, the first at index {where}")
        if least < 0:
            raise KeyfluidError(f"{name} holds negative density ({least:.3g})")
        if largest > LARGEST_DENSITY:
            raise KeyfluidError(f"{name} holds density up to {largest:.3g}; scale it to at most {LARGEST_DENSITY:g}")
        return cls(np.ascontiguousarray(values))

    def rasterize(
        self, shape: tuple[int, ...], spacing: float, placement: Placement = OWN_SIZE, time: float = 0.0
    ) -> np.ndarray:
        self._check(len(shape))
        if placement == OWN_SIZE:
            result = self.values
            for axis in range(len(shape)):
                weights = _stretch_weights(self.values.shape[axis], shape[axis])
                result = np.moveaxis(np.tensordot(weights, result, axes=(1, axis)), 0, axis)
            return np.ascontiguousarray(result)
        return resample(self.values, shape, spacing, self._transform(shape, spacing, placement))

    def bounds(
        self, shape: tuple[int, ...], spacing: float, placement: Placement = OWN_SIZE, time: float = 0.0
    ) -> tuple[np.ndarray, np.ndarray]:
        self._check(len(shape))
        if placement == OWN_SIZE:
            return np.zeros(len(shape)), np.asarray(domain_of(shape, spacing))
        return self._transform(shape, spacing, placement).bounds(self._hull())

    def _check(self, dimension: int) -> None:
        if self.values.ndim != dimension:
            raise KeyfluidError(f"the array has {self.values.ndim} axes; the domain has {dimension}")

    def _hull(self) -> Hull:
        corners = np.meshgrid(*[(0.0, float(n)) for n in self.values.shape], indexing="ij")
        return Hull(np.stack(corners, axis=-1).reshape(-1, self.values.ndim))

    def _transform(self, shape: tuple[int, ...], spacing: float, placement: Placement) -> Transform:
        fit = placement.fit if placement.fit is not None else 1.0
        whole = Placement(placement.center, placement.scale, placement.rotation, fit)
        return resolve(whole, self._hull(), domain_of(shape, spacing))


def store_array(values: np.ndarray) -> Path:
    """A file with these densities, named by its content, in the user's cache folder; the same one for equal arrays.

    The folder is $XDG_CACHE_HOME/keyfluid/arrays, or ~/.cache/keyfluid/arrays. Resuming a run reads the file again.
    """
    array = np.ascontiguousarray(values)
    DensityArray.build(array, "the array")
    digest = hashlib.sha256(f"{array.dtype.str} {array.shape}".encode() + array.tobytes()).hexdigest()[:24]
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "keyfluid" / "arrays"
    path = folder / f"{digest}.npy"
    if not path.is_file():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            write_whole(path, lambda file: np.save(file, array, allow_pickle=False))
        except OSError as error:
            raise KeyfluidError(f"{folder}: can't be written: {error.strerror}; set XDG_CACHE_HOME") from None
    return path


def load_array(path: Path) -> DensityArray:
    """Read a .npy file (never a pickle)."""
    if not path.is_file():
        raise KeyfluidError(f"npy {path} does not exist")
    with enough_memory(f"npy {path}"):
        try:
            with path.open("rb") as file:
                _check_header(file, path)
                file.seek(0)
                values = np.lib.format.read_array(file, allow_pickle=False)
        except KeyfluidError:
            raise
        except _BROKEN as error:
            reason = " ".join(str(error).split())[:200]
            raise KeyfluidError(f"npy {path} can't be read ({reason}); save it with numpy.save") from None
        return DensityArray.build(values, f"npy {path}")


def _check_header(file: BinaryIO, path: Path) -> None:
    """Check the header's numbers against the file's length and the memory its values take as float64."""
    # From memory: a file would allocate the declared length of a header, up to 4 GiB, before reading it.
    head = io.BytesIO(file.read(_MOST_HEADER))
    version = np.lib.format.read_magic(head)
    reader = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, in_columns, dtype = reader(head)
    if dtype.hasobject:
        raise ValueError("it holds Python objects")
    count = math.prod(shape)
    if min(shape, default=0) < 0 or count * dtype.itemsize > path.stat().st_size - head.tell():
        raise ValueError(f"its header claims {count} values of {dtype}; the file is too short for them")
    try:
        # The values as stored, as float64, and once more where columns come first and are reordered.
        each = dtype.itemsize + _DOUBLE * (2 if in_columns else 1)
        Budget(advice="crop or coarsen the array").require(each * count, f"an array of {count} values")
    except KeyfluidError as fault:
        raise KeyfluidError(f"npy {path}: {fault}") from None


def _stretch_weights(samples: int, cells: int) -> np.ndarray:
    """(cells, samples): averages over the overlap when cells are coarser, linear interpolation when finer."""
    if cells <= samples:
        edges = np.arange(samples + 1) * (cells / samples)
        low = np.arange(cells)[:, None]
        weights = np.maximum(np.minimum(edges[1:], low + 1) - np.maximum(edges[:-1], low), 0.0)
        return weights / weights.sum(axis=1, keepdims=True)
    position = np.clip((np.arange(cells) + 0.5) * samples / cells - 0.5, 0, samples - 1)
    return np.maximum(1.0 - np.abs(position[:, None] - np.arange(samples)), 0.0)
