"""Every registered operator, over dimensions, sides and bodies: transpose, derivative, dense matrix, bits."""

from __future__ import annotations

import importlib
import pkgutil

import numpy as np
import pytest
from engine_cases import ALL_OPERATORS, SETTING_IDS, SETTINGS, SIZES, built, label, same_bits, stacked

import keyfluid.operators
from keyfluid.errors import KeyfluidError
from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.operators import transport
from keyfluid.operators.base import Operator
from keyfluid.operators.registry import FORWARD_ONLY, REGISTER
from keyfluid.solvers import self_advection
from keyfluid.threads import set_threads
from keyfluid.verify import dot_defect, random_like, taylor_test

NAMES = list(REGISTER)
ABSTRACT = {"Operator", "LinearOperator", "SymmetricOperator", "SharedWork", "ForwardOnly"}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("cells", "sides", "solid"), SETTINGS, ids=SETTING_IDS)
def test_the_adjoint_is_the_transpose_of_the_tangent(name, cells, sides, solid):
    operator, inputs, at = built(name, cells, sides, solid)
    assert dot_defect(operator, inputs, at.rng) < 1e-12


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("cells", "sides", "solid"), SETTINGS, ids=SETTING_IDS)
def test_the_tangent_is_the_derivative(name, cells, sides, solid):
    operator, inputs, at = built(name, cells, sides, solid)
    direction = random_like(inputs, at.rng)
    result = taylor_test(
        lambda h: stacked(operator.forward(*(f.add_scaled(h, d) for f, d in zip(inputs, direction)))),
        stacked(operator.tangent(inputs, direction)),
        [2e-6 * 2.0**-k for k in range(5)],
    )
    assert result.exact or result.slope == pytest.approx(2.0, abs=0.1), result.remainders
    assert result.exact or not operator.linear


DENSE = [(("walls", "open"), True), (("periodic", "walls"), False), (("open", "periodic"), True)]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("sides", "solid"), DENSE, ids=[label(*case) for case in DENSE])
def test_dense_matrices_of_tangent_and_adjoint_are_transposes(name, sides, solid):
    operator, inputs, _ = built(name, (5, 4), sides, solid)
    outputs = operator.forward(*inputs)
    tangent = dense(lambda fields: operator.tangent(inputs, fields), inputs)
    adjoint = dense(lambda fields: operator.adjoint(inputs, fields), outputs)
    assert tangent.shape == adjoint.shape[::-1]
    assert np.abs(tangent).max() > 0
    np.testing.assert_allclose(adjoint, tangent.T, rtol=0, atol=1e-12 * np.abs(tangent).max())


def dense(function, like):
    """The matrix of a linear function of fields, column by column."""
    columns = []
    for index in range(sum(f.data.size for f in like)):
        unit = np.zeros(sum(f.data.size for f in like))
        unit[index] = 1.0
        parts = np.split(unit, np.cumsum([f.data.size for f in like])[:-1])
        columns.append(stacked(function(tuple(f.like(part) for f, part in zip(like, parts)))))
    return np.stack(columns, axis=1)


BITS = [((96, 90), ("walls", "open")), ((50, 13, 14), ("periodic", "walls", "open"))]


IN_FLOAT32 = ["advect RK2", "project", "diffuse", "transport"]


@pytest.mark.parametrize(
    ("name", "dtype"),
    [*((name, np.float64) for name in ALL_OPERATORS), *((name, np.float32) for name in IN_FLOAT32)],
)
@pytest.mark.parametrize(("cells", "sides"), BITS, ids=["2d", "3d"])
def test_threads_change_no_bit(name, dtype, cells, sides, monkeypatch):
    """Grids of several slabs, above the size where solvers go parallel; feet up to three cells away.

    In float32, which compiles every kernel anew, only what a step is made of by default, and transport.
    """
    monkeypatch.setattr(transport, "SERIAL_CELLS", 0)
    monkeypatch.setattr(self_advection, "SERIAL_VALUES", 0)
    operator, inputs, at = built(name, cells, sides, True, dtype)
    outputs_bar = random_like(operator.forward(*inputs), at.rng)
    results = []
    for count in (1, 2, 2):
        set_threads(count)
        results.append(operator.forward(*inputs))
        if operator.differentiable:
            results[-1] += operator.adjoint(inputs, outputs_bar)
    assert same_bits(results[0], results[1])
    assert same_bits(results[0], results[2])


