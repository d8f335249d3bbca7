"""Particles to lattices and back."""

from __future__ import annotations

import numpy as np
import pytest
from particle_cases import cube, points

from keyfluid.controllers.particles.kernels import move
from keyfluid.controllers.particles.lattice import Densities, Lattice, tent_weights
from keyfluid.grid import Grid
from keyfluid.threads import set_threads


def test_density_keeps_mass_and_its_centre():
    lattice = cube(16)
    where = points(500)
    density = Densities(lattice).of(where, 0.2, 0.5).reshape(lattice.counts)
    volume = lattice.grid.cell_volume
    assert density.sum(dtype=np.float64) * volume == pytest.approx(250, rel=1e-5)
    middle = [(density * x).sum() * volume / 250 for x in lattice.grid.coordinates((False,) * 3)]
    assert np.allclose(middle, where.mean(axis=1), atol=2e-3)


def test_mass_is_kept_at_walls_too():
    lattice = cube(8)
    corner = np.full((3, 4), 0.01, np.float32)
    assert Densities(lattice).of(corner, 0.4).sum() * lattice.grid.cell_volume == pytest.approx(4, rel=1e-5)


def test_tent_of_one_particle():
    """Radius 3 cells: 1, 2/3, 1/3 over their sum."""
    assert np.allclose(tent_weights(3.0, np.dtype(np.float64)), np.array([3, 2, 1]) / 9)
    lattice = cube(9)
    middle = np.full((3, 1), 0.5, np.float32)
    line = Densities(lattice).of(middle, 3 / 9).reshape(9, 9, 9)[:, 4, 4]
    assert np.allclose(line / line[4], [0, 0, 1 / 3, 2 / 3, 1, 2 / 3, 1 / 3, 0, 0], atol=1e-5)


def test_sampling_is_exact_for_linear_fields():
    lattice = cube(12, dtype=np.float64)
    x, y, z = lattice.grid.coordinates((False,) * 3)
    where = points(200, 1, 0.1, 0.9, np.float64)
    found = lattice.sample(np.ascontiguousarray(2 * x - 3 * y + 0.5 * z + 1), where)
    assert np.allclose(found, 2 * where[0] - 3 * where[1] + 0.5 * where[2] + 1, atol=1e-12)


def test_adams_bashforth_on_a_turning_field():
    """u = (-y, x) about the middle: linear, so interpolation is exact, and the error is of order 2 in dt."""
    lattice = cube(8, dtype=np.float64)
    x, y, z = np.broadcast_arrays(*lattice.grid.coordinates((False,) * 3))
    packed = np.stack([0.5 - y, x - 0.5, 0 * z, 0 * z], axis=-1).reshape(-1)
    errors = []
    for steps in (40, 80):
        p, before = np.array([[0.7], [0.5], [0.5]]), np.zeros((3, 1))
        for step in range(steps):
            args = (packed, lattice.inverse, lattice.cells, lattice.sizes, lattice.kinds, 1.0 / steps)
            move.advect(*p, *before, 0 if step == 0 else 1, *args)
        exact = 0.5 + 0.2 * np.array([np.cos(1), np.sin(1)])
        errors.append(np.hypot(*(p[:2, 0] - exact)))
    assert 3.5 < errors[0] / errors[1] < 4.6


def test_same_bits_for_any_threads():
    lattice = cube(16)
    where = points(5000, 3)
    found = []
    for count in (1, 2):
        set_threads(count)
        found.append(Densities(lattice).of(where, 0.1))
    assert np.array_equal(*found)


def test_two_dimensions_are_one_layer():
    lattice = Lattice.of_grid(Grid((12, 10), 0.1), np.dtype(np.float32))
    where = np.array([[0.33], [0.41], [0.0]], np.float32)
    density = Densities(lattice).of(where, 0.25)
    assert density.sum() * 0.01 == pytest.approx(1, rel=1e-5)
    assert np.unravel_index(density.argmax(), lattice.counts) in ((2, 3, 0), (3, 3, 0), (2, 4, 0), (3, 4, 0))
