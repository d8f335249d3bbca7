"""Vortex particles: their field, their exchange, their turning, their birth."""

from __future__ import annotations

import numpy as np
import pytest
from particle_cases import cube, points
from test_particles_control import settings

from keyfluid.controllers.particles.kernels.move import velocity_at
from keyfluid.controllers.particles.lattice import Lattice
from keyfluid.controllers.particles.streams import Stream, key
from keyfluid.controllers.particles.vortices import Vortices
from keyfluid.grid import Grid


def eddies(count=40, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    found = Vortices(np.dtype(dtype))
    found.position = rng.uniform(0.25, 0.75, (3, count)).astype(dtype)
    found.before = np.zeros((3, count), dtype)
    found.omega = rng.normal(0, 4, (3, count)).astype(dtype)
    found.radius = rng.uniform(0.1, 0.2, count).astype(dtype)
    return found


def direct(vortices, where):
    """Equations 4 and 5 in numpy, with omega x r."""
    total = np.zeros_like(where)
    for x, omega, sigma in zip(vortices.position.T, vortices.omega.T, vortices.radius):
        arm = where - x[:, None]
        q = (arm**2).sum(axis=0) / sigma**2
        total += np.cross(omega, arm.T).T * np.where(q < 1, (4 - 20 / (q + 4)) ** 2, 0.0)
    return total


def read(lattice, packed, where):
    parts = packed.reshape(-1, 4)
    return np.stack([lattice.sample(np.ascontiguousarray(parts[:, a]), where) for a in range(3)])


def test_lattice_against_direct_sum():
    """Equal at cell centres; between them the error falls with the square of the cell."""
    vortices, where = eddies(), points(400, 5, 0.3, 0.7, np.float64)
    exact = direct(vortices, where)
    errors = []
    for cells in (16, 32, 64):
        lattice = cube(cells, dtype=np.float64)
        packed = vortices.velocity_field(lattice)
        errors.append(np.abs(read(lattice, packed, where) - exact).max() / np.abs(exact).max())
    centres = np.stack(np.broadcast_arrays(*lattice.grid.coordinates((False,) * 3))).reshape(3, -1)
    assert np.allclose(packed.reshape(-1, 4)[:, :3].T, direct(vortices, centres), atol=1e-12)
    assert errors[2] < 0.4 * errors[1] < 0.3 * errors[0]
    assert errors[2] < 0.03


def test_it_turns_with_omega():
    """Near its middle u = omega x r; the printed (x - x_i) x omega has the other sign."""
    single = eddies(1)
    single.position[:, 0], single.omega[:, 0], single.radius[0] = 0.5, (0.0, 0.0, 2.0), 0.4
    lattice = cube(40, dtype=np.float64)
    u = read(lattice, single.velocity_field(lattice), np.array([[0.52], [0.5], [0.5]]))[:, 0]
    assert u[1] == pytest.approx(2.0 * 0.02, rel=0.05)
    assert u[0] == pytest.approx(0, abs=1e-12)


def test_exchange_conserves_the_plain_sum():
    vortices, lattice = eddies(), cube(16, dtype=np.float64)
    chosen = settings(exchange=2.0, exchange_radius=0.3)
    before, size = vortices.omega.copy(), np.abs(vortices.omega).sum()
    weighted = (vortices.radius**3 * vortices.omega).sum(axis=1)
    vortices.exchange(lattice, chosen, 0.1)
    assert np.abs(vortices.omega - before).max() > 0.1
    assert np.abs((vortices.omega - before).sum(axis=1)).max() < 1e-12 * size
    assert np.abs((vortices.radius**3 * vortices.omega).sum(axis=1) - weighted).max() > 1e-4
    vortices.omega, vortices.radius = before.copy(), np.full(vortices.count, 0.1)
    vortices.exchange(lattice, chosen, 0.1)
    assert np.abs((vortices.omega - before).sum(axis=1)).max() < 1e-12 * size


def test_exchange_by_hand():
    """Two vortices half a reach apart: each goes a step dt nu d towards the other's V omega."""
    pair = eddies(2)
    pair.position[:] = [[0.4, 0.5], [0.5, 0.5], [0.5, 0.5]]
    pair.omega[:] = [[1.0, 0.0], [0.0, 0.0], [0.0, 4.0]]
    pair.radius[:] = [0.1, 0.2]
    pair.exchange(cube(16, dtype=np.float64), settings(exchange=1.0, exchange_radius=0.2), 0.1)
    volume = np.array([1.0, 8.0]) / 4.5
    step = 0.1 * 0.5
    assert np.allclose(pair.omega[:, 0], [1 - step * volume[0], 0, step * volume[1] * 4])
    assert np.allclose(pair.omega[:, 1], [step * volume[0], 0, 4 - step * volume[1] * 4])


def test_exchange_stays_stable_at_any_strength():
    vortices, lattice = eddies(), cube(16, dtype=np.float64)
    largest = np.abs(vortices.radius**3 * vortices.omega).max()
    total = vortices.omega.sum(axis=1)
    for _ in range(50):
        vortices.exchange(lattice, settings(exchange=1e4, exchange_radius=0.3), 0.1)
    assert np.abs(vortices.radius**3 * vortices.omega).max() <= largest
    assert np.allclose(vortices.omega.sum(axis=1), total, atol=1e-10)


def test_spinning_keeps_magnitudes_and_turns():
    """In u = (0, x, 0) a vortex along x tilts towards y: omega + dt J omega, at its length."""
    lattice = cube(16, dtype=np.float64)
    x = np.broadcast_to(lattice.grid.coordinates((False,) * 3)[0], lattice.counts)
    packed = np.stack([0 * x, 3 * x, 0 * x, 0 * x], axis=-1).reshape(-1)
    vortices = eddies()
    vortices.omega[:, 0] = (2.0, 0.0, 0.0)
    sizes = np.linalg.norm(vortices.omega, axis=0)
    vortices.spin(lattice, packed, 0.1)
    assert np.allclose(np.linalg.norm(vortices.omega, axis=0), sizes, rtol=1e-14)
    assert np.allclose(vortices.omega[:, 0], np.array([2.0, 0.6, 0.0]) / np.hypot(2.0, 0.6) * 2.0)


def test_spawning_obeys_its_thresholds():
    lattice, grid = cube(16), cube(16)
    markers = points(2000, 1)
    smoke = np.where(np.arange(16)[:, None, None] < 8, 1.0, 0.1) * np.ones((16, 16, 16))
    smoke = np.ascontiguousarray(smoke, np.float32).reshape(-1)
    chosen = settings(vortices=400, vortex_radius=0.1, vortex_energy=0.02)
    vortices = Vortices(np.dtype(np.float32))
    packed = lattice.packed()
    placed = vortices.spawn(markers, smoke, grid, lattice, packed, chosen, key(0, Stream.SPAWN, 0))
    assert 10 < placed == vortices.count < 400
    assert vortices.position[0].max() < 0.55
    assert np.all((vortices.radius >= 0.05) & (vortices.radius < 0.15))
    size = np.linalg.norm(vortices.omega, axis=0)
    assert np.all((size > 1.99) & (size < 6.01))
    packed.reshape(-1, 4)[:, 3] = 1.0
    assert vortices.spawn(markers, smoke, grid, lattice, packed, chosen, key(0, Stream.SPAWN, 1)) == 0


def test_vortices_leave_with_the_smoke():
    vortices, grid = eddies(dtype=np.float32), cube(16)
    smoke = np.zeros(grid.counts, np.float32)
    smoke[:8] = 1.0
    inside = int((vortices.position[0] < 0.5).sum())
    gone = vortices.remove(smoke.reshape(-1), grid, settings())
    assert gone > 0
    assert abs(vortices.count - inside) < 6
    assert vortices.position[0].max() < 0.55


def test_flat_vortices_turn_in_the_plane():
    lattice = Lattice.of_grid(Grid((30, 30)), np.dtype(np.float64))
    single = eddies(1)
    single.position[:, 0], single.omega[:, 0], single.radius[0] = (0.5, 0.5, 0.0), (0.0, 0.0, 2.0), 0.4
    u = read(lattice, single.velocity_field(lattice), np.array([[0.5], [0.55], [0.0]]))[:, 0]
    assert u[0] == pytest.approx(-0.1, rel=0.1)
    assert u[2] == 0


def test_packed_and_scalar_reading_agree():
    lattice = cube(8, dtype=np.float64)
    packed = np.random.default_rng(0).normal(size=4 * lattice.total)
    where = points(20, 2, 0.1, 0.9, np.float64)
    wanted = read(lattice, packed, where)
    for n, p in enumerate(where.T):
        assert np.allclose(velocity_at(packed, *p, lattice.inverse, 8, 8, 8), wanted[:, n])
