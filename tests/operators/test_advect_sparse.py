"""The adjoint of advection where most of it is zero, as beside a liquid's surface: rows are skipped, none is lost."""

from __future__ import annotations

import numpy as np
import pytest

from keyfluid.grid import Grid, Kind
from keyfluid.operators.advect import Advect
from keyfluid.operators.registry import Setting
from keyfluid.verify import random_like


@pytest.mark.parametrize("interpolation", ["linear", "cubic"])
@pytest.mark.parametrize("feet", ["own", "shared"])
@pytest.mark.parametrize("cells", [(13, 75), (9, 8, 41)])
@pytest.mark.parametrize("kind", [Kind.CENTRES, Kind.FACES])
def test_a_few_values_have_the_adjoint_that_the_tangent_asks_for(kind, cells, feet, interpolation):
    """Single values at the ends and in the middle of rows of several batches, and rows without any."""
    at = Setting(Grid(cells), None, np.random.default_rng(4), np.dtype(np.float64))
    operator = Advect(at.grid, 0.9 * at.grid.spacing, feet=feet, interpolation=interpolation)
    inputs = (at.field(kind), at.field(Kind.FACES))
    d_inputs = random_like(inputs, at.rng)
    (d_out,) = operator.tangent(inputs, d_inputs)
    row = cells[-1]
    for place in (0, 3 * row - 1, 3 * row + row // 2, 3 * row + 31, 3 * row + 32, d_out.data.size - 1):
        bar = d_out.zeros_like()
        bar.data[place] = 1.0
        inputs_bar = operator.adjoint(inputs, (bar,))
        found = sum(d.dot(b) for d, b in zip(d_inputs, inputs_bar))
        assert found == pytest.approx(d_out.data[place], rel=1e-10, abs=1e-12)
