"""Velocity beyond the liquid, and the level set inside bodies: values carried outwards where there are none.

Locations   v on faces, phi at centres
Discrete    layer by layer from the known values: the mean of the neighbours in the layer before (kernels/layers.py).
            ExtrapolateVelocity: known are the wet faces; walls and bodies keep their own velocity.
            IntoBodies: known is phi outside bodies, so that liquid and air go on behind their surface.
Adjoint     the layers inwards again, from the last to the first
Smoothness  linear in the values. Not differentiated: which faces are wet.
Deviations  McNamara does not say how; extension velocities along grad phi [Adalsteinsson & Sethian 1998] would make the
            weights depend on phi.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.operators.base import Fields, LinearOperator, SharedWork
from keyfluid.operators.box import CellBox, box_of
from keyfluid.operators.kernels import layers
from keyfluid.operators.wet import Wet
from keyfluid.solids import Solids


@dataclass(frozen=True, eq=False)
class Layers:
    """The layers around known values of one array: places to fill in order, and the sides that each is filled from."""

    box: CellBox
    known: np.ndarray
    sources: np.ndarray
    order: np.ndarray

    @classmethod
    def around(cls, grid: Grid, known: np.ndarray, blocked: np.ndarray) -> Layers:
        box = box_of(grid, known.shape)
        sources, order = np.empty(known.size, np.uint8), np.empty(known.size, np.int32)
        count = layers.find_layers(known.ravel(), blocked.ravel(), *box, sources, order)
        return cls(box, known, sources, order[:count])

    def fill(self, values: np.ndarray) -> np.ndarray:
        """The values that were reached; unreached and blocked ones are zero."""
        flat = np.where(self.known, values, 0.0).astype(np.float64).ravel()
        layers.fill(flat, *self.box, self.sources, self.order)
        return flat.reshape(values.shape)

    def fill_adjoint(self, bars: np.ndarray) -> np.ndarray:
        flat = bars.astype(np.float64).ravel()
        layers.fill_adjoint(flat, *self.box, self.sources, self.order)
        return np.where(self.known, flat.reshape(bars.shape), 0.0)


class ExtrapolateVelocity(SharedWork[list[Layers]]):
    """forward(velocity, surface) -> (velocity,): wet faces keep theirs, all others get their neighbours'."""

    def __init__(self, grid: Grid, solids: Solids | None = None) -> None:
        self.grid, self.solids = grid, solids

    def forward_with(self, work: list[Layers], inputs: Fields) -> Fields:
        (out,) = self.tangent_with(work, inputs, inputs)
        if self.solids is not None:
            out = out.like(np.where(self.solids.free, out.data, self.solids.motion.data).astype(out.dtype))
        return (out,)

    def tangent_with(self, work: list[Layers], inputs: Fields, d_inputs: Fields) -> Fields:
        d_v = d_inputs[0]
        parts = [around.fill(d).ravel() for around, d in zip(work, d_v.components())]
        return (d_v.like(np.concatenate(parts).astype(d_v.dtype)),)

    def adjoint_with(self, work: list[Layers], inputs: Fields, outputs_bar: Fields) -> Fields:
        (bar,) = outputs_bar
        parts = [around.fill_adjoint(b).ravel() for around, b in zip(work, bar.components())]
        return bar.like(np.concatenate(parts).astype(bar.dtype)), inputs[1].zeros_like()

    def work(self, *inputs: Field) -> list[Layers]:
        v, surface = inputs
        v.require(self.grid, Kind.FACES, "extrapolate: velocity")
        surface.require(self.grid, Kind.CENTRES, "extrapolate: surface")
        wet = Wet.of(surface, self.solids)
        faces, blocked = wet.components(wet.faces), wet.components(~wet.free)
        return [Layers.around(self.grid, *both) for both in zip(faces, blocked)]


class IntoBodies(LinearOperator):
    """forward(surface) -> (surface,): cells of bodies get their neighbours' values."""

    def __init__(self, solids: Solids) -> None:
        self.grid, self.solids = solids.grid, solids

    @cached_property
    def _layers(self) -> Layers:
        return Layers.around(self.grid, self.solids.fluid, np.zeros(self.grid.cells, bool))

    def apply(self, *inputs: Field) -> Fields:
        (phi,) = inputs
        phi.require(self.grid, Kind.CENTRES, "bodies: surface")
        return (phi.like(self._layers.fill(phi.array).ravel().astype(phi.dtype)),)

    def transpose(self, *outputs_bar: Field) -> Fields:
        (bar,) = outputs_bar
        return (bar.like(self._layers.fill_adjoint(bar.array).ravel().astype(bar.dtype)),)
