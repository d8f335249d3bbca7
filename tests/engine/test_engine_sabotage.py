"""Each checker is fed an operator that is wrong in just the way it is there to find, and must say so.

fault                                                   dot test   Taylor test   divergence
sign flipped in the adjoint                             FAILS      passes        passes
tangent and adjoint doubled alike                       passes     FAILS         passes
last step's pressure, consistently differentiated       passes     passes        FAILS
"""

from __future__ import annotations

import numpy as np
import pytest
from engine_cases import built

from keyfluid.grid import Grid, Kind
from keyfluid.operators.advect import Advect
from keyfluid.operators.base import LinearOperator
from keyfluid.operators.project import Project, divergence, subtract_gradient
from keyfluid.verify.check import check_divergence, check_dot, check_taylor


class FlippedAdvect(Advect):
    def adjoint(self, inputs, outputs_bar):
        *carried_bar, velocity_bar = super().adjoint(inputs, outputs_bar)
        return (*carried_bar, -velocity_bar)


class DoubledAdvect(Advect):
    def tangent(self, inputs, d_inputs):
        return tuple(2.0 * d for d in super().tangent(inputs, d_inputs))

    def adjoint(self, inputs, outputs_bar):
        return tuple(2.0 * bar for bar in super().adjoint(inputs, outputs_bar))


class FlippedHeatLike(LinearOperator):
    """v + q-average with the transposed sign wrong: for linear operators the dot test must see it too."""

    def apply(self, *inputs):
        q, rate = inputs
        return (q.add_scaled(0.3, rate),)

    def transpose(self, *outputs_bar):
        (bar,) = outputs_bar
        return bar, -0.3 * bar


class StaleProject(LinearOperator):
    """Subtracts the pressure of the velocity it was made with: the last step's."""

    def __init__(self, grid, last):
        self.grid = grid
        self.pressure = Project(grid, dtype=np.float64).solver.solve(-divergence(last))[0]

    def forward(self, *inputs):
        return (subtract_gradient(inputs[0], self.pressure),)

    def apply(self, *inputs):
        return (subtract_gradient(inputs[0], np.zeros(self.grid.cells)),)

    def transpose(self, *outputs_bar):
        return self.apply(*outputs_bar)


def advect_with(cls, cells):
    _, inputs, at = built("advect RK2", cells, "walls", False)
    return cls(at.grid, 1.3 * at.grid.spacing), inputs, at.rng


@pytest.mark.parametrize("cells", [(9, 7), (7, 5, 6)])
class TestAdvection:
    def test_sound(self, cells):
        operator, inputs, rng = advect_with(Advect, cells)
        assert check_dot("", "", operator, inputs, rng).passed
        assert check_taylor("", "", operator, inputs, rng).passed

    def test_flipped_sign_in_the_adjoint(self, cells):
        operator, inputs, rng = advect_with(FlippedAdvect, cells)
        assert not check_dot("", "", operator, inputs, rng).passed
        assert check_taylor("", "", operator, inputs, rng).passed

    def test_doubled_tangent_and_adjoint(self, cells):
        operator, inputs, rng = advect_with(DoubledAdvect, cells)
        assert check_dot("", "", operator, inputs, rng).passed
        row = check_taylor("", "", operator, inputs, rng)
        assert not row.passed
        assert float(row.value) == pytest.approx(1.0, abs=0.1)


def test_flipped_sign_in_a_linear_adjoint():
    _, inputs, at = built("add force", (9, 7), "walls", False)
    assert not check_dot("", "", FlippedHeatLike(), inputs, at.rng).passed
    assert check_taylor("", "", FlippedHeatLike(), inputs, at.rng).passed


@pytest.mark.parametrize("cells", [(9, 7), (7, 5, 6)])
def test_last_steps_pressure(cells):
    _, inputs, at = built("project", cells, "walls", False)
    grid = Grid(cells)
    stale = StaleProject(grid, at.field(Kind.FACES))
    assert check_dot("", "", stale, inputs, at.rng).passed
    assert check_taylor("", "", stale, inputs, at.rng).passed
    assert not check_divergence("", stale, inputs[0], 1e-12).passed
    assert check_divergence("", StaleProject(grid, inputs[0]), inputs[0], 1e-12).passed
    assert check_divergence("", Project(grid, dtype=np.float64), inputs[0], 1e-12).passed
