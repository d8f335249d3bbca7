"""What lay in memory before must not reach a divergence: a NaN there once became one of the pressure."""

from __future__ import annotations

import numpy as np
import pytest

from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.kernels import stencils
from keyfluid.operators.project import divergence, layered


@pytest.mark.parametrize("sides", ["walls", "periodic", "open"])
def test_the_divergence_does_not_read_its_result(sides: str) -> None:
    grid = Grid((6, 5), boundary=sides)
    v = Field.zeros(grid, Kind.FACES, np.float64)
    v.data[...] = np.random.default_rng(3).standard_normal(v.data.size)
    dirty = np.full(grid.count, np.nan)
    stencils.divergence(v.data, *layered(grid), grid.dim, dirty)
    np.testing.assert_array_equal(dirty, divergence(v).reshape(-1))
    assert np.isfinite(dirty).all()
