"""Density from .npy files and from arrays in memory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from keyfluid.errors import KeyfluidError
from keyfluid.shapes.placement import Hull, Placement, Transform, domain_of, resolve
from keyfluid.shapes.resample import resample
from keyfluid.shapes.source import OWN_SIZE

_MOST_VALUES = 1 << 30


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
        values = np.asarray(values, dtype=float)
        if not np.all(np.isfinite(values)):
            where = [int(i) for i in np.argwhere(~np.isfinite(values))[0]]
            raise KeyfluidError(f"{name} holds NaN or infinite values, the first at index {where}")
        if values.min() < 0:
            raise KeyfluidError(f"{name} holds negative density ({values.min():.3g})")
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


def load_array(path: Path) -> DensityArray:
    """Read a .npy file (never a pickle)."""
    if not path.is_file():
        raise KeyfluidError(f"npy {path} does not exist")
    try:
        mapped = np.load(path, mmap_mode="r", allow_pickle=False)
        if not isinstance(mapped, np.ndarray):
            raise ValueError("not a single array")
        if mapped.size > _MOST_VALUES:
            raise ValueError(f"{mapped.size} values are too many")
        values = np.array(mapped)
    except Exception as error:
        raise KeyfluidError(f"npy {path} can't be read ({error}); save it with numpy.save") from None
    return DensityArray.build(values, f"npy {path}")


def _stretch_weights(samples: int, cells: int) -> np.ndarray:
    """(cells, samples): averages over the overlap when cells are coarser, linear interpolation when finer."""
    if cells <= samples:
        edges = np.arange(samples + 1) * (cells / samples)
        low = np.arange(cells)[:, None]
        weights = np.maximum(np.minimum(edges[1:], low + 1) - np.maximum(edges[:-1], low), 0.0)
        return weights / weights.sum(axis=1, keepdims=True)
    position = np.clip((np.arange(cells) + 0.5) * samples / cells - 0.5, 0, samples - 1)
    return np.maximum(1.0 - np.abs(position[:, None] - np.arange(samples)), 0.0)
