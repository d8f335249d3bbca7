"""Kernels never read what they have not written: work arrays full of NaN change nothing."""

from __future__ import annotations

import numpy as np
import pytest

from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.operators.advect import Advect
from keyfluid.operators.kernels import advect as kernels


def poison(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = kernels.work_arrays

    def work_arrays(*arguments: object) -> tuple[np.ndarray, ...]:
        arrays = plain(*arguments)
        for array in arrays:
            array.fill(np.nan if array.dtype.kind == "f" else -7)
        return arrays

    monkeypatch.setattr(kernels, "work_arrays", work_arrays)


@pytest.mark.parametrize("feet", ["own", "shared"])
@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("cells", [(9, 7), (7, 5, 6)])
def test_work_arrays_carry_nothing_in(
    cells: tuple[int, ...], order: int, feet: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    grid = Grid(cells)
    rng = np.random.default_rng(4)
    density = Field(grid, Kind.CENTRES, rng.standard_normal(grid.count))
    velocity = Field(grid, Kind.FACES, rng.standard_normal(grid.value_count(Kind.FACES)))
    operator = Advect(grid, grid.spacing, order, feet)
    inputs, bars = (density, velocity, velocity), (density, velocity)

    def everything() -> list[np.ndarray]:
        results = (*operator.forward(*inputs), *operator.tangent(inputs, inputs), *operator.adjoint(inputs, bars))
        return [field.data for field in results]

    clean = everything()
    poison(monkeypatch)
    for before, after in zip(clean, everything()):
        np.testing.assert_array_equal(before, after)
