"""Where the fluid at each point of a lattice was one step ago: the backtraces of semi-Lagrangian advection.

Locations   feet X of all points of one place (centres or the faces of one axis), u on faces (docs/notation.md)
Discrete    X = x - dt u (RK1), midpoint (RK2) or Ralston's third-order rule (RK3), as displacements X - x in cells
                                                                 [McNamara 2004, section 6.4; Tang 2021, 5.1]
Tangent     d_X = (dX/du) d_u, stage by stage
Adjoint     u_bar = (dX/du)^T X_bar. For RK1, dX/du = -dt times interpolation; McNamara prints -v^T (d eta/d x)^T in
            place of it.
Smoothness  kinks where a stage's point crosses a grid line: mean of the one-sided derivatives there, so that a
            mirrored scene has the mirrored gradient even at rest. Not differentiated: dt.

Arrays are flat; velocities have the frame of operators/framed.py around them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from keyfluid.boundary import Boundary
from keyfluid.errors import KeyfluidError
from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind, Place
from keyfluid.operators.framed import frame_of
from keyfluid.operators.kernels import advect as kernels

TABLEAUS = {
    1: [[0.0, 1.0]],
    2: [[0.0, 0.0], [0.5, 1.0]],
    3: [[0.0, 2.0 / 9.0], [0.5, 3.0 / 9.0], [0.75, 4.0 / 9.0]],
}
_FORWARD_SLABS = 16
_ADJOINT_SLABS = 16


@dataclass(frozen=True, eq=False)
class Tables:
    """Tables of the lattices that a kernel reads; see kernels/rows.py. sizes: those of `points`, as an array."""

    lattices: np.ndarray
    bases: np.ndarray
    points: tuple[int, ...]

    @cached_property
    def sizes(self) -> np.ndarray:
        return np.array(self.points, np.int64)


@lru_cache(maxsize=256)
def tables(grid: Grid, place: Place, padded: bool, dtype: np.dtype, origin: Place | None = None) -> Tables:
    """Lattices as seen from the values at `place`: velocity components, carried values, feet traced at `origin`
    (cell centres, unless said otherwise)."""
    periods = [n if grid.is_periodic(axis) else 0 for axis, n in enumerate(grid.cells)]
    lattices, bases = [], []

    def add(start: int, shape: Sequence[int], frame: int, base: list[float]) -> None:
        strides = np.cumprod([n + frame for n in shape[:0:-1]])[::-1]
        lattices.append([start, *shape, *periods, *strides])
        bases.append(base)

    for face, part in zip(Kind.FACES.places(grid.dim), frame_of(grid, Kind.FACES).parts):
        add(part.start, grid.shape(face), 1, [0.5 * (float(on) - float(at)) for on, at in zip(face, place)])
    rim = [int(padded and side is Boundary.OPEN) for side in grid.boundary]
    add(0, [n + 2 * r for n, r in zip(grid.shape(place), rim)], 1, [float(r) for r in rim])
    origin = origin or (False,) * grid.dim
    shape = grid.shape(origin)
    for a in range(grid.dim):
        add(a * int(np.prod(shape)), shape, 0, [0.5 * (float(on) - float(at)) for on, at in zip(origin, place)])
    return Tables(np.array(lattices, np.int32), np.array(bases, dtype), tuple(grid.shape(place)))


@dataclass(frozen=True)
class Backtrace:
    """The backtraces of one step; dt in seconds, velocity in m/s."""

    grid: Grid
    dt: float
    order: int

    def __post_init__(self) -> None:
        if self.order not in TABLEAUS:
            raise KeyfluidError(f"advect: order {self.order} is not known; use 1, 2 or 3")
        if not (np.isfinite(self.dt) and self.dt > 0):
            raise KeyfluidError(f"advect: a step of {self.dt} s; it must be positive")

    def trace(self, place: Place, carrier: np.ndarray) -> np.ndarray:
        """Displacements in cells of the backtraces from all points of `place`, axis by axis; framed velocity."""
        table = tables(self.grid, place, False, carrier.dtype)
        feet = np.empty(self.grid.dim * int(np.prod(table.points)), carrier.dtype)
        slabs = forward_slabs(table)
        kernels.trace(
            stages_of(self.order, carrier.dtype), self.scale(carrier.dtype), table.lattices, table.bases, table.points,
            carrier, feet, slabs, *self.work(table, slabs, carrier.dtype)[:5],
        )  # fmt: skip
        return feet

    def trace_tangent(self, place: Place, carrier: np.ndarray, d_carrier: np.ndarray) -> np.ndarray:
        """Tangent of `trace`: the change of the feet for a change of the velocity."""
        table = tables(self.grid, place, False, carrier.dtype)
        d_feet = np.empty(self.grid.dim * int(np.prod(table.points)), carrier.dtype)
        slabs = forward_slabs(table)
        kernels.trace_tangent(
            stages_of(self.order, carrier.dtype), self.scale(carrier.dtype), table.lattices, table.bases, table.points,
            carrier, d_carrier, d_feet, slabs, *self.work(table, slabs, carrier.dtype),
        )  # fmt: skip
        return d_feet

    def trace_adjoint(
        self, place: Place, carrier: np.ndarray, feet_bar: np.ndarray, carrier_bar: np.ndarray, reach: int
    ) -> None:
        """Add (d feet / d velocity)^T feet_bar to carrier_bar."""
        table = tables(self.grid, place, False, carrier.dtype)
        slabs = adjoint_slabs(table, reach)
        kernels.trace_adjoint(
            stages_of(self.order, carrier.dtype), self.scale(carrier.dtype), table.lattices, table.bases, table.points,
            carrier, feet_bar, carrier_bar, slabs, *self.work(table, slabs, carrier.dtype),
        )  # fmt: skip

    def reach(self, velocity: Field) -> int:
        """Farthest displacement along the first axis, which slabs divide, in whole cells; raises on NaN, which no
        kernel survives."""
        velocity.require(self.grid, Kind.FACES, "advect: velocity")
        velocity.require_finite("advect: velocity")
        along = velocity.component(0)
        fastest = max(float(along.max()), -float(along.min()))
        return int(min(np.ceil(fastest * self.dt / self.grid.spacing), self.grid.cells[0]))

    @property
    def centre(self) -> Place:
        return Kind.CENTRES.places(self.grid.dim)[0]

    def scale(self, dtype: np.dtype) -> np.floating:
        """Cells that 1 m/s crosses in a step."""
        return dtype.type(self.dt / self.grid.spacing)

    def work(self, table: Tables, slabs: int, dtype: np.dtype) -> tuple[np.ndarray, ...]:
        """The kernels' work arrays for these points."""
        return kernels.work_arrays(self.grid.dim, int(table.points[-1]), self.order, slabs, dtype)


@lru_cache(maxsize=8)
def stages_of(order: int, dtype: np.dtype) -> np.ndarray:
    """The tableau of an order; order 0 has no stages."""
    return np.array(TABLEAUS.get(order, []), dtype).reshape(-1, 2)


def forward_slabs(table: Tables) -> int:
    """Number of slabs for a kernel that writes only its own points."""
    return min(_FORWARD_SLABS, int(table.points[0]))


def adjoint_slabs(table: Tables, reach: int) -> int:
    """Number of slabs for scattering: twice the reach thick, so those of one colour never write to one value."""
    slabs = min(_ADJOINT_SLABS, int(table.points[0]) // (2 * (reach + 3)))
    return max(1, slabs - slabs % 2)
