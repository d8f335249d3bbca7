"""Every basis: its transpose, no divergence where it promises none, nothing through walls, and carrying upwards."""

from __future__ import annotations

import numpy as np
import pytest

from keyfluid.controls import (
    BasisPair,
    Control,
    DenseForces,
    DensePotential,
    FilteredForces,
    GaussianVortices,
    GaussianWinds,
    LiftedForces,
    SpectralPotential,
    Timing,
    UpsampledPotential,
)
from keyfluid.controls.modes import ChosenWaves, Wave, analyse, synthesise
from keyfluid.errors import KeyfluidError
from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.operators.project import relative_divergence

SIDES = {
    2: ["walls", "periodic", "open", ("periodic", "walls")],
    3: ["walls", "periodic", ("open", "walls", "periodic")],
}
GRIDS = [Grid(cells, None, sides) for dim, cells in ((2, (9, 7)), (3, (7, 5, 6))) for sides in SIDES[dim]]
F64 = np.dtype(np.float64)
BASES = {
    "winds": lambda g: GaussianWinds(g, F64, 0.3, 0.25),
    "vortices": lambda g: GaussianVortices(g, F64, 0.3, 0.25),
    "both": lambda g: BasisPair(GaussianWinds(g, F64, 0.4, 0.25), GaussianVortices(g, F64, 0.3, 0.25)),
    "dense": lambda g: DenseForces(g, F64),
    "dense-potential": lambda g: DensePotential(g, F64),
    "potential": lambda g: SpectralPotential(g, F64, falloff=0.5),
    "potential-band": lambda g: SpectralPotential(g, F64, 1.5),
    "forces": lambda g: FilteredForces(g, F64, 2.0),
    "lifted": lambda g: LiftedForces(g, F64, 2.0, falloff=0.75),
    "upsampled": lambda g: UpsampledPotential(g, F64, 1.5),
}


def values(count, seed=0):
    return np.random.default_rng(seed).standard_normal(count)


@pytest.mark.parametrize("grid", GRIDS, ids=lambda g: f"{g.cells}-{'-'.join(g.boundary)}")
@pytest.mark.parametrize("name", BASES)
def test_pull_is_the_transpose_of_force(name, grid):
    basis = BASES[name](grid)
    c, f_bar = values(basis.count, 1), Field(grid, Kind.FACES, values(grid.value_count(Kind.FACES), 2))
    force, bar = basis.force(c), basis.pull(f_bar)
    assert bar.shape == c.shape
    assert abs(force.dot(f_bar) - c @ bar) < 1e-12 * force.norm() * f_bar.norm()
    assert force.norm() > 0.1


@pytest.mark.parametrize("grid", GRIDS, ids=lambda g: f"{g.cells}-{'-'.join(g.boundary)}")
@pytest.mark.parametrize("name", ["dense-potential", "potential", "potential-band", "upsampled"])
def test_potentials_have_no_divergence_and_push_nothing_through_walls(name, grid):
    basis = BASES[name](grid)
    force = basis.force(values(basis.count))
    assert relative_divergence(force, None) < 1e-12
    for axis, component in enumerate(force.components()):
        if grid.boundary[axis] == "walls":
            ends = np.moveaxis(component, axis, 0)[[0, -1]]
            assert np.abs(ends).max() < 1e-12 * force.peak()


@pytest.mark.parametrize("sides", ["walls", "periodic", ("periodic", "walls")])
def test_spectral_forces_are_orthogonal_with_mean_square_one_in_2d(sides):
    grid = Grid((8, 6), None, sides)
    basis = SpectralPotential(grid, F64)
    forces = [basis.force(column).data for column in np.eye(basis.count)]
    gram = np.array(forces) @ np.array(forces).T / grid.count
    alive = np.diag(gram) > 1e-9
    np.testing.assert_allclose(gram[np.ix_(alive, alive)], np.eye(alive.sum()), atol=1e-12)
    assert alive.sum() == grid.value_count(Kind.FACES) - _constraints(grid), "every divergence-free force is there"


