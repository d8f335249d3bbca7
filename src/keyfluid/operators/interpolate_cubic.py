"""The part of `Advect` that reads the carried values by monotone cubics (kernels/cubic.py has the formula).

Feet are traced first, for all points of a place, so that fields at one place share them; the cubics then read
the carried values there. The adjoint goes the same way back: values, then feet, then velocity.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from keyfluid.boundary import Boundary
from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind, Place
from keyfluid.operators.axis_stencils import to_planes, to_planes_transposed
from keyfluid.operators.backtrace import Backtrace, Tables, adjoint_slabs, forward_slabs, tables
from keyfluid.operators.base import Fields
from keyfluid.operators.framed import frame_of
from keyfluid.operators.kernels import cubic

Feet = dict[Place, np.ndarray]
"""Displacements in cells of all points of a place, axis by axis."""


@dataclass(frozen=True)
class CubicAdvection:
    """What `Advect` does when its interpolation is "cubic"; shared: feet are traced at cell centres only."""

    back: Backtrace
    shared: bool

    def forward(self, *inputs: Field) -> Fields:
        *carried, velocity = inputs
        self.back.reach(velocity)
        feet = self._feet(carried, velocity)
        outputs = []
        for field in carried:
            out = np.empty_like(field.data)
            for place, part, table in self._parts(field):
                cubic.interpolate(
                    table.lattices, table.bases, table.sizes, _padded(field, part), feet[place],
                    out[part], forward_slabs(table),
                )  # fmt: skip
            outputs.append(field.like(out))
        return tuple(outputs)

    def tangent(self, inputs: Fields, d_inputs: Fields) -> Fields:
        *carried, velocity = inputs
        *d_carried, d_velocity = d_inputs
        self.back.reach(velocity)
        feet = self._feet(carried, velocity)
        d_feet = self._feet_tangent(carried, velocity, d_velocity)
        outputs = []
        for field, d_field in zip(carried, d_carried):
            d_out = np.empty_like(field.data)
            for place, part, table in self._parts(field):
                cubic.interpolate_tangent(
                    table.lattices, table.bases, table.sizes, _padded(field, part), feet[place],
                    _padded(d_field, part), d_feet[place], d_out[part], forward_slabs(table),
                )  # fmt: skip
            outputs.append(field.like(d_out))
        return tuple(outputs)

    def adjoint(self, inputs: Fields, outputs_bar: Fields) -> Fields:
        *carried, velocity = inputs
        reach = self.back.reach(velocity)
        feet = self._feet(carried, velocity)
        feet_bar = {place: np.zeros_like(there) for place, there in feet.items()}
        inputs_bar = []
        for field, out_bar in zip(carried, outputs_bar):
            field_bar = np.zeros_like(field.data)
            for place, part, table in self._parts(field):
                values = _padded(field, part)
                values_bar = field_bar[part] if values.size == field_bar[part].size else np.zeros_like(values)
                for colour in range(2):
                    cubic.interpolate_adjoint(
                        table.lattices, table.bases, table.sizes, values, feet[place], out_bar.data[part],
                        values_bar, feet_bar[place], adjoint_slabs(table, reach + 1), colour,
                    )  # fmt: skip
                if values_bar.size != field_bar[part].size:
                    _crop(values_bar, field, field_bar[part])
            inputs_bar.append(field.like(field_bar))
        return (*inputs_bar, self._feet_adjoint(velocity, feet_bar, reach))

    def _parts(self, field: Field) -> Iterator[tuple[Place, slice, Tables]]:
        """Place, slice of the flat data and tables, component by component."""
        field.require(self.back.grid, field.kind, "advect: carried field")
        start = 0
        for place in field.kind.places(field.grid.dim):
            stop = start + int(np.prod(field.grid.shape(place)))
            table = tables(field.grid, place, field.kind is Kind.CENTRES, field.dtype)
            yield place, slice(start, stop), table
            start = stop

    def _feet(self, carried: Sequence[Field], velocity: Field) -> Feet:
        carrier = _framed(velocity)
        if not self.shared:
            return {place: self.back.trace(place, carrier) for place in _places(carried)}
        centred = self.back.trace(self.back.centre, carrier)
        return {place: self._average(centred, place) for place in _places(carried)}

    def _feet_tangent(self, carried: Sequence[Field], velocity: Field, d_velocity: Field) -> Feet:
        carrier, d_carrier = _framed(velocity), _framed(d_velocity)
        if not self.shared:
            return {place: self.back.trace_tangent(place, carrier, d_carrier) for place in _places(carried)}
        centred = self.back.trace_tangent(self.back.centre, carrier, d_carrier)
        return {place: self._average(centred, place) for place in _places(carried)}

    def _feet_adjoint(self, velocity: Field, feet_bar: Feet, reach: int) -> Field:
        carrier = _framed(velocity)
        carrier_bar = np.zeros_like(carrier)
        if self.shared:
            shared = [self._average_transposed(there, place) for place, there in feet_bar.items()]
            feet_bar = {self.back.centre: np.sum(shared, axis=0)}
        for place, there in feet_bar.items():
            self.back.trace_adjoint(place, carrier, there, carrier_bar, reach)
        return velocity.like(frame_of(velocity.grid, velocity.kind).fold(carrier_bar))

    def _average(self, centred: np.ndarray, place: Place) -> np.ndarray:
        """Feet traced at cell centres, averaged to another place."""
        grid = self.back.grid
        feet = centred.reshape(grid.dim, *grid.cells)
        for axis, on_plane in enumerate(place):
            if on_plane:
                feet = to_planes(feet, axis + 1, grid.is_periodic(axis))
        return feet.ravel()

    def _average_transposed(self, feet_bar: np.ndarray, place: Place) -> np.ndarray:
        grid = self.back.grid
        centred_bar = feet_bar.reshape(grid.dim, *grid.shape(place))
        for axis, on_plane in enumerate(place):
            if on_plane:
                centred_bar = to_planes_transposed(centred_bar, axis + 1, grid.is_periodic(axis))
        return centred_bar.ravel()


def _framed(velocity: Field) -> np.ndarray:
    return frame_of(velocity.grid, velocity.kind).put_on(velocity.data)


def _places(carried: Sequence[Field]) -> list[Place]:
    """The places of all components, each once."""
    return list(dict.fromkeys(place for field in carried for place in field.kind.places(field.grid.dim)))


def _rim(grid: Grid) -> list[tuple[int, int]]:
    return [(1, 1) if side is Boundary.OPEN else (0, 0) for side in grid.boundary]


def _padded(field: Field, part: slice) -> np.ndarray:
    """The values to carry; centred ones with a rim of zeros on open axes."""
    if field.kind is Kind.CENTRES and Boundary.OPEN in field.grid.boundary:
        return np.pad(field.array, _rim(field.grid)).ravel()
    return field.data[part]


def _crop(padded: np.ndarray, field: Field, out: np.ndarray) -> None:
    """Transpose of `_padded`, added to `out`."""
    cells, rim = field.grid.cells, _rim(field.grid)
    inner = tuple(slice(low, low + n) for n, (low, _) in zip(cells, rim))
    out += padded.reshape([n + low + high for n, (low, high) in zip(cells, rim)])[inner].ravel()
