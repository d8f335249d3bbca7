"""Fields: numbers that know their grid and where on it they live.

All components of a field share one flat, contiguous buffer (`data`); `component(a)` is a shaped view of it.
That makes a velocity one vector for an optimiser, one copy for a checkpoint and one argument for a kernel.
Arithmetic between fields of different kinds or grids raises.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from keyfluid.errors import BlowUp, KeyfluidError
from keyfluid.grid import Grid, Kind

REAL = (np.dtype(np.float32), np.dtype(np.float64))


def _same(a: Grid, b: Grid) -> bool:
    return a is b or a == b


class Field:
    """Values of one kind on a grid; see the module's text."""

    __slots__ = ("data", "grid", "kind")

    def __init__(self, grid: Grid, kind: Kind, data: np.ndarray) -> None:
        if data.dtype not in REAL:
            raise KeyfluidError(f"field: values must be float32 or float64, not {data.dtype}")
        if data.ndim != 1 or data.size != grid.value_count(kind):
            raise KeyfluidError(
                f"field: {data.shape} values given; {kind.value} of a {grid.cells} grid take {grid.shapes(kind)}"
            )
        self.grid = grid
        self.kind = kind
        self.data = data if data.flags.c_contiguous else np.ascontiguousarray(data)

    @classmethod
    def zeros(cls, grid: Grid, kind: Kind, dtype: np.typing.DTypeLike = np.float32) -> Field:
        return cls(grid, kind, np.zeros(grid.value_count(kind), dtype))

    @classmethod
    def of(cls, grid: Grid, kind: Kind, *components: np.ndarray, dtype: np.typing.DTypeLike | None = None) -> Field:
        """A field from shaped arrays, one per component."""
        shapes = grid.shapes(kind)
        arrays = [np.asarray(component) for component in components]
        if [a.shape for a in arrays] != list(shapes):
            raise KeyfluidError(
                f"field: shapes {[a.shape for a in arrays]} given; {kind.value} of a {grid.cells} grid "
                f"take {list(shapes)}"
            )
        target = np.dtype(dtype) if dtype is not None else np.result_type(np.float32, *arrays)
        return cls(grid, kind, np.concatenate([a.ravel().astype(target, copy=False) for a in arrays]))

    @classmethod
    def from_function(
        cls, grid: Grid, kind: Kind, function: Callable[..., object], dtype: np.typing.DTypeLike = np.float64
    ) -> Field:
        """Sample `function(x, y[, z])`, in metres; for faces and edges it returns one value per component."""
        places = kind.places(grid.dim)
        components = []
        for a, place in enumerate(places):
            value = function(*grid.coordinates(place))
            chosen = value[a] if len(places) > 1 else value  # type: ignore[index]
            components.append(np.broadcast_to(np.asarray(chosen, np.float64), grid.shape(place)))
        return cls.of(grid, kind, *components, dtype=dtype)

    @property
    def dtype(self) -> np.dtype:
        return self.data.dtype

    @property
    def nbytes(self) -> int:
        return int(self.data.nbytes)

    def component(self, a: int) -> np.ndarray:
        """A shaped view of component a."""
        layout = self.grid.layout(self.kind)
        return self.data[layout.parts[a]].reshape(layout.shapes[a])

    def components(self) -> list[np.ndarray]:
        return [self.component(a) for a in range(len(self.grid.shapes(self.kind)))]

    @property
    def array(self) -> np.ndarray:
        """The shaped view of a field with a single component."""
        if len(self.kind.places(self.grid.dim)) != 1:
            raise KeyfluidError(f"field: {self.kind.value} have several components; ask for component(a)")
        return self.data.reshape(self.grid.layout(self.kind).shapes[0])

    def like(self, data: np.ndarray) -> Field:
        return Field(self.grid, self.kind, data)

    def copy(self) -> Field:
        return self.like(self.data.copy())

    def zeros_like(self) -> Field:
        return self.like(np.zeros_like(self.data))

    def astype(self, dtype: np.typing.DTypeLike) -> Field:
        return self.like(self.data.astype(dtype))

    def require(self, grid: Grid, kind: Kind, what: str) -> None:
        """Raise unless this field is of `kind` on `grid`."""
        if self.kind is not kind or not _same(self.grid, grid):
            raise KeyfluidError(
                f"{what}: expected {kind.value} of a {grid.cells} grid, got {self.kind.value} of {self.grid.cells}"
                + ("" if self.grid.cells != grid.cells else " with other sides or spacing")
            )

    def peak(self) -> float:
        """Largest absolute value; not finite if any value is NaN or infinite."""
        return float(np.maximum(self.data.max(), -self.data.min()))

    def require_finite(self, what: str) -> float:
        """The largest absolute value; raises if any is NaN or infinite."""
        largest = self.peak()
        if not np.isfinite(largest):
            raise BlowUp(f"{what}: holds NaN or infinite values; a step or a force has blown up before this")
        return largest

    def _other(self, other: Field) -> np.ndarray:
        if self.kind is not other.kind or not _same(self.grid, other.grid):
            raise KeyfluidError(
                f"field: {self.kind.value} of {self.grid.cells} and {other.kind.value} of {other.grid.cells} "
                "cannot be combined; they live in different places"
            )
        return other.data

    def __add__(self, other: Field) -> Field:
        return self.like(self.data + self._other(other))

    def __sub__(self, other: Field) -> Field:
        return self.like(self.data - self._other(other))

    def __mul__(self, factor: float) -> Field:
        return self.like(self.data * self.dtype.type(factor))

    __rmul__ = __mul__

    def __neg__(self) -> Field:
        return self.like(-self.data)

    def add_scaled(self, factor: float, other: Field) -> Field:
        """self + factor * other."""
        return self.like(self.data + self.dtype.type(factor) * self._other(other))

    def dot(self, other: Field) -> float:
        """Euclidean inner product, summed in float64 in an order that no thread count changes."""
        return float(np.sum(np.multiply(self.data, self._other(other), dtype=np.float64)))

    def norm(self) -> float:
        return float(np.sqrt(self.dot(self)))

    def integral(self) -> float:
        """Values times the volume of a cell, summed in float64; the mass, of a density."""
        return float(np.sum(self.data, dtype=np.float64)) * self.grid.cell_volume

    def __repr__(self) -> str:
        return f"Field({self.kind.value} of {self.grid.cells}, {self.dtype})"


def density(grid: Grid, values: np.ndarray, dtype: np.typing.DTypeLike | None = None) -> Field:
    """A centred field from a shaped array."""
    return Field.of(grid, Kind.CENTRES, values, dtype=dtype)


def velocity(grid: Grid, *components: np.ndarray, dtype: np.typing.DTypeLike | None = None) -> Field:
    """A face field from shaped arrays, one per axis."""
    return Field.of(grid, Kind.FACES, *components, dtype=dtype)
