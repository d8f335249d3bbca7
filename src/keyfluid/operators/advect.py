"""Semi-Lagrangian advection on a staggered grid.

Locations   q at its own points (centres or faces), u on faces (docs/notation.md)
Continuous  dq/dt + u . grad q = 0
Discrete    q1(x) = eta(q0, X(x)),  X = x - dt u (RK1), midpoint (RK2) or Ralston's third-order rule (RK3)
                                                                 [McNamara 2004, section 6.4; Tang 2021, 5.1]
            eta interpolates linearly in each axis, or by monotone cubics (interpolate_cubic.py).
Tangent     d_q1 = eta(d_q0, X) + grad eta(q0, X) . d_X
Adjoint     q0_bar = eta(., X)^T q1_bar ;   u_bar = (dX/du)^T (grad eta(q0, X) q1_bar)
            For RK1, dX/du = -dt times interpolation; McNamara prints -v^T (d eta/d x)^T in place of it.
Feet        "own": every location traces its own; "shared": traced once at cell centres and averaged to faces,
            about twice as fast, and a different discretisation of the same order in space.
Sides       a clamped coordinate reads the side's value; centred quantities on an open axis read 0 outside.
Smoothness  kinks where a foot crosses a grid line: mean of the one-sided derivatives there, in every stage, so
            that a mirrored scene has the mirrored gradient even at rest. Clamped feet have zero derivative.
            Not differentiated: dt.
"""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field as dataclass_field
from functools import lru_cache

import numpy as np

from keyfluid.boundary import Boundary
from keyfluid.errors import KeyfluidError
from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind, Place
from keyfluid.kernels import advect2, advect3
from keyfluid.operators.base import Fields, Operator

TABLEAUS = {
    1: [[0.0, 1.0]],
    2: [[0.0, 0.0], [0.5, 1.0]],
    3: [[0.0, 2.0 / 9.0], [0.5, 3.0 / 9.0], [0.75, 4.0 / 9.0]],
}
_FORWARD_SLABS = 16
_ADJOINT_SLABS = 16


@dataclass(frozen=True, eq=False)
class Tables:
    """What a kernel must know of the lattices it reads; see kernels/rows3.py."""

    lattices: np.ndarray
    bases: np.ndarray
    points: np.ndarray


@lru_cache(maxsize=256)
def tables(grid: Grid, place: Place, padded: bool, dtype: np.dtype) -> Tables:
    """Lattices as seen from the values at `place`: velocity components, carried values, shared feet."""
    periods = [n if grid.is_periodic(axis) else 0 for axis, n in enumerate(grid.cells)]
    lattices, bases = [], []
    start = 0
    for face in Kind.FACES.places(grid.dim):
        shape = grid.shape(face)
        lattices.append([start, *shape, *periods])
        bases.append([0.5 * (float(on) - float(at)) for on, at in zip(face, place)])
        start += int(np.prod(shape))
    rim = [int(padded and side is Boundary.OPEN) for side in grid.boundary]
    shape = grid.shape(place)
    lattices.append([0, *(n + 2 * r for n, r in zip(shape, rim)), *periods])
    bases.append([float(r) for r in rim])
    for a in range(grid.dim):
        lattices.append([a * grid.count, *grid.cells, *periods])
        bases.append([-0.5 * float(at) for at in place])
    return Tables(np.array(lattices, np.int32), np.array(bases, dtype), np.array(shape, np.int64))


