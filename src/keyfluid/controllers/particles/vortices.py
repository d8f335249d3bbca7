"""Vortex particles: turbulence that is carried by the flow and stirs it.                            [section 5]

Velocity       kernels/vortex.py. Equation 4 is printed as (x - x_i) x omega, which turns against omega: the curl of
               that field at x_i is -2 omega. Here it is omega x (x - x_i), and distances are over the radius.
Exchange       omega_i += dt nu sum_j d_ij (V_j omega_j - V_i omega_i) / V,  V_i = sigma_i^3, V their mean.
               Equation 6 lacks dt, and its sigma^3 gives nu the unit 1 / (m^3 s); over the mean volume it is a rate.
               Conserved: the plain sum of omega, as long as every pair is exchanged both ways with the same d_ij from
               the values before the step (all pairs at once, as here; one pair after the other as "similarly for j"
               reads would not conserve it), and as long as the step is limited for all vortices alike. Not
               conserved: sum V omega, unless all radii are equal. Stable and without overshoot while
               dt nu V_i sum_j d_ij / V <= 1; where that fails the whole step is shortened by one common factor.
Spinning       omega + dt J(u) omega at its old length (3D).                                       [equation 8]
Spawning       darts at markers, below.                                                            [section 5.5]
Removal        not in the paper: a vortex that has left the smoke, or has less than a quarter of the mean strength,
               makes room for a new one; else a shape that moves on would lose its turbulence.
"""

from __future__ import annotations

import numpy as np

from keyfluid.controllers.particles.kernels import move, vortex
from keyfluid.controllers.particles.lattice import Lattice, columns
from keyfluid.controllers.particles.settings import ParticleNumbers

SPENT = 0.25
"""Share of the mean strength below which a vortex is removed."""

THIN = 0.25
"""Share of full smoke above which vortices spawn; below a tenth of it they are removed."""

_LARGEST_BINS = 48


class Vortices:
    """Positions, velocities of the step before, omega in 1/s (3, n each) and radii in m."""

    def __init__(self, dtype: np.dtype) -> None:
        self.position = np.zeros((3, 0), dtype)
        self.before = np.zeros((3, 0), dtype)
        self.omega = np.zeros((3, 0), dtype)
        self.radius = np.zeros(0, dtype)
        self.old = 0

    @property
    def count(self) -> int:
        return self.radius.size

    def velocity_field(self, lattice: Lattice) -> np.ndarray:
        """Velocity and turbulent energy on the velocity lattice, packed."""
        out = lattice.packed()
        if self.count == 0:
            return out
        order, starts = lattice.sorted_by_plane(self.position[0])
        widest = self.radius.max()
        vortex.splat_vortices(
            *columns(self.position, order), *columns(self.omega, order), self.radius[order], starts, widest,
            lattice.cells, lattice.side, out,
        )  # fmt: skip
        return out

    def exchange(self, lattice: Lattice, settings: ParticleNumbers, dt: float) -> None:
        """Equations 6 and 7, see above."""
        if self.count < 2 or settings.exchange == 0:
            return
        size = max(settings.exchange_radius, float(lattice.sizes.max()) / _LARGEST_BINS)
        bins = np.maximum(np.ceil(lattice.sizes / size - 1e-6), 1).astype(np.int64)
        place = np.clip((self.position / size).astype(np.int64), 0, bins[:, None] - 1)
        index = (place[0] * bins[1] + place[1]) * bins[2] + place[2]
        starts = np.zeros(int(np.prod(bins)) + 1, np.int64)
        np.cumsum(np.bincount(index, minlength=starts.size - 1), out=starts[1:])
        order = np.argsort(index, kind="stable")
        volume = self.radius**3
        volume /= volume.mean(dtype=np.float64).astype(volume.dtype)
        change = np.empty((4, self.count), lattice.dtype)
        vortex.exchange(
            *columns(self.position, order), *columns(self.omega, order), volume[order], starts, bins,
            lattice.real(size), lattice.real(settings.exchange_radius), *change,
        )  # fmt: skip
        step = settings.exchange * dt
        step /= max(1.0, step * float(change[3].max()))
        self.omega[:, order] += lattice.real(step) * change[:3]

    def spin(self, lattice: Lattice, packed: np.ndarray, dt: float) -> None:
        """Equation 8; nothing in 2D, where omega stands on the plane."""
        if self.count and not lattice.flat:
            vortex.spin(*self.position, *self.omega, packed, lattice.inverse, lattice.cells, lattice.real(dt))

    def spawn(
        self,
        markers: np.ndarray,
        smoke: np.ndarray,
        grid: Lattice,
        lattice: Lattice,
        packed: np.ndarray,
        settings: ParticleNumbers,
        word: np.uint64,
    ) -> int:
        """Darts at markers, as many as there is room for; smoke is density over full density."""
        room = settings.vortices - self.count
        if room <= 0 or markers.shape[1] == 0:
            return 0
        new, spun = np.zeros((3, room), lattice.dtype), np.zeros((3, room), lattice.dtype)
        radius = np.zeros(room, lattice.dtype)
        placed = vortex.spawn(
            word, 2 * room, lattice.flat, *markers, smoke, grid.inverse, grid.cells, lattice.real(THIN), packed,
            lattice.cells, lattice.side, lattice.real(settings.vortex_energy), lattice.real(settings.vortex_radius),
            lattice.real(settings.vortex_strength), *new, *spun, radius,
        )  # fmt: skip
        self.position = np.concatenate([self.position, new[:, :placed]], axis=1)
        self.before = np.concatenate([self.before, np.zeros((3, placed), lattice.dtype)], axis=1)
        self.omega = np.concatenate([self.omega, spun[:, :placed]], axis=1)
        self.radius = np.concatenate([self.radius, radius[:placed]])
        return int(placed)

    def remove(self, smoke: np.ndarray, grid: Lattice, settings: ParticleNumbers) -> int:
        """Drop vortices outside the smoke and spent ones; returns how many."""
        if self.count == 0:
            return 0
        size = np.sqrt(np.sum(self.omega * self.omega, axis=0))
        kept = (grid.sample(smoke, self.position) > 0.1 * THIN) & (size > SPENT * settings.vortex_strength)
        gone = self.count - int(kept.sum())
        if gone:
            self.old = int(kept[: self.old].sum())
            stay = np.flatnonzero(kept)
            self.position, self.before = columns(self.position, stay), columns(self.before, stay)
            self.omega, self.radius = columns(self.omega, stay), self.radius[stay]
        return gone

    def advect(self, lattice: Lattice, packed: np.ndarray, dt: float) -> None:
        """Equation 9, like markers."""
        if self.count:
            move.advect(
                *self.position, *self.before, self.old, packed, lattice.inverse, lattice.cells, lattice.sizes,
                lattice.kinds, lattice.real(dt),
            )  # fmt: skip
        self.old = self.count
