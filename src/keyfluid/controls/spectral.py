"""Forces as the curl of a vector potential made of waves below a cutoff [Tang 2021, sections 4.1 and 4.2].

    f = curl psi,   psi = F^-1(Psi M),   M keeps the waves with |k|_inf <= k_n            [eq. 7 and 11]

k counts waves (cycles) per longest side of the domain, as the paper's Fourier indices do on a periodic square; a
sine of index m has half a cycle, k = m / 2. Between walls the potential is a sum of sines, zero on the walls, so
that nothing is pushed through them; around periodic axes it is a Fourier sum, across open sides a cosine sum.
A potential has no mean flow along an axis without walls: a uniform force along each such axis is added.

Deviation    coefficients are not those of psi: each wave is scaled so that a coefficient 1 is a force of root mean
             square 1, psi_m = c_m sqrt(N) / kappa_m. In 2D these force fields are orthogonal, and plain descent in
             c is descent in the mean square of forces, whatever the resolution. A weight 1/|k|^p on the potential's
             coefficients, which the paper does not have, is then `falloff` = p - 1 here (`scales`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np

from keyfluid.boundary import Boundary
from keyfluid.controls.basis import Basis
from keyfluid.controls.modes import ChosenWaves, Wave, analyse, synthesise, wavenumbers
from keyfluid.errors import KeyfluidError
from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.operators.curl import Curl

_ON_PLANES = {Boundary.WALLS: Wave.SINE, Boundary.OPEN: Wave.FREE, Boundary.PERIODIC: Wave.AROUND}


def highest_wave(grid: Grid) -> float:
    """Cycles per longest side of the shortest wave that the grid holds: two cells long."""
    return max(grid.cells) / 2


class SpectralPotential:
    """The basis; cutoff in cycles per longest side, None for all that the grid holds."""

    def __init__(
        self, grid: Grid, dtype: np.typing.DTypeLike, cutoff: float | None = None, falloff: float = 0.0
    ) -> None:
        self.grid = grid
        self.dtype = np.dtype(dtype)
        self.cutoff = highest_wave(grid) if cutoff is None else float(cutoff)
        self.falloff = falloff
        if not self.cutoff > 0:
            raise KeyfluidError(f"control: a cutoff of {cutoff} waves per longest side; it must be positive")
        self.parts = [
            Component(grid, place, shape, self.cutoff, along=a if grid.dim == 3 else None)
            for a, (place, shape) in enumerate(zip(grid.layout(Kind.EDGES).places, grid.layout(Kind.EDGES).shapes))
        ]
        self._means = [a for a, side in enumerate(grid.boundary) if side is not Boundary.WALLS]
        if self.count == 0:
            raise KeyfluidError(
                f"control: no wave of this domain is as long as 1 / {self.cutoff:g} of its longest side; "
                "raise the cutoff"
            )

    @cached_property
    def count(self) -> int:
        return sum(part.count for part in self.parts) + len(self._means)

    @cached_property
    def _weights(self) -> list[np.ndarray]:
        return [part.weights().astype(self.dtype) for part in self.parts]

    def force(self, coefficients: np.ndarray) -> Field:
        psi = Field.zeros(self.grid, Kind.EDGES, self.dtype)
        start = 0
        for part, weights, values in zip(self.parts, self._weights, psi.components()):
            chosen = coefficients[start : start + part.count].reshape(part.counts)
            part.spread(weights * chosen, values)
            start += part.count
        (force,) = Curl(self.grid).apply(psi)
        for axis, mean in zip(self._means, coefficients[start:]):
            force.component(axis)[...] += mean
        return force

    def pull(self, force_bar: Field) -> np.ndarray:
        (psi_bar,) = Curl(self.grid).transpose(force_bar)
        parts = [
            (weights * part.gather(values)).ravel()
            for part, weights, values in zip(self.parts, self._weights, psi_bar.components())
        ]
        means = [np.sum(force_bar.component(axis), dtype=np.float64) for axis in self._means]
        return np.concatenate([*parts, np.array(means, self.dtype)])

    def scales(self) -> np.ndarray | None:
        """(k / k_1)^-falloff, k_1 the longest wave; 1 for uniform forces."""
        if self.falloff == 0:
            return None
        return np.concatenate([*falling_off(self.parts, self.falloff), np.ones(len(self._means))]).astype(self.dtype)

    def carry(self, coefficients: np.ndarray, before: Basis) -> np.ndarray:
        """The same waves, from a basis with a lower cutoff or of a coarser grid of the same domain."""
        assert isinstance(before, SpectralPotential)
        means = len(self._means)
        cut = coefficients.size - means
        waves = carry_waves(coefficients[:cut], before.parts, self.parts, self.dtype)
        return np.concatenate([waves, coefficients[cut:]])


def falling_off(parts: Sequence[Component], falloff: float) -> list[np.ndarray]:
    """(k / k_1)^-falloff of each part's waves, k_1 the longest wave that the domain's longest side holds."""
    lowest = np.pi / max(parts[0].grid.size)
    return [np.maximum(part.wavenumber() / lowest, 1.0).ravel() ** -falloff for part in parts]


def carry_waves(
    coefficients: np.ndarray, before: Sequence[Component], after: Sequence[Component], dtype: np.dtype
) -> np.ndarray:
    """Coefficients of one set of waves, placed among those of another; waves that are not there are left out."""
    placed = []
    start = 0
    for mine, theirs in zip(after, before):
        given = coefficients[start : start + theirs.count].reshape(theirs.counts)
        shared = [np.intersect1d(m, t, return_indices=True) for m, t in zip(mine.labels, theirs.labels)]
        box = np.zeros(mine.counts, dtype)
        box[np.ix_(*[at for _, at, _ in shared])] = given[np.ix_(*[at for _, _, at in shared])]
        placed.append(box.ravel())
        start += theirs.count
    return np.concatenate(placed)


class Component:
    """The waves of one component of a potential or a force that pass the mask."""

    def __init__(
        self, grid: Grid, place: tuple[bool, ...], shape: tuple[int, ...], cutoff: float, along: int | None = None
    ) -> None:
        self.grid, self.along = grid, along
        self.waves = [
            _ON_PLANES[side] if on_plane else Wave.AROUND if side is Boundary.PERIODIC else Wave.COSINE
            for side, on_plane in zip(grid.boundary, place)
        ]
        sine = [wave is Wave.SINE for wave in self.waves]
        self.shape = tuple(n - 2 if s else n for n, s in zip(shape, sine))
        self._inner = tuple(slice(1, -1) if s else slice(None) for s in sine)
        kappa = [wavenumbers(w, n, length) for w, n, length in zip(self.waves, self.shape, grid.size)]
        longest = max(grid.size)
        self.indices = [np.flatnonzero(k * longest / (2 * np.pi) <= cutoff * (1 + 1e-9)) for k in kappa]
        self._kappa = [k[chosen] for k, chosen in zip(kappa, self.indices)]
        self.counts = tuple(len(chosen) for chosen in self.indices)
        self.count = math.prod(self.counts)
        self._bands = [ChosenWaves(n, chosen) for n, chosen in zip(self.shape, self.indices)]

    @property
    def labels(self) -> list[np.ndarray]:
        """The chosen waves of each axis by a number that a finer grid gives to the same wave."""
        return [
            np.where(chosen > n // 2, chosen - n, chosen) if wave is Wave.AROUND else chosen
            for chosen, n, wave in zip(self.indices, self.shape, self.waves)
        ]

    def spread(self, chosen: np.ndarray, values: np.ndarray) -> None:
        """Fill `values`, zero before, with the potential of the chosen waves' coefficients."""
        values[self._inner] = synthesise(chosen, self.waves, self._bands)

    def gather(self, values_bar: np.ndarray) -> np.ndarray:
        return analyse(values_bar[self._inner].copy(), self.waves, self._bands)

    def wavenumber(self) -> np.ndarray:
        """|kappa| of the chosen waves, rad/m."""
        return np.sqrt(self._squares(range(self.grid.dim), discrete=False))

    def weights(self) -> np.ndarray:
        """sqrt(N) / kappa of the differences that the curl takes; 0 where the curl of a wave vanishes."""
        across = [axis for axis in range(self.grid.dim) if axis != self.along]
        kappa = np.sqrt(self._squares(across, discrete=True))
        root = np.sqrt(self.grid.count)
        return np.where(kappa > 0, root / np.where(kappa > 0, kappa, 1.0), 0.0)

    def _squares(self, axes: Iterable[int], discrete: bool) -> np.ndarray:
        dx = self.grid.spacing
        total = np.zeros(self.counts)
        for axis in axes:
            k = self._kappa[axis]
            line = (2 / dx * np.sin(k * dx / 2)) ** 2 if discrete else k**2
            total = total + line.reshape([-1 if a == axis else 1 for a in range(self.grid.dim)])
        return total
