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

from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from functools import lru_cache

import numpy as np

from keyfluid.boundary import Boundary
from keyfluid.errors import KeyfluidError
from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind, Place
from keyfluid.operators.base import Fields, Operator
from keyfluid.operators.framed import frame_of
from keyfluid.operators.kernels import advect2, advect3

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
    return Tables(np.array(lattices, np.int32), np.array(bases, dtype), np.array(grid.shape(place), np.int64))


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
        carrier = self.framed(velocity, "carrier")
        feet = self._shared_feet(carrier)
        outputs = []
        for field in carried:
            field.require(self.grid, field.kind, "advect: carried field")
            values = carrier if field.data is velocity.data else self.framed(field, "values")
            out = np.empty_like(field.data)
            for table, part, framed in self._parts(field):
                slabs = forward_slabs(table)
                self._kernels.advect(
                    self._tableau(field.dtype), self._scale(field.dtype), table.lattices, table.bases,
                    table.points, values[framed], carrier, feet, out[part], slabs,
                    *self._work(table, slabs, field.dtype)[:5],
                )  # fmt: skip
            outputs.append(field.like(out))
        return tuple(outputs)

    def tangent(self, inputs: Fields, d_inputs: Fields) -> Fields:
        if self.interpolation == "cubic":
            return self._cubic.tangent(inputs, d_inputs)
        *carried, velocity = inputs
        *d_carried, d_velocity = d_inputs
        self._reach(velocity)
        carrier, d_carrier = self.framed(velocity), self.framed(d_velocity)
        feet: dict[Place, np.ndarray] = {}
        d_feet: dict[Place, np.ndarray] = {}
        outputs = []
        for field, d_field in zip(carried, d_carried):
            values, d_values = self.framed(field), self.framed(d_field)
            d_out = np.empty_like(field.data)
            for place, (_, part, framed) in zip(field.kind.places(self.grid.dim), self._parts(field)):
                origin = place if self.feet == "own" else self._centre
                table = tables(self.grid, place, field.kind is Kind.CENTRES, field.dtype, origin)
                if origin not in feet:
                    feet[origin] = self.trace(origin, carrier)
                    d_feet[origin] = self.trace_tangent(origin, carrier, d_carrier)
                slabs = forward_slabs(table)
                self._kernels.advect_tangent(
                    table.lattices, table.bases, table.points, values[framed], feet[origin], d_values[framed],
                    d_feet[origin], d_out[part], slabs, *self._work(table, slabs, field.dtype),
                )  # fmt: skip
            outputs.append(field.like(d_out))
        return tuple(outputs)

    def adjoint(self, inputs: Fields, outputs_bar: Fields) -> Fields:
        if self.interpolation == "cubic":
            return self._cubic.adjoint(inputs, outputs_bar)
        *carried, velocity = inputs
        reach = self._reach(velocity)
        carrier = self.framed(velocity, "carrier")
        carrier_bar = self._kept("carrier_bar", carrier.size, carrier.dtype)
        carrier_bar.fill(0)
        feet = self._shared_feet(carrier)
        feet_bar = np.zeros_like(feet)
        inputs_bar = []
        for field, out_bar in zip(carried, outputs_bar):
            values = carrier if field.data is velocity.data else self.framed(field, "values")
            values_bar = self._kept("values_bar", values.size, values.dtype)
            values_bar.fill(0)
            for table, part, framed in self._parts(field):
                slabs = adjoint_slabs(table, reach)
                self._kernels.advect_adjoint(
                    self._tableau(field.dtype), self._scale(field.dtype), table.lattices, table.bases,
                    table.points, values[framed], carrier, feet, out_bar.data[part], values_bar[framed],
                    carrier_bar, feet_bar, slabs, *self._work(table, slabs, field.dtype),
                )  # fmt: skip
            inputs_bar.append(field.like(frame_of(self.grid, field.kind).fold(values_bar)))
        if self.feet == "shared":
            self.trace_adjoint(self._centre, carrier, feet_bar, carrier_bar, reach)
        return (*inputs_bar, velocity.like(frame_of(self.grid, Kind.FACES).fold(carrier_bar)))

    def framed(self, field: Field, work: str | None = None) -> np.ndarray:
        """The values of a field, laid out for the kernels; in the work array of that name, or a fresh one."""
        frame = frame_of(self.grid, field.kind)
        return frame.put_on(field.data, None if work is None else self._kept(work, frame.size, field.dtype))

    def _kept(self, name: str, size: int, dtype: np.dtype) -> np.ndarray:
        """A work array: a fresh one would cost as much as filling it several times."""
        key = (name, size, dtype)
        if key not in self._cache:
            self._cache[key] = np.empty(size, dtype)
        return self._cache[key]

    def _shared_feet(self, carrier: np.ndarray) -> np.ndarray:
        return np.empty(0, carrier.dtype) if self.feet == "own" else self.trace(self._centre, carrier)

    def trace(self, place: Place, carrier: np.ndarray) -> np.ndarray:
        """Displacements in cells of the backtraces from all points of `place`, axis by axis; framed velocity."""
        table = tables(self.grid, place, False, carrier.dtype)
        feet = np.empty(self.grid.dim * int(np.prod(table.points)), carrier.dtype)
        slabs = forward_slabs(table)
        self._kernels.trace(
            self._rule(carrier.dtype), self._scale(carrier.dtype), table.lattices, table.bases, table.points,
            carrier, feet, slabs, *self._work(table, slabs, carrier.dtype)[:5],
        )  # fmt: skip
        return feet

    def trace_tangent(self, place: Place, carrier: np.ndarray, d_carrier: np.ndarray) -> np.ndarray:
        """Change of what `trace` gives for a change of the velocity."""
        table = tables(self.grid, place, False, carrier.dtype)
        d_feet = np.empty(self.grid.dim * int(np.prod(table.points)), carrier.dtype)
        slabs = forward_slabs(table)
        self._kernels.trace_tangent(
            self._rule(carrier.dtype), self._scale(carrier.dtype), table.lattices, table.bases, table.points,
            carrier, d_carrier, d_feet, slabs, *self._work(table, slabs, carrier.dtype),
        )  # fmt: skip
        return d_feet

    def trace_adjoint(
        self, place: Place, carrier: np.ndarray, feet_bar: np.ndarray, carrier_bar: np.ndarray, reach: int
    ) -> None:
        """Add (d feet / d velocity)^T feet_bar to carrier_bar."""
        table = tables(self.grid, place, False, carrier.dtype)
        slabs = adjoint_slabs(table, reach)
        self._kernels.trace_adjoint(
            self._rule(carrier.dtype), self._scale(carrier.dtype), table.lattices, table.bases, table.points,
            carrier, feet_bar, carrier_bar, slabs, *self._work(table, slabs, carrier.dtype),
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

    def _parts(self, field: Field) -> list[tuple[Tables, slice, slice]]:
        """Tables and slices of the flat data, without and with its frame, component by component."""
        key = (field.kind, field.dtype)
        if key not in self._cache:
            layout = self.grid.layout(field.kind)
            padded = field.kind is Kind.CENTRES
            self._cache[key] = [
                (tables(self.grid, place, padded, field.dtype), part, framed)
                for place, part, framed in zip(layout.places, layout.parts, frame_of(self.grid, field.kind).parts)
            ]
        return self._cache[key]

    def _reach(self, velocity: Field) -> int:
        """Farthest displacement along the first axis, which slabs divide, in whole cells; raises on NaN, which no
        kernel survives."""
        velocity.require(self.grid, Kind.FACES, "advect: velocity")
        velocity.require_finite("advect: velocity")
        along = velocity.component(0)
        fastest = max(float(along.max()), -float(along.min()))
        return int(min(np.ceil(fastest * self.dt / self.grid.spacing), self.grid.cells[0]))


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