@pytest.mark.parametrize("name", ["project", "diffuse", "Gaussian blur"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sides", [("walls", "periodic"), ("open", "walls", "periodic")], ids=["2d", "3d"])
def test_threads_change_no_bit_of_the_transforms(name, dtype, sides):
    """Boxes large enough for the transforms to use threads."""
    cells = {2: (262, 251), 3: (42, 40, 41)}[len(sides)]
    operator, inputs, _ = built(name, cells, sides, False, dtype)
    results = []
    for count in (1, 2):
        set_threads(count)
        results.append(operator.forward(*inputs))
    assert same_bits(*results)


@pytest.mark.parametrize("name", ALL_OPERATORS)
@pytest.mark.parametrize("dim", [2, 3])
def test_a_field_of_another_place_or_grid_is_refused(name, dim):
    operator, inputs, at = built(name, SIZES[dim], "walls", False)
    grid = at.grid
    coarser = Grid(grid.cells, 2 * grid.spacing)
    bigger = Grid([n + 1 for n in grid.cells], grid.spacing)
    for index, given in enumerate(inputs):
        others = [Field.zeros(g, given.kind, np.float64) for g in (coarser, bigger)]
        carried = name.startswith("advect") and index < len(inputs) - 1
        if not carried:  # advection carries fields of any kind
            others += [Field.zeros(grid, kind, np.float64) for kind in Kind if kind is not given.kind]
        for other in others:
            wrong = [other if i == index else f for i, f in enumerate(inputs)]
            with pytest.raises(KeyfluidError, match=r"grid|live in different places"):
                operator.forward(*wrong)


@pytest.mark.parametrize("name", ALL_OPERATORS)
def test_inputs_are_left_alone(name):
    operator, inputs, at = built(name, SIZES[2], ("walls", "open"), True)
    before = [f.copy() for f in inputs]
    outputs = operator.forward(*inputs)
    bars = random_like(outputs, at.rng)
    bars_before = [f.copy() for f in bars]
    if operator.differentiable:
        operator.adjoint(inputs, bars)
    assert same_bits(inputs, before)
    assert same_bits(bars, bars_before)


@pytest.mark.parametrize("name", FORWARD_ONLY)
def test_operators_without_a_derivative_say_so(name):
    operator, inputs, _ = built(name, SIZES[2], "walls", False)
    assert not operator.differentiable
    for derivative in (operator.tangent, operator.adjoint):
        with pytest.raises(KeyfluidError, match="has no derivative"):
            derivative(inputs, inputs)


def test_every_operator_is_registered():
    for module in pkgutil.walk_packages(keyfluid.operators.__path__, "keyfluid.operators."):
        importlib.import_module(module.name)
    registered = {type(built(name, SIZES[2], "walls", True)[0]) for name in ALL_OPERATORS}
    missing = {cls.__name__ for cls in defined(Operator)} - {cls.__name__ for cls in registered} - ABSTRACT
    assert not missing, f"operators without a line in operators/registry.py: {sorted(missing)}"


def test_an_operator_without_a_line_is_noticed():
    class Forgotten(keyfluid.operators.base.SymmetricOperator):
        __module__ = "keyfluid.operators.forgotten"

        def apply(self, *inputs):
            return inputs

    try:
        with pytest.raises(AssertionError, match="Forgotten"):
            test_every_operator_is_registered()
    finally:
        Forgotten.__module__ = "elsewhere"


def defined(cls):
    """All subclasses of `cls` that live under keyfluid.operators."""
    for child in cls.__subclasses__():
        yield from defined(child)
        if child.__module__.startswith("keyfluid.operators"):
            yield child