@dataclass(frozen=True)
class Advect(Operator):
    """Carry any number of fields with a velocity for one step.

    forward(*carried, velocity) -> carried after the step; dt in seconds, velocity in m/s.
    """

    grid: Grid
    dt: float
    order: int = 2
    feet: str = "own"
    interpolation: str = "linear"
    """Of the carried values: "cubic" smears far less, and takes two to four times as long."""
    _cache: dict = dataclass_field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.order not in TABLEAUS:
            raise KeyfluidError(f"advect: order {self.order} is not known; use 1, 2 or 3")
        if self.feet not in ("own", "shared"):
            raise KeyfluidError(f"advect: feet {self.feet!r} is not known; use 'own' or 'shared'")
        if self.interpolation not in ("linear", "cubic"):
            raise KeyfluidError(
                f"advect: interpolation {self.interpolation!r} is not known; use 'linear' or 'cubic'"
            )
        if not (np.isfinite(self.dt) and self.dt > 0):
            raise KeyfluidError(f"advect: a step of {self.dt} s; it must be positive")

    def forward(self, *inputs: Field) -> Fields:
        if self.interpolation == "cubic":
            return self._cubic.forward(*inputs)
        *carried, velocity = inputs
        self._reach(velocity)
        feet = self._shared_feet(velocity)
        outputs = []
        for field in carried:
            field.require(self.grid, field.kind, "advect: carried field")
            out = np.empty_like(field.data)
            for table, part in self._parts(field):
                slabs = forward_slabs(table)
                self._kernels.advect(
                    self._tableau(field.dtype), self._scale(field.dtype), table.lattices, table.bases,
                    table.points, self._padded(field, part), velocity.data, feet, out[part], slabs,
                    *self._work(table, slabs, field.dtype)[:2],
                )  # fmt: skip
            outputs.append(field.like(out))
        return tuple(outputs)

    def tangent(self, inputs: Fields, d_inputs: Fields) -> Fields:
        if self.interpolation == "cubic":
            return self._cubic.tangent(inputs, d_inputs)
        *carried, velocity = inputs
        *d_carried, d_velocity = d_inputs
        self._reach(velocity)
        feet = self._shared_feet(velocity)
        d_feet = self._shared_feet_tangent(velocity, d_velocity)
        outputs = []
        for field, d_field in zip(carried, d_carried):
            d_out = np.empty_like(field.data)
            for table, part in self._parts(field):
                slabs = forward_slabs(table)
                self._kernels.advect_tangent(
                    self._tableau(field.dtype), self._scale(field.dtype), table.lattices, table.bases,
                    table.points, self._padded(field, part), velocity.data, feet,
                    self._padded(d_field, part), d_velocity.data, d_feet, d_out[part], slabs,
                    *self._work(table, slabs, field.dtype),
                )  # fmt: skip
            outputs.append(field.like(d_out))
        return tuple(outputs)

    def adjoint(self, inputs: Fields, outputs_bar: Fields) -> Fields:
        if self.interpolation == "cubic":
            return self._cubic.adjoint(inputs, outputs_bar)
        *carried, velocity = inputs
        reach = self._reach(velocity)
        feet = self._shared_feet(velocity)
        feet_bar = np.zeros_like(feet)
        velocity_bar = np.zeros_like(velocity.data)
        inputs_bar = []
        for field, out_bar in zip(carried, outputs_bar):
            field_bar = np.zeros_like(field.data)
            for table, part in self._parts(field):
                values = self._padded(field, part)
                values_bar = field_bar[part] if values.size == field_bar[part].size else np.zeros_like(values)
                slabs = adjoint_slabs(table, reach)
                work = self._work(table, slabs, field.dtype)
                self._kernels.advect_adjoint(
                    self._tableau(field.dtype), self._scale(field.dtype), table.lattices, table.bases,
                    table.points, values, velocity.data, feet, out_bar.data[part], values_bar,
                    velocity_bar, feet_bar, slabs, *work,
                )  # fmt: skip
                if values_bar.size != field_bar[part].size:
                    self._crop(values_bar, field_bar[part])
            inputs_bar.append(field.like(field_bar))
        if self.feet == "shared":
            self._trace_adjoint(self._centre, velocity, feet_bar, velocity_bar, reach)
        return (*inputs_bar, velocity.like(velocity_bar))

    def _shared_feet(self, velocity: Field) -> np.ndarray:
        if self.feet == "own":
            return np.empty(0, velocity.dtype)
        return self._trace(self._centre, velocity)

    def _trace(self, place: Place, velocity: Field) -> np.ndarray:
        """Displacements in cells of the backtraces from all points of `place`, axis by axis."""
        table = tables(self.grid, place, False, velocity.dtype)
        feet = np.empty(self.grid.dim * int(np.prod(table.points)), velocity.dtype)
        slabs = forward_slabs(table)
        self._kernels.trace(
            self._rule(velocity.dtype), self._scale(velocity.dtype), table.lattices, table.bases, table.points,
            velocity.data, feet, slabs, *self._work(table, slabs, velocity.dtype)[:2],
        )  # fmt: skip
        return feet

    def _shared_feet_tangent(self, velocity: Field, d_velocity: Field) -> np.ndarray:
        if self.feet == "own":
            return np.empty(0, velocity.dtype)
        return self._trace_tangent(self._centre, velocity, d_velocity)

    def _trace_tangent(self, place: Place, velocity: Field, d_velocity: Field) -> np.ndarray:
        table = tables(self.grid, place, False, velocity.dtype)
        d_feet = np.empty(self.grid.dim * int(np.prod(table.points)), velocity.dtype)
        slabs = forward_slabs(table)
        self._kernels.trace_tangent(
            self._rule(velocity.dtype), self._scale(velocity.dtype), table.lattices, table.bases, table.points,
            velocity.data, d_velocity.data, d_feet, slabs, *self._work(table, slabs, velocity.dtype),
        )  # fmt: skip
        return d_feet

    def _trace_adjoint(
        self, place: Place, velocity: Field, feet_bar: np.ndarray, velocity_bar: np.ndarray, reach: int
    ) -> None:
        """Add (d feet / d velocity)^T feet_bar to velocity_bar."""
        table = tables(self.grid, place, False, velocity.dtype)
        slabs = adjoint_slabs(table, reach)
        work = self._work(table, slabs, velocity.dtype)
        self._kernels.trace_adjoint(
            self._rule(velocity.dtype), self._scale(velocity.dtype), table.lattices, table.bases, table.points,
            velocity.data, feet_bar, velocity_bar, slabs, *work,
        )  # fmt: skip

    @property
    def _cubic(self):  # type: ignore[no-untyped-def]
        from keyfluid.operators.interpolate_cubic import CubicAdvection  # it builds on this file

        return CubicAdvection(self)

    @property
    def _kernels(self):  # type: ignore[no-untyped-def]
        return advect2 if self.grid.dim == 2 else advect3

    def _work(self, table: Tables, slabs: int, dtype: np.dtype) -> tuple[np.ndarray, ...]:
        return self._kernels.work_arrays(int(table.points[-1]), self.order, slabs, dtype)

    def _rule(self, dtype: np.dtype) -> np.ndarray:
        return _rule(self.order, dtype)

    def _tableau(self, dtype: np.dtype) -> np.ndarray:
        return _rule(self.order if self.feet == "own" else 0, dtype)

    def _scale(self, dtype: np.dtype) -> np.floating:
        return dtype.type(self.dt / self.grid.spacing)

    @property
    def _centre(self) -> Place:
        return Kind.CENTRES.places(self.grid.dim)[0]

    def _parts(self, field: Field) -> list[tuple[Tables, slice]]:
        """Tables and slice of the flat data, component by component."""
        key = (field.kind, field.dtype)
        if key not in self._cache:
            layout = self.grid.layout(field.kind)
            padded = field.kind is Kind.CENTRES
            self._cache[key] = [
                (tables(self.grid, place, padded, field.dtype), part)
                for place, part in zip(layout.places, layout.parts)
            ]
        return self._cache[key]

    def _rim(self) -> list[tuple[int, int]]:
        return [(1, 1) if side is Boundary.OPEN else (0, 0) for side in self.grid.boundary]

    def _padded(self, field: Field, part: slice) -> np.ndarray:
        """The values to carry; centred ones with a rim of zeros on open axes."""
        if field.kind is Kind.CENTRES and Boundary.OPEN in self.grid.boundary:
            return np.pad(field.array, self._rim()).ravel()
        return field.data[part]

    def _crop(self, padded: np.ndarray, out: np.ndarray) -> None:
        shape = [n + low + high for n, (low, high) in zip(self.grid.cells, self._rim())]
        inner = tuple(slice(low, low + n) for n, (low, _) in zip(self.grid.cells, self._rim()))
        out += padded.reshape(shape)[inner].ravel()

    def _reach(self, velocity: Field) -> int:
        """Farthest displacement in whole cells; raises on NaN, which no kernel survives."""
        velocity.require(self.grid, Kind.FACES, "advect: velocity")
        fastest = velocity.require_finite("advect: velocity")
        return int(min(np.ceil(fastest * self.dt / self.grid.spacing), max(self.grid.cells)))


@lru_cache(maxsize=8)
def _rule(order: int, dtype: np.dtype) -> np.ndarray:
    """The tableau of an order; order 0 has no stages."""
    return np.array(TABLEAUS.get(order, []), dtype).reshape(-1, 2)


def forward_slabs(table: Tables) -> int:
    """How many slabs for a kernel that writes nothing but its own points."""
    return min(_FORWARD_SLABS, int(table.points[0]))


def adjoint_slabs(table: Tables, reach: int) -> int:
    """How many slabs so that two of one colour never scatter to the same place: twice the reach thick."""
    slabs = min(_ADJOINT_SLABS, int(table.points[0]) // (2 * (reach + 3)))
    return max(1, slabs - slabs % 2)
