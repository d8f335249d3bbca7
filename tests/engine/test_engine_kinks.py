"""Where a foot lands on a node, interpolation has a kink: the derivative is the mean of the one-sided ones.

Optimisation starts at rest, where every foot does. A mirrored scene must then have the mirrored gradient.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from engine_cases import MIXTURES, SIDES, SIZES, built, label, mirrored, setting, stacked

from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.models import Smoke, SmokeOptions
from keyfluid.operators.registry import REGISTER
from keyfluid.rollout import Rollout, StoredForcing
from keyfluid.verify import random_like
from keyfluid.verify.check import Distance

ADVECTIONS = [name for name in REGISTER if name.startswith("advect")]
CASES = [(SIZES[dim], sides) for dim in (2, 3) for sides in MIXTURES[dim]]
IDS = [f"{len(cells)}d-{label(sides, False)}" for cells, sides in CASES]


def uniform(grid, *speeds):
    field = Field.zeros(grid, Kind.FACES, np.float64)
    for component, speed in zip(field.components(), speeds):
        component[...] = speed
    return field


def one_sided(operator, carried, velocity, direction, h=1e-7):
    """The two one-sided derivatives of what is carried, along a change of the velocity."""
    start = stacked(operator.forward(*carried, velocity))
    ahead = stacked(operator.forward(*carried, velocity.add_scaled(h, direction)))
    behind = stacked(operator.forward(*carried, velocity.add_scaled(-h, direction)))
    return (ahead - start) / h, (start - behind) / h


def assert_mean_of_one_sided(operator, carried, velocity, rng):
    (direction,) = random_like((velocity,), rng)
    right, left = one_sided(operator, carried, velocity, direction)
    still = tuple(f.zeros_like() for f in carried)
    tangent = stacked(operator.tangent((*carried, velocity), (*still, direction)))
    np.testing.assert_allclose(tangent, 0.5 * (right + left), rtol=0, atol=2e-5 * np.abs(tangent).max())
    assert np.abs(tangent).max() > 0.1
    return right, left


@pytest.mark.parametrize("name", ADVECTIONS)
@pytest.mark.parametrize(("cells", "sides"), CASES, ids=IDS)
def test_at_rest_the_derivative_is_the_mean_of_the_one_sided_ones(name, cells, sides):
    """For a density and for a velocity that is carried, at clamped sides too."""
    operator, (density, velocity, _), at = built(name, cells, sides, False)
    right, left = assert_mean_of_one_sided(operator, (density, velocity), uniform(at.grid), at.rng)
    if "cubic" not in name:
        assert np.abs(right - left).max() > 0.05  # there is a kink to speak of


@pytest.mark.parametrize("name", ADVECTIONS)
@pytest.mark.parametrize("sides", SIDES)
@pytest.mark.parametrize("dim", [2, 3])
def test_feet_displaced_by_whole_cells(name, sides, dim):
    """Displacements of 1, -2 and 1 cells: feet on nodes, on clamps and beyond them."""
    at = setting((8, 6, 5)[:dim], sides, False)
    grid = Grid(at.grid.cells, 0.125, sides)
    operator, (density, velocity, _) = REGISTER[name](at)
    operator = replace(operator, grid=grid, dt=0.125)
    density, velocity = (Field(grid, f.kind, f.data) for f in (density, velocity))
    wind = uniform(grid, 1.0, -2.0, 1.0)
    assert_mean_of_one_sided(operator, (density, velocity), wind, at.rng)


@pytest.mark.parametrize("name", ADVECTIONS)
@pytest.mark.parametrize(("cells", "sides"), CASES, ids=IDS)
def test_at_rest_a_mirrored_state_has_the_mirrored_gradient(name, cells, sides):
    operator, (density, velocity, _), at = built(name, cells, sides, False)
    rest = uniform(at.grid)
    bars = random_like((density, velocity), at.rng)
    gradients = operator.adjoint((density, velocity, rest), bars)
    assert gradients[2].peak() > 0.1
    for axis in range(at.grid.dim):
        images = operator.adjoint(
            (mirrored(density, axis), mirrored(velocity, axis), rest), tuple(mirrored(b, axis) for b in bars)
        )
        for image, gradient in zip(images, gradients):
            expected = mirrored(gradient, axis).data
            np.testing.assert_allclose(image.data, expected, rtol=0, atol=1e-14 * np.abs(expected).max())


@pytest.mark.parametrize("feet", ["own", "shared"])
@pytest.mark.parametrize("cells", [(11, 8), (7, 5, 6)])
def test_a_mirrored_scene_at_rest_has_the_mirrored_gradient(cells, feet):
    """Gradient of four steps with respect to their forces, which are all zero."""
    at = setting(cells, ("walls", "open", "walls")[: len(cells)], False)
    model = Smoke(at.grid, 0.05, SmokeOptions(dtype=np.float64, feet=feet))
    density, target = at.field(Kind.CENTRES), at.field(Kind.CENTRES)
    results = []
    for picture in (lambda f: f, lambda f: mirrored(f, 0)):
        forcing = StoredForcing([{"force": uniform(at.grid)} for _ in range(4)])
        state = model.initial_state(density=picture(density))
        gradient = Rollout(model, 4).gradient(state, Distance(4, picture(target)), forcing)
        results.append([gradient.initial_bar["velocity"], *(bar["force"] for bar in forcing.bars)])
    for gradient, image in zip(*results):
        expected = mirrored(gradient, 0).data
        assert np.abs(expected).max() > 1e-4
        np.testing.assert_allclose(image.data, expected, rtol=0, atol=1e-13 * np.abs(expected).max())
