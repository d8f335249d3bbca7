"""Control particles: where they are placed, what attracts them, and how they move.

Placing        darts at random markers; one is kept where control density / marker density is below `ratio` N / M, and
               raises the control density at once, until there are N or 40 N darts are thrown      [section 4.1]
Attraction     F = (x_t - x) / |x_t - x|  saturate((|x_t - x| - A_phi) A_rho)  S_a                 [section 4.3]
               Printed with x - x_t, which drives particles away from their targets.
Matching       algorithm 1: of two random particles the targets are exchanged where that shortens the sum of squared
               distances. Printed it swaps positions and targets both, after which the same pairs remain; only the
               targets are exchanged here. Most pairs are drawn from near particles, where an exchange still gains
               when random pairs no longer do (kernels/match.py).
Motion         v = (v + dt F) exp(-damping dt) (Euler), then eq. 9 for positions. `follow` damps the velocity relative
               to the target's own, so that a moving shape is followed without lag; the paper's is relative to 0.
"""

from __future__ import annotations

import numpy as np

from keyfluid.controllers.particles.kernels import control as kernels
from keyfluid.controllers.particles.kernels.match import CELLS, swap_pairs
from keyfluid.controllers.particles.lattice import Densities, Lattice, columns
from keyfluid.controllers.particles.settings import ParticleNumbers
from keyfluid.controllers.particles.streams import Stream, key, shuffled

DARTS_PER_PARTICLE = 40
WARM_UP = 10
"""A new target begins with this many frames' worth of swaps; after that it is `swaps` per frame."""


