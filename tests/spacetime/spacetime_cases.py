"""Guides and small problems for the tests of spacetime control."""

from __future__ import annotations

import numpy as np

from keyfluid.controllers.spacetime.flow import FlowEquations, peak
from keyfluid.grid import Grid, Kind
from keyfluid.solvers.solenoidal import Solenoidal


def guided(cells, steps, courant, sides="walls", dtype=np.float64, seed=0, viscosity=0.0, free_start=False):
    """A flow and a smooth asymmetric guide without divergence, whose fastest air crosses `courant` cells a step."""
    grid = Grid(cells, boundary=sides)
    rng = np.random.default_rng(seed)
    solenoidal = Solenoidal(grid, dtype)
    guide = np.zeros((grid.value_count(Kind.FACES), steps))
    time = np.arange(steps) / steps
    for a, place in enumerate(Kind.FACES.places(grid.dim)):
        component = solenoidal.component(guide, a)
        for _ in range(6):
            wave = rng.standard_normal()
            for x in grid.coordinates(place):
                wave = wave * np.sin(2 * np.pi * rng.integers(1, 3) * x + rng.uniform(0, 6.28))
            component += wave[..., None] * np.sin(rng.uniform(1, 5) * time + rng.uniform(0, 6.28))
    guide = solenoidal.project(guide.astype(dtype))
    guide *= dtype(courant / peak(guide))
    return FlowEquations(grid, solenoidal, viscosity, free_start), guide
