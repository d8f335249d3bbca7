"""Density from a VDB file, at the place its transform gives it.

A fog volume is density as it stands. A level set d (metres) becomes clamp(1/2 - d / voxel, 0, 1): the share
of a voxel on the inner side of a plane.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from keyfluid.errors import KeyfluidError
from keyfluid.io.budget import Budget, enough_memory
from keyfluid.io.vdb import VdbGrid, read_vdb
from keyfluid.shapes.arrays import LARGEST_DENSITY
from keyfluid.shapes.placement import Hull, Placement, Transform, domain_of, rotation_matrix
from keyfluid.shapes.resample import overlap_weights, resample
from keyfluid.shapes.source import OWN_SIZE

_SAME = 1e-5
_DOUBLE = 8
_WEIGHTS_AT_ONCE = 4  # arrays of the weights' size that making them takes


@dataclass(frozen=True, eq=False)
class VdbBody:
    """Cubic voxels values[x, y(, z)], and where the file puts them: a similarity from indices to metres."""

    values: np.ndarray
    own: Transform

    def rasterize(
        self, shape: tuple[int, ...], spacing: float, placement: Placement = OWN_SIZE, time: float = 0.0
    ) -> np.ndarray:
        return resample(self.values, shape, spacing, self._transform(shape, spacing, placement))

    def bounds(
        self, shape: tuple[int, ...], spacing: float, placement: Placement = OWN_SIZE, time: float = 0.0
    ) -> tuple[np.ndarray, np.ndarray]:
        return self._transform(shape, spacing, placement).bounds(self._hull())

    @property
    def center(self) -> tuple[float, ...]:
        """The middle of the active voxels, in metres."""
        return tuple(float(c) for c in self.own.center)

    def _hull(self) -> Hull:
        corners = np.meshgrid(*[(0.0, float(n)) for n in self.values.shape], indexing="ij")
        return Hull(np.stack(corners, axis=-1).reshape(-1, self.values.ndim))

    def _transform(self, shape: tuple[int, ...], spacing: float, placement: Placement) -> Transform:
        """Turned and scaled about its own middle, then moved; `fit` replaces its own size."""
        if len(shape) != self.values.ndim:
            raise KeyfluidError(f"the VDB has {self.values.ndim} axes; the domain has {len(shape)}")
        matrix = rotation_matrix(placement.rotation, len(shape)) @ self.own.matrix
        center = np.asarray(placement.center if placement.center is not None else self.center, dtype=float)
        scale = self.own.scale * placement.scale
        if placement.fit is not None:
            half = np.abs((self._hull().points - self.own.origin) @ matrix.T).max(axis=0)
            scale = placement.scale * placement.fit * float(np.min(np.asarray(domain_of(shape, spacing)) / (2 * half)))
        return Transform(center, scale, matrix, self.own.origin)


def load_vdb(path: Path, name: str | None, dimension: int) -> VdbBody:
    """The grid of this name; without one "density", or else the only scalar grid of the file."""
    with enough_memory(str(path)):
        # A grid is turned to float64 beside its own array, hence `later`.
        grids = read_vdb(path, vectors=False, later=_DOUBLE)
        grid = _choose([g for g in grids if g.data.ndim == 3], name, path)
        del grids
        return _body(grid, dimension, path)


def _body(grid: VdbGrid, dimension: int, path: Path) -> VdbBody:
    if grid.data.size == 0:
        raise KeyfluidError(f"{path}: grid {grid.name!r} has no active voxels; it is empty")
    linear = grid.transform[:3, :3]
    with np.errstate(all="ignore"):
        sides = np.linalg.norm(linear, axis=0)
        turned = linear / sides
        straight = np.allclose(turned.T @ turned, np.eye(3), atol=_SAME)
    if not straight:
        raise KeyfluidError(f"{path}: grid {grid.name!r} is sheared; resample it where it was made")
    values = _density(grid, float(sides.min()), path)
    corner = grid.transform[:3] @ np.append(np.asarray(grid.first_index) - 0.5, 1.0)
    if dimension == 2:
        values, sides, turned, corner = _flat(values, sides, turned, corner, path)
    values = _cubic(values, sides, f"{path}: grid {grid.name!r}")
    pitch = float(sides.min())
    origin = np.asarray(values.shape) / 2
    return VdbBody(values, Transform(corner + pitch * turned @ origin, pitch, turned, origin))


def _choose(grids: list[VdbGrid], name: str | None, path: Path) -> VdbGrid:
    names = [grid.name for grid in grids]
    wanted = name if name is not None else "density"
    if wanted in names:
        return grids[names.index(wanted)]
    if name is None and len(grids) == 1:
        return grids[0]
    listed = ", ".join(repr(n) for n in names) or "none"
    raise KeyfluidError(f"{path}: has no grid {wanted!r}; its scalar grids are {listed}; name one by `grid`")


def _density(grid: VdbGrid, voxel: float, path: Path) -> np.ndarray:
    """Values in float64; the file's own array is given back, and nothing else of its size is made."""
    values = np.asarray(grid.data, dtype=float)
    grid.data = values[:0]
    if grid.grid_class == "level set":
        with np.errstate(over="ignore"):  # a tiny voxel: infinitely many of them away, and clipped
            values /= voxel
        np.subtract(0.5, values, out=values)
        return np.clip(values, 0.0, 1.0, out=values)
    if values.min() < 0:
        raise KeyfluidError(f"{path}: grid {grid.name!r} has negative values; is it a level set without that mark?")
    if values.max() > LARGEST_DENSITY:
        raise KeyfluidError(
            f"{path}: grid {grid.name!r} holds density up to {values.max():.3g}; scale it to at most "
            f"{LARGEST_DENSITY:g}"
        )
    return values