class ControlParticles:
    """Positions, velocities, velocities of the step before (3, n), and the index of each particle's target."""

    def __init__(self, dtype: np.dtype) -> None:
        self.position = np.zeros((3, 0), dtype)
        self.velocity = np.zeros((3, 0), dtype)
        self.before = np.zeros((3, 0), dtype)
        self.match = np.zeros(0, np.int64)

    @property
    def count(self) -> int:
        return self.position.shape[1]

    def place(
        self, markers: np.ndarray, smoke: np.ndarray, densities: Densities, settings: ParticleNumbers, word: np.uint64
    ) -> int:
        """Throw darts; smoke is the markers' number density. Returns how many particles are new."""
        lattice = densities.lattice
        room = settings.control_particles - self.count
        if room <= 0 or markers.shape[1] == 0:
            return 0
        radius = settings.control_radius
        control = densities.of(self.position, radius) if self.count else np.zeros(lattice.total, lattice.dtype)
        new = np.zeros((3, room), lattice.dtype)
        height = 1.0 / radius**lattice.grid.dim
        ratio = settings.ratio * settings.control_particles / settings.markers
        placed = kernels.throw_darts(
            word, DARTS_PER_PARTICLE * room, *markers, smoke, control, lattice.cells, lattice.side,
            lattice.real(radius), lattice.real(height), lattice.real(ratio), lattice.real(0.0), *new,
        )  # fmt: skip
        self.position = np.concatenate([self.position, new[:, :placed]], axis=1)
        zero = np.zeros((3, placed), lattice.dtype)
        self.velocity = np.concatenate([self.velocity, zero], axis=1)
        self.before = np.concatenate([self.before, zero], axis=1)
        return int(placed)

    def assign(self, seed: int, part: int) -> None:
        """Each particle a random target of its own."""
        self.match = shuffled(key(seed, Stream.MATCH, self.count, part), self.count).astype(np.int64)

    def assign_new(self, first: int) -> None:
        """Particles from `first` on get the targets that were added with them."""
        self.match = np.concatenate([self.match[:first], np.arange(first, self.count)])

    def swap(self, targets: np.ndarray, swaps: int, word: np.uint64) -> float:
        """Algorithm 1; returns the energy after it, the mean squared distance to the targets in m^2."""
        low, inverse, cells, order = sorted_by_cell(self.position)
        starts = np.zeros(CELLS**3 + 1, np.int64)
        np.cumsum(np.bincount(cells, minlength=CELLS**3), out=starts[1:])
        match = self.match[order]
        pairs = np.zeros((self.count, 8), self.position.dtype)
        pairs[:, 0:3] = columns(self.position, order).T
        pairs[:, 4:7] = columns(targets, match).T
        ways, drawn = np.zeros(3 * CELLS**3, self.position.dtype), np.zeros(2 * self.count, np.uint64)
        swap_pairs(word, swaps, pairs.reshape(-1), match, cells[order], starts, low, inverse, ways, drawn)
        self.match[order] = match
        gap = columns(targets, self.match) - self.position
        return float(np.sum(gap * gap, dtype=np.float64)) / max(self.count, 1)

    def attract(
        self, targets: np.ndarray, drift: np.ndarray | None, settings: ParticleNumbers, blend: float, dt: float
    ) -> None:
        """New velocities; targets (3, n) and their own velocity `drift`, both in the targets' order."""
        gap = targets[:, self.match] - self.position
        far = np.sqrt(gap[0] * gap[0] + gap[1] * gap[1] + gap[2] * gap[2])
        ramp = max(settings.ramp, 2.0 * settings.strength * dt * dt)
        weight = np.clip((far - settings.slack) / ramp, 0.0, 1.0)
        force = gap * (blend * settings.strength * weight / np.maximum(far, 1e-12))
        self._damp(force, drift[:, self.match] if drift is not None and settings.follow else None, settings, dt)

    def coast(self, settings: ParticleNumbers, dt: float) -> None:
        """Nothing attracts: damping alone."""
        self._damp(np.zeros_like(self.position), None, settings, dt)

    def _damp(self, force: np.ndarray, drift: np.ndarray | None, settings: ParticleNumbers, dt: float) -> None:
        self.before = self.velocity
        kept = np.exp(-settings.damping * dt)
        base = drift if drift is not None else 0.0
        self.velocity = (base + (self.velocity + dt * force - base) * kept).astype(self.position.dtype)

    def move(self, lattice: Lattice, dt: float) -> None:
        """Equation 9 with the particles' own velocities; they stay in the domain."""
        step = lattice.real(1.5 * dt) * self.velocity - lattice.real(0.5 * dt) * self.before
        self.position = np.clip(self.position + step, lattice.real(0.0), lattice.sizes[:, None])

    def drift(self, lattice: Lattice, packed: np.ndarray, dt: float) -> None:
        """Carried by a velocity lattice."""
        parts = [np.ascontiguousarray(packed.reshape(-1, 4)[:, axis]) for axis in range(3)]
        step = lattice.real(dt) * np.stack([lattice.sample(part, self.position) for part in parts])
        self.position = np.clip(self.position + step, lattice.real(0.0), lattice.sizes[:, None])

    def mean_speed(self) -> float:
        u, v, w = self.velocity
        return float(np.sqrt(u * u + v * v + w * w).sum(dtype=np.float64)) / max(self.count, 1)


def sorted_by_cell(position: np.ndarray) -> tuple[np.ndarray, np.floating, np.ndarray, np.ndarray]:
    """A cube of CELLS^3 cells around the particles: its corner, cells per metre, each one's cell, and their order."""
    real = position.dtype.type
    low = position.min(axis=1)
    inverse = real(CELLS) / max((position.max(axis=1) - low).max(), real(1e-12))
    x, y, z = np.minimum(((position - low[:, None]) * inverse).astype(np.int16), CELLS - 1)
    cells = (x * CELLS + y) * CELLS + z
    return low, inverse, cells, np.argsort(cells, kind="stable")


def shepard(lattice: Lattice, position: np.ndarray, velocity: np.ndarray, radius: float) -> np.ndarray:
    """Equations 1 and 2 on the velocity lattice, packed; the fourth value is 0."""
    out = lattice.packed()
    order, starts = lattice.sorted_by_plane(position[0])
    sorted_position, sorted_velocity = columns(position, order), columns(velocity, order)
    kernels.shepard(*sorted_position, *sorted_velocity, starts, lattice.real(radius), lattice.cells, lattice.side, out)
    return out
