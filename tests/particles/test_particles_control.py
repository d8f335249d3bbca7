"""Placing, matching, attraction and Shepard's interpolation."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from particle_cases import SCENE, cube, points

from keyfluid.controllers.particles.control import ControlParticles, shepard
from keyfluid.controllers.particles.lattice import Densities
from keyfluid.controllers.particles.settings import PRESETS, ParticleNumbers
from keyfluid.controllers.particles.streams import Stream, key
from keyfluid.grid import Grid
from keyfluid.scenes import load_scene


def settings(**changes):
    control = load_scene(SCENE).control
    return ParticleNumbers.of(control.model_copy(update=changes), Grid((20, 18, 16), 0.05))


def crowd(count=300):
    control = ControlParticles(np.dtype(np.float32))
    control.position = points(count, 1)
    control.velocity = np.zeros_like(control.position)
    control.assign(0, 0)
    return control


def energy(control, targets):
    gap = control.position.astype(float) - targets[:, control.match]
    return float((gap**2).sum()) / control.count


def test_swaps_lower_the_energy_and_report_it():
    control, targets = crowd(), points(300, 2)
    before = energy(control, targets)
    values = [control.swap(targets, 600, key(0, Stream.SWAP, step)) for step in range(6)]
    assert values[0] < before
    assert all(b <= a for a, b in itertools.pairwise(values))
    assert values[-1] == pytest.approx(energy(control, targets), rel=1e-5)
    assert sorted(control.match) == list(range(300))


def test_printed_algorithm_changes_nothing():
    """Swapping positions and targets, as printed, keeps every pair, and so the energy; ours does not."""
    control, targets = crowd(60), points(60, 2)
    pairs = {(tuple(control.position[:, i]), int(control.match[i])) for i in range(60)}
    swapped = control.position[:, ::-1], control.match[::-1]
    assert {(tuple(swapped[0][:, i]), int(swapped[1][i])) for i in range(60)} == pairs
    control.swap(targets, 600, key(0, Stream.SWAP, 1))
    assert {(tuple(control.position[:, i]), int(control.match[i])) for i in range(60)} != pairs


def test_near_the_optimal_assignment():
    from scipy.optimize import linear_sum_assignment

    control, targets = crowd(), points(300, 2, 0.9, 1.6)
    cost = ((control.position[:, :, None].astype(float) - targets[:, None, :]) ** 2).sum(axis=0)
    best = cost[linear_sum_assignment(cost)].sum() / 300
    assert best <= control.swap(targets, 50 * 300, key(0, Stream.SWAP, 1)) < 1.1 * best


def test_in_place_random_pairs_alone_would_not_do():
    """Both shapes in one place: the optimum is far below the start, and only near pairs get there in time."""
    from scipy.optimize import linear_sum_assignment

    control, targets = crowd(1000), points(1000, 2)
    control.position[2], targets[2] = 0, 0
    targets[0] = 0.2 + (targets[0] - 0.2) ** 2 / 0.6
    cost = ((control.position[:, :, None].astype(float) - targets[:, None, :]) ** 2).sum(axis=0)
    best = cost[linear_sum_assignment(cost)].sum() / 1000
    assert best <= control.swap(targets, 50 * 1000, key(0, Stream.SWAP, 1)) < 1.1 * best
    plain = crowd(1000)
    for seed in range(100):
        one, two = np.split(np.random.default_rng(seed).permutation(1000), 2)
        a, b = plain.match[one], plain.match[two]
        gain = ((control.position[:, one] - control.position[:, two]) * (targets[:, a] - targets[:, b])).sum(axis=0)
        plain.match[one], plain.match[two] = np.where(gain < 0, b, a), np.where(gain < 0, a, b)
    plain.position = control.position
    assert energy(plain, targets) > 1.2 * best


def test_attraction_points_to_the_target_and_saturates():
    """Force S min(d / ramp, 1) towards it, then damping; printed x - x_t would have the other sign."""
    control = ControlParticles(np.dtype(np.float64))
    control.position = np.array([[0.2, 0.5], [0.5, 0.5], [0.5, 0.5]])
    control.velocity = np.zeros((3, 2))
    control.match = np.array([1, 0])
    targets = np.array([[0.51, 0.9], [0.5, 0.5], [0.5, 0.5]])
    chosen = settings(strength=2.0, ramp=0.1, damping=0.5)
    control.attract(targets, None, chosen, 1.0, 1 / 30)
    assert np.allclose(control.velocity, [[0.5 * 2 / 30, 0.5 * 0.2 / 30], [0, 0], [0, 0]])


def test_follow_leaves_no_lag():
    """A target that moves at constant speed is followed to rounding with `follow`, and trails without."""
    lag = {}
    for follow in (True, False):
        control = ControlParticles(np.dtype(np.float64))
        control.position, control.velocity = np.zeros((3, 1)), np.zeros((3, 1))
        control.before, control.match = np.zeros((3, 1)), np.array([0])
        drift = np.array([[0.3], [0.0], [0.0]])
        chosen = settings(follow=follow, strength=4.0)
        lattice = cube(8, 10.0, np.float64)
        for step in range(199):
            control.attract(drift * step / 30, drift, chosen, 1.0, 1 / 30)
            control.move(lattice, 1 / 30)
        lag[follow] = abs(float(control.position[0, 0]) - 0.3 * 199 / 30)
    assert lag[True] < 1e-3
    assert lag[False] > 0.02


def test_shepard_by_hand_and_constants():
    lattice = cube(4, 1.0, np.float64)
    position = np.array([[0.375, 0.625], [0.375, 0.375], [0.375, 0.375]])
    velocity = np.array([[1.0, 3.0], [0.0, 2.0], [-1.0, 0.0]])
    field = shepard(lattice, position, velocity, 0.3).reshape(4, 4, 4, 4)
    near, far = 0.3**6, (0.3**2 - 0.25**2) ** 3
    wanted = (near * velocity[:, 0] + far * velocity[:, 1]) / (near + far)
    assert np.allclose(field[1, 1, 1, :3], wanted)
    assert np.array_equal(field[3, 3, 3], np.zeros(4))
    same = shepard(lattice, position, np.ones((3, 2)), 0.3).reshape(-1, 4)
    assert np.allclose(same[:, :3][same[:, 0] > 0], 1.0)


def test_darts_cover_the_smoke_evenly():
    lattice = cube(16)
    densities = Densities(lattice)
    markers = np.concatenate([points(3000, 1, 0.2, 0.4), points(3000, 2, 0.6, 0.8)], axis=1)
    chosen = settings(markers=6000, control_particles=300, control_radius=0.1)
    control = ControlParticles(np.dtype(np.float32))
    smoke = densities.of(markers, 0.1)
    placed = control.place(markers, smoke, densities, chosen, key(0, Stream.CONTROL, 0))
    assert 200 < placed <= 300
    assert control.count == placed
    halves = int((control.position[0] < 0.5).sum())
    assert abs(halves - placed / 2) < 0.06 * placed
    assert control.place(markers, smoke, densities, chosen, key(0, Stream.CONTROL, 1)) <= 300 - placed


def test_table_2_is_a_preset():
    paper = load_scene(SCENE.replace("markers = 3000", 'preset = "table2"').replace("control_particles = 200\n", ""))
    chosen = ParticleNumbers.of(paper.control, Grid((200, 180, 160), 0.005))
    assert (chosen.markers, chosen.control_particles) == (400_000, 10_000)
    assert (chosen.marker_radius, chosen.control_radius) == (0.01, 0.01)
    assert chosen.strength == 3.0
    assert np.exp(-chosen.damping / 30) == pytest.approx(0.7)
    assert chosen.redistributions == 400_000
    assert PRESETS["table2"]["vortices"] == 10_000