def _flat(
    values: np.ndarray, sides: np.ndarray, turned: np.ndarray, corner: np.ndarray, path: Path
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The two axes of a slab that is one voxel thick, as a picture with x first."""
    thin = [axis for axis in (2, 1, 0) if values.shape[axis] == 1]
    if not thin:
        raise KeyfluidError(f"{path}: is {values.shape} voxels; in 2D it must be one voxel thick")
    across = int(np.abs(turned[:, thin[0]]).argmax())
    kept = [axis for axis in range(3) if axis != thin[0]]
    world = [axis for axis in range(3) if axis != across]
    return values.take(0, thin[0]), sides[kept], turned[np.ix_(world, kept)], corner[world]


def _cubic(values: np.ndarray, sides: np.ndarray, name: str) -> np.ndarray:
    """Voxels that are longer on one axis, cut to cubes; what sticks out beyond the last is zero."""
    pitch = sides.min()
    for axis, side in enumerate(sides):
        if side > pitch * (1 + _SAME):
            count = values.shape[axis]
            with np.errstate(over="ignore"):
                exact = count * side / pitch - _SAME
            _require_cubes(values, count, float(exact), name)
            cells = int(np.ceil(exact))
            weights = overlap_weights(0.0, side / pitch, count, 1.0, cells)
            values = np.moveaxis(np.tensordot(weights, values, axes=(1, axis)), 0, axis)
    return values


def _require_cubes(values: np.ndarray, count: int, cells: float, name: str) -> None:
    """Before `count` layers of voxels are cut into `cells`: the values and their copy, the weights, the cubes."""
    weights = _WEIGHTS_AT_ONCE * count * cells
    cubes = values.size // count * cells
    budget = Budget(advice="resample it to voxels with equal sides")
    try:
        budget.require(_DOUBLE * (2 * values.size + weights + cubes), f"cutting its voxels into {cells:.3g} layers")
    except KeyfluidError as fault:
        raise KeyfluidError(f"{name}: {fault}") from None