def _constraints(grid):
    """Faces on walls, and one divergence per cell but for the one that the others imply."""
    walls = sum(2 * grid.count // n for n, side in zip(grid.cells, grid.boundary) if side == "walls")
    return walls + grid.count - 1


def test_a_cutoff_keeps_the_waves_that_the_paper_keeps():
    grid = Grid((16, 16))
    for cutoff in (1, 2, 3):
        assert SpectralPotential(grid, F64, cutoff).count == (2 * cutoff) ** 2
    assert SpectralPotential(Grid((16, 16), None, "periodic"), F64, 3).count == 7 * 7 + 2
    long = SpectralPotential(Grid((16, 8)), F64, 2)
    assert long.count == 4 * 2, "the same wave length on both axes"


@pytest.mark.parametrize("wave", list(Wave))
def test_waves_are_orthonormal(wave):
    matrix = np.array([synthesise(row.copy(), [wave]) for row in np.eye(7)])
    np.testing.assert_allclose(matrix @ matrix.T, np.eye(7), atol=1e-13)
    x = values(7)
    np.testing.assert_allclose(analyse(synthesise(x.copy(), [wave]), [wave]), x, atol=1e-13)


@pytest.mark.parametrize("waves", [(Wave.SINE, Wave.COSINE), (Wave.AROUND, Wave.FREE), (Wave.SINE,) * 3])
def test_a_band_of_waves_is_all_of_them_with_zeros_elsewhere(waves):
    shape = (9, 8, 7)[: len(waves)]
    chosen = [np.array([0, 1, n - 1]) if wave is Wave.AROUND else np.arange(4) for wave, n in zip(waves, shape)]
    bands = [ChosenWaves(n, places) for n, places in zip(shape, chosen)]
    box = np.ix_(*chosen)
    some, every = values([len(places) for places in chosen]), np.zeros(shape)
    every[box] = some
    x = values(shape)
    np.testing.assert_allclose(synthesise(some.copy(), waves, bands), synthesise(every, waves), atol=1e-13)
    np.testing.assert_allclose(analyse(x.copy(), waves, bands), analyse(x.copy(), waves)[box], atol=1e-13)


@pytest.mark.parametrize("sides", ["walls", "periodic", ("open", "walls")])
def test_a_wave_means_the_same_on_a_finer_grid(sides):
    coarse, fine = Grid((16, 12), 1 / 16, sides), Grid((32, 24), 1 / 32, sides)
    before, after = SpectralPotential(coarse, F64, 2), SpectralPotential(fine, F64)
    c = values(before.count)
    a, b = before.force(c), after.force(after.carry(c, before))
    # Every second face across its own axis lies between four coarse ones; compare where faces coincide.
    mean = 0.5 * (b.component(0)[::2, ::2] + b.component(0)[::2, 1::2])[: a.component(0).shape[0]]
    assert np.linalg.norm(mean - a.component(0)) < 0.05 * np.linalg.norm(a.component(0))


def test_a_band_carries_into_a_larger_one_exactly():
    for sides in ("walls", "periodic"):
        grid = Grid((10, 12), None, sides)
        small, large = SpectralPotential(grid, F64, 2), SpectralPotential(grid, F64, 4)
        c = values(small.count)
        np.testing.assert_allclose(large.force(large.carry(c, small)).data, small.force(c).data, atol=1e-12)


@pytest.mark.parametrize("name", ["dense", "dense-potential", "upsampled", "winds", "both", "forces", "lifted"])
def test_other_bases_carry_a_smooth_force_to_a_finer_grid(name):
    coarse, fine = Grid((24, 24)), Grid((48, 48))
    before, after = BASES[name](coarse), BASES[name](fine)
    smooth = GaussianVortices(coarse, F64, 0.5, 0.3).force(np.array([1.0, -0.5, 0.3, 0.8]))
    pulled = before.pull(smooth)
    scale = np.sqrt((smooth.data @ smooth.data) / max(before.force(pulled).data @ smooth.data, 1e-30))
    c = pulled * scale
    a, b = before.force(c), after.force(after.carry(c, before))
    rms = [np.sqrt(np.mean(f.component(0) ** 2)) for f in (a, b)]
    assert rms[1] == pytest.approx(rms[0], rel=0.08)


def test_a_wind_and_a_vortex_look_as_they_should():
    grid = Grid((20, 20))
    winds = GaussianWinds(grid, F64, 1.0, 0.2)
    blown = winds.force(np.array([2.0, 0.0]))
    assert blown.component(0)[10, 9] == pytest.approx(2 * np.exp(-((0.025 / 0.2) ** 2)))
    assert blown.component(1).max() == 0
    turned = GaussianVortices(grid, F64, 1.0, 0.2).force(np.array([1.0]))
    assert turned.component(1)[14, 10] > 0 > turned.component(1)[5, 10], "anticlockwise"
    assert turned.component(0)[10, 5] > 0 > turned.component(0)[10, 14]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: GaussianWinds(Grid((8, 8)), F64, 0.1, 0.01), "half a cell"),
        (lambda: GaussianWinds(Grid((8, 8)), F64, 3.0, 0.5), "longer than the domain"),
        (lambda: GaussianVortices(Grid((8, 8)), F64, -1, 0.5), "positive"),
        (lambda: SpectralPotential(Grid((8, 8)), F64, 0.2), "raise the cutoff"),
        (lambda: SpectralPotential(Grid((8, 8)), F64, 0.0), "positive"),
        (lambda: Timing("windows", 5, 0.1, 0), "1 or more"),
    ],
)
def test_what_can_not_be_is_refused(make, words):
    with pytest.raises(KeyfluidError, match=words):
        make()


@pytest.mark.parametrize(("mode", "window", "sets"), [
    ("constant", 1, 1), ("step", 1, 7), ("windows", 3, 3), ("integrated", 1, 7), ("integrated", 3, 3),
])  # fmt: skip
def test_timing_transposes_and_sums(mode, window, sets):
    grid = Grid((6, 5))
    control = Control(DenseForces(grid, F64), Timing(mode, 7, 0.1, window, first=2))
    assert control.timing.count == sets
    x, bar = values(control.count), control.zeros()
    bars = [Field(grid, Kind.FACES, values(grid.value_count(Kind.FACES), s)) for s in range(12)]
    total = 0.0
    for step in range(12):
        force = control.force(x, step)
        assert (force is None) == (not 2 <= step < 9)
        if force is not None:
            total += force.dot(bars[step])
        control.pull(step, bars[step], bar)
    assert total == pytest.approx(x @ bar, rel=1e-12)


def test_integrated_unknowns_are_sums_of_forces():
    timing = Timing("integrated", 7, 0.1, 3)
    weights = np.zeros((7, timing.count))
    for t, row in enumerate(timing.rows):
        for k, w in row:
            weights[t, k] = w
    w = np.cumsum(weights, axis=0) * 0.1
    np.testing.assert_allclose(w[2], [1, 0, 0], atol=1e-12)
    np.testing.assert_allclose(w[5], [0, 1, 0], atol=1e-12)
    np.testing.assert_allclose(w[0], [1 / 3, 0, 0], atol=1e-12)
    np.testing.assert_allclose(w[4], [1 / 3, 2 / 3, 0], atol=1e-12)
