"""Semi-Lagrangian advection on a staggered grid.

Locations   q at its own points (centres or faces), u on faces (docs/notation.md)
Continuous  dq/dt + u . grad q = 0
Discrete    q1(x) = eta(q0, X(x)),  X: backtrace by RK1, RK2 or RK3 (backtrace.py)
                                                                 [McNamara 2004, section 6.4; Tang 2021, 5.1]
            eta interpolates linearly in each axis, or by monotone cubics (interpolate_cubic.py).
Tangent     d_q1 = eta(d_q0, X) + grad eta(q0, X) . d_X
Adjoint     q0_bar = eta(., X)^T q1_bar ;   u_bar = (dX/du)^T (grad eta(q0, X) q1_bar)
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
from functools import cached_property

import numpy as np

from keyfluid.errors import KeyfluidError
from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind, Place
from keyfluid.operators.backtrace import Backtrace, Tables, adjoint_slabs, forward_slabs, stages_of, tables
from keyfluid.operators.base import Fields, Operator
from keyfluid.operators.framed import frame_of
from keyfluid.operators.interpolate_cubic import CubicAdvection
from keyfluid.operators.kernels import advect as kernels


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
    """How carried values are read: "cubic" smears far less and takes two to four times as long."""
    _cache: dict = dataclass_field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.feet not in ("own", "shared"):
            raise KeyfluidError(f"advect: feet {self.feet!r} is not known; use 'own' or 'shared'")
        if self.interpolation not in ("linear", "cubic"):
            raise KeyfluidError(f"advect: interpolation {self.interpolation!r} is not known; use 'linear' or 'cubic'")
        _ = self._back  # raises if order or dt is wrong

    @cached_property
    def _back(self) -> Backtrace:
        return Backtrace(self.grid, self.dt, self.order)

    @cached_property
    def _cubic(self) -> CubicAdvection:
        return CubicAdvection(self._back, self.feet == "shared")

    def forward(self, *inputs: Field) -> Fields:
        if self.interpolation == "cubic":
            return self._cubic.forward(*inputs)
        *carried, velocity = inputs
        self._back.reach(velocity)
        carrier = self._framed(velocity, "carrier")
        feet = self._shared_feet(carrier)
        outputs = []
        for field in carried:
            field.require(self.grid, field.kind, "advect: carried field")
            values = carrier if field.data is velocity.data else self._framed(field, "values")
            out = np.empty_like(field.data)
            for table, part, framed in self._parts(field):
                slabs = forward_slabs(table)
                kernels.advect(
                    self._tableau(field.dtype), self._back.scale(field.dtype), table.lattices, table.bases,
                    table.points, values[framed], carrier, feet, out[part], slabs,
                    *self._back.work(table, slabs, field.dtype)[:5],
                )  # fmt: skip
            outputs.append(field.like(out))
        return tuple(outputs)

    def tangent(self, inputs: Fields, d_inputs: Fields) -> Fields:
        if self.interpolation == "cubic":
            return self._cubic.tangent(inputs, d_inputs)
        *carried, velocity = inputs
        *d_carried, d_velocity = d_inputs
        self._back.reach(velocity)
        carrier, d_carrier = self._framed(velocity), self._framed(d_velocity)
        feet: dict[Place, np.ndarray] = {}
        d_feet: dict[Place, np.ndarray] = {}
        outputs = []
        for field, d_field in zip(carried, d_carried):
            values, d_values = self._framed(field), self._framed(d_field)
            d_out = np.empty_like(field.data)
            for place, (_, part, framed) in zip(field.kind.places(self.grid.dim), self._parts(field)):
                origin = place if self.feet == "own" else self._back.centre
                table = tables(self.grid, place, field.kind is Kind.CENTRES, field.dtype, origin)
                if origin not in feet:
                    feet[origin] = self._back.trace(origin, carrier)
                    d_feet[origin] = self._back.trace_tangent(origin, carrier, d_carrier)
                slabs = forward_slabs(table)
                kernels.advect_tangent(
                    table.lattices, table.bases, table.points, values[framed], feet[origin], d_values[framed],
                    d_feet[origin], d_out[part], slabs, *self._back.work(table, slabs, field.dtype),
                )  # fmt: skip
            outputs.append(field.like(d_out))
        return tuple(outputs)

    def adjoint(self, inputs: Fields, outputs_bar: Fields) -> Fields:
        if self.interpolation == "cubic":
            return self._cubic.adjoint(inputs, outputs_bar)
        *carried, velocity = inputs
        reach = self._back.reach(velocity)
        carrier = self._framed(velocity, "carrier")
        carrier_bar = self._kept("carrier_bar", carrier.size, carrier.dtype)
        carrier_bar.fill(0)
        feet = self._shared_feet(carrier)
        feet_bar = np.zeros_like(feet)
        inputs_bar = []
        for field, out_bar in zip(carried, outputs_bar):
            values = carrier if field.data is velocity.data else self._framed(field, "values")
            values_bar = self._kept("values_bar", values.size, values.dtype)
            values_bar.fill(0)
            for table, part, framed in self._parts(field):
                slabs = adjoint_slabs(table, reach)
                kernels.advect_adjoint(
                    self._tableau(field.dtype), self._back.scale(field.dtype), table.lattices, table.bases,
                    table.points, values[framed], carrier, feet, out_bar.data[part], values_bar[framed],
                    carrier_bar, feet_bar, slabs, *self._back.work(table, slabs, field.dtype),
                )  # fmt: skip
            inputs_bar.append(field.like(frame_of(self.grid, field.kind).fold(values_bar)))
        if self.feet == "shared":
            self._back.trace_adjoint(self._back.centre, carrier, feet_bar, carrier_bar, reach)
        return (*inputs_bar, velocity.like(frame_of(self.grid, Kind.FACES).fold(carrier_bar)))

    def _framed(self, field: Field, work: str | None = None) -> np.ndarray:
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
        return np.empty(0, carrier.dtype) if self.feet == "own" else self._back.trace(self._back.centre, carrier)

    def _tableau(self, dtype: np.dtype) -> np.ndarray:
        return stages_of(self.order if self.feet == "own" else 0, dtype)

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
