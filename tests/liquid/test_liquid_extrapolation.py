"""Velocity beyond the liquid: layer by layer, against numpy's passes over the whole box."""

from __future__ import annotations

import numpy as np
import pytest
from liquid_cases import disk, surface

from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.operators.extrapolate import ExtrapolateVelocity, IntoBodies
from keyfluid.operators.wet import Wet
from keyfluid.solids import Solids


def filled_by_passes(values, known, blocked, periodic):
    """Each pass fills what touches the values known before it; unreached values stay zero."""
    values, known = np.where(known, values, 0.0), known.copy()
    while True:
        total, parts = np.zeros(values.shape), np.zeros(values.shape)
        for axis, wraps in enumerate(periodic):
            for step in (1, -1):
                there, value = np.roll(known, step, axis), np.roll(values, step, axis)
                if not wraps:
                    end = tuple((0 if step == 1 else -1) if a == axis else slice(None) for a in range(values.ndim))
                    there[end] = False
                total += np.where(there, value, 0.0)
                parts += there
        reached = ~known & ~blocked & (parts > 0)
        if not reached.any():
            return values
        values[reached] = (total / np.maximum(parts, 1))[reached]
        known |= reached


def with_body(grid):
    """A slab across the box but for one row, so that the layers have to go around it."""
    solid = np.zeros(grid.cells, bool)
    solid[grid.cells[0] // 2 + 3, 1:] = True
    return Solids.from_distance(grid, np.where(solid, -1.0, 1.0))


@pytest.mark.parametrize(
    ("cells", "sides"), [((17, 12), "walls"), ((14, 9), ["periodic", "walls"]), ((9, 7, 8), ["walls", "periodic"] * 2)]
)
@pytest.mark.parametrize("body", [False, True])
def test_every_layer_is_the_mean_of_the_one_before(cells, sides, body):
    grid = Grid(cells, boundary=sides[: len(cells)] if isinstance(sides, list) else sides)
    solids = with_body(grid) if body else None
    phi = surface(
        grid, lambda x, y, *z: np.sqrt((x - 0.25) ** 2 + (y - 0.3) ** 2 + sum((c - 0.3) ** 2 for c in z)) - 0.18
    )
    rng = np.random.default_rng(2)
    v = Field.of(grid, Kind.FACES, *(rng.normal(size=shape) for shape in grid.shapes(Kind.FACES)))
    (out,) = ExtrapolateVelocity(grid, solids).forward(v, phi)
    wet = Wet.of(phi, solids)
    periodic = [grid.is_periodic(axis) for axis in range(grid.dim)]
    for axis, (known, free) in enumerate(zip(wet.components(wet.faces), wet.components(wet.free))):
        assert 0 < np.count_nonzero(known) < 0.4 * known.size
        expected = filled_by_passes(v.component(axis), known, ~free, periodic)
        np.testing.assert_allclose(out.component(axis), expected, rtol=1e-13, atol=1e-14)


def test_the_surface_goes_on_inside_bodies():
    grid = Grid((15, 11))
    solid = np.zeros(grid.cells, bool)
    solid[5:9, 3:8] = True
    phi = disk(grid)
    (out,) = IntoBodies(Solids.from_distance(grid, np.where(solid, -1.0, 1.0))).forward(phi)
    expected = filled_by_passes(phi.array, ~solid, np.zeros_like(solid), (False, False))
    np.testing.assert_allclose(out.array, expected, rtol=1e-13)
