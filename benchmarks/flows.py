"""What benchmarks run: smooth flows of half a cell to two cells a step, and a final-density loss."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.ndimage import gaussian_filter

from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.models import Smoke, State


def smooth(grid: Grid, kind: Kind, peak: float, seed: int = 0) -> Field:
    """Band-limited noise with the given largest value."""
    rng = np.random.default_rng(seed)
    field = Field.zeros(grid, kind, np.float32)
    for component in field.components():
        component[...] = gaussian_filter(rng.standard_normal(component.shape).astype(np.float32), 4)
        component *= peak / np.abs(component).max()
    return field


def start(model: Smoke, cells_per_step: float) -> dict[str, Field]:
    """A blob of smoke in a smooth flow that moves up to the given number of cells in a step."""
    grid = model.grid
    distance = sum((x - 0.45) ** 2 for x in grid.coordinates(Kind.CENTRES.places(grid.dim)[0]))
    density = Field.of(grid, Kind.CENTRES, np.exp(-distance / 0.01), dtype=np.float32)
    speed = cells_per_step * grid.spacing / model.dt
    return model.initial_state(density=density, velocity=smooth(grid, Kind.FACES, speed))


class FinalDensity:
    """0.5 |rho_T - target|^2."""

    def __init__(self, step: int, target: Field) -> None:
        self.step = step
        self.target = target

    def steps(self) -> tuple[int, ...]:
        return (self.step,)

    def term(self, step: int, state: State) -> tuple[float, Mapping[str, Field]]:
        difference = state["density"] - self.target
        return 0.5 * difference.dot(difference), {"density": difference}


def final_density(model: Smoke, steps: int) -> FinalDensity:
    """A target that is the start, shifted by some cells."""
    rho = start(model, 0.5)["density"].array
    return FinalDensity(steps, Field.of(model.grid, Kind.CENTRES, np.roll(rho, rho.shape[0] // 12, 0)))
