"""Frames around lattices, and rows long enough to be read eight points at a time."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.ndimage import map_coordinates

from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.operators.advect import Advect
from keyfluid.operators.framed import frame_of

SIDES = [("walls", "periodic", "open"), ("open", "open", "walls"), ("periodic", "walls", "periodic")]


def by_hand(field: Field) -> np.ndarray:
    """One more plane per axis: the first again if periodic, else the last, or three of zeros in all if open."""
    framed = []
    for component in field.components():
        for axis, side in enumerate(field.grid.boundary):
            rim = side == "open" and field.kind is Kind.CENTRES
            widths = [(1, 2) if rim and a == axis else (0, int(a == axis)) for a in range(component.ndim)]
            mode = "constant" if rim else "wrap" if side == "periodic" else "edge"
            component = np.pad(component, widths, mode=mode)  # type: ignore[call-overload]
        framed.append(component.ravel())
    return np.concatenate(framed)


@pytest.mark.parametrize("kind", [Kind.CENTRES, Kind.FACES])
@pytest.mark.parametrize("sides", SIDES)
@pytest.mark.parametrize("dim", [2, 3])
def test_a_frame_repeats_what_comes_next_and_folds_back(dim: int, sides: tuple[str, ...], kind: Kind) -> None:
    grid = Grid((5, 4, 3)[:dim], boundary=sides[:dim])
    rng = np.random.default_rng(2)
    field = Field(grid, kind, rng.standard_normal(grid.value_count(kind)))
    frame = frame_of(grid, kind)
    framed = frame.put_on(field.data)
    np.testing.assert_array_equal(framed, by_hand(field))
    assert frame.parts[-1].stop == framed.size
    other = rng.standard_normal(framed.size)
    assert framed @ other == pytest.approx(field.data @ frame.fold(other), rel=1e-13)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sides", ["walls", "periodic"])
@pytest.mark.parametrize("cells", [(6, 27), (5, 4, 21)])
def test_long_rows_read_what_scipy_reads(cells: tuple[int, ...], sides: str, dtype: type) -> None:
    """21 and 27 points: blocks of eight and a rest; feet up to three cells away, beyond the sides too."""
    grid = Grid(cells, boundary=sides)
    rng = np.random.default_rng(3)
    density = Field(grid, Kind.CENTRES, rng.standard_normal(grid.count).astype(dtype))
    speeds = rng.uniform(-3, 3, grid.value_count(Kind.FACES))
    velocity = Field(grid, Kind.FACES, speeds.astype(dtype))
    (carried,) = Advect(grid, grid.spacing, order=1).forward(density, velocity)
    feet = []
    for axis, u in enumerate(velocity.components()):
        u = u.astype(np.float64)
        above = np.roll(u, -1, axis) if sides == "periodic" else np.delete(u, 0, axis)
        below = u if sides == "periodic" else np.delete(u, -1, axis)
        feet.append(np.indices(cells)[axis] - (above + below) / 2)
    mode = "grid-wrap" if sides == "periodic" else "nearest"
    wanted = map_coordinates(density.array.astype(np.float64), feet, order=1, mode=mode)
    np.testing.assert_allclose(carried.array, wanted, atol=50 * np.finfo(dtype).eps)
