"""The carried density: exact for a rigid rotation and a shift, and it meets sources on its way."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from keyfluid.fields import Field
from keyfluid.fluids.smoke.fluid import SmokeFluid
from keyfluid.grid import Grid, Kind
from keyfluid.runs.flow_map import Carried, FlowMap


def test_a_rotation_takes_every_path_to_its_place():
    grid = Grid((24, 20), 0.1)
    turning = 0.7

    def spin(x, y):
        return -turning * (y - 0.9) + 0 * x, turning * (x - 1.3) + 0 * y

    velocity = Field.from_function(grid, Kind.FACES, spin)
    paths = FlowMap(grid)
    for _ in range(5):
        paths.back(velocity, 0.2)
    x, y = grid.coordinates(Kind.CENTRES.places(2)[0])
    x, y = np.broadcast_arrays(x - 1.3, y - 0.9)
    angle = -turning
    wanted_x = np.cos(angle) * x - np.sin(angle) * y + 1.3
    wanted_y = np.sin(angle) * x + np.cos(angle) * y + 0.9
    near = np.hypot(x, y) < 0.7
    got = paths.points.reshape(24, 20, 3) * 0.1
    # RK4's error: 20 parts of angle h = 0.035, each h^5 / 120 of the radius.
    limit = 1.05 * 20 * 0.035**5 / 120 * 0.7
    assert np.abs(got[..., 0] - wanted_x)[near].max() < limit
    assert np.abs(got[..., 1] - wanted_y)[near].max() < limit


def problem(grid, start, sources=()):
    return SimpleNamespace(
        grid=grid, fps=10.0, densities={"density": start}, sources=list(sources), fluid=SmokeFluid(viscosity=0.0)
    )


def transported(of, field, steps):
    carried = Carried(of, field)
    for step in steps:
        carried.back(*step)
    return carried.density()


@pytest.mark.parametrize("side", ["periodic", "open"])
def test_a_shift_by_whole_cells_in_three_dimensions(side):
    grid = Grid((6, 5, 4), 0.5, ["walls", "walls", side])
    values = np.random.default_rng(5).random(grid.cells)
    velocity = Field.from_function(grid, Kind.FACES, lambda x, y, z: (0 * x, 0 * x, 1.0 + 0 * x))
    steps = [(0.2, 0.2, velocity), (0.0, 0.3, velocity)]
    got = transported(problem(grid, Field.of(grid, Kind.CENTRES, values)), "density", steps)
    wanted = np.roll(values, 1, axis=2)
    if side == "open":
        # The side's own cell lets half of its value out over half a cell; beyond it there is nothing.
        wanted[:, :, 0] = 0
    assert got[:, :, 1:] == pytest.approx(wanted[:, :, 1:])
    assert got[:, :, 0] == pytest.approx(wanted[:, :, 0])


def test_paths_are_filled_by_sources():
    grid = Grid((4, 3), 1.0)
    still = Field.zeros(grid, Kind.FACES, np.float64)
    mask = np.zeros(grid.cells)
    mask[1, 2] = 0.25
    held = SimpleNamespace(field="density", mask=mask, rate=None, density=2.0, start=0, stop=1)
    given = SimpleNamespace(field="density", mask=mask, rate=3.0, density=None, start=1, stop=2)
    start = Field.of(grid, Kind.CENTRES, np.full(grid.cells, 0.5))
    steps = [(0.1, 0.1, still), (0.0, 0.1, still)]
    got = transported(problem(grid, start, [held, given]), "density", steps)
    assert got[0, 0] == pytest.approx(0.5)
    assert got[1, 2] == pytest.approx(0.75 * 0.5 + 0.25 * 2.0 + 3.0 * 0.25 * 0.1)
