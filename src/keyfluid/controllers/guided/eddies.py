"""Eddies of a guided film: a force that stirs the smoke in waves shorter than the cutoff.

    f = turbulence U^2 / size * s * n      s: share of full smoke, 0 to 1; U: root mean square speed of the air there

n is random, without divergence, of root mean square 1, in eddies of half a wave at the cutoff and of half that, in a
liquid of a whole one and half of it (models/turbulence.py). Guiding removes what of the force lies below the cutoff,
the projection what has divergence; the velocities that remain are carried with the smoke like any others [instead of
textures that are carried, as in Kim et al. 2008]. U^2 / size is what an eddy turns over with: air at rest is not
stirred, so a shape that has been reached stays. In a liquid s U^2 is that of the solved run at each place: an arm that
strikes is stirred, a body at rest is not, and what the eddies do does not feed them.
"""

from __future__ import annotations

import numpy as np

from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.models.state import State
from keyfluid.models.turbulence import Turbulence
from keyfluid.problem import Problem

SMOKE_SIZES, LIQUID_SIZES = (0.5, 0.25), (1.0, 0.5)
"""Sizes of eddies, as shares of the wavelength at the cutoff. On a surface those of a quarter look like fur, and throw
drops of single cells (a letter at 192^2 had five pieces with `turbulence = 0.1`, and one without these)."""
_ACROSS = (8, 13)
"""Eddies across the tile of noise that is repeated over the domain; their tiles do not come round together."""
_LEAST_CELLS = 2.0


class Eddies:
    """force(state, time); cutoff: waves per metre. It depends on state, seed and time alone, so a resumed run sees the
    same one."""

    def __init__(
        self, problem: Problem, cutoff: float, turbulence: float, sizes: tuple[float, ...] = SMOKE_SIZES
    ) -> None:
        self._problem = problem
        spacing, dim = problem.grid.spacing, problem.grid.dim
        self._parts = []
        for number, (share, across) in enumerate(zip(sizes, _ACROSS)):
            size = max(share / cutoff, _LEAST_CELLS * spacing)
            tile = Grid([round(across * size / spacing)] * dim, spacing, "periodic")
            noise = Turbulence(tile, size, 1.0, problem.seed + number, problem.dtype)
            self._parts.append((turbulence / size, noise))

    def force(self, state: State, time: float) -> Field:
        """On faces, m/s^2."""
        smoke = self._smoke(state)
        velocity = state["velocity"]
        stirred = velocity.like(smoke.data * velocity.data)
        weight = smoke.dot(smoke)
        return self.stirred(smoke, self._problem.grid.dim * stirred.dot(stirred) / weight if weight > 0 else 0.0, time)

    def stirred(self, where: Field, square: float, time: float) -> Field:
        """On faces, m/s^2; where, square: s and U^2, or together their product."""
        total = where.zeros_like()
        for share, noise in self._parts:
            tile = noise.force(time) * (share * square)
            for component, repeated in zip(total.components(), tile.components()):
                times = [-(-n // m) for n, m in zip(component.shape, repeated.shape)]
                component += np.tile(repeated, times)[tuple(slice(n) for n in component.shape)]
        return total.like(total.data * where.data)

    def _smoke(self, state: State) -> Field:
        """The share of full smoke on faces, of all fields."""
        problem, grid = self._problem, self._problem.grid
        shares = [state[name].array / max(problem.peaks[name], 1e-6) for name in problem.densities]
        centred = np.clip(np.sum(shares, axis=0), 0.0, 1.0).astype(problem.dtype)
        result = Field.zeros(grid, Kind.FACES, problem.dtype)
        for axis, component in enumerate(result.components()):
            line, values = np.moveaxis(component, axis, 0), np.moveaxis(centred, axis, 0)
            if grid.is_periodic(axis):
                line[...] = 0.5 * (values + np.roll(values, 1, axis=0))
            else:
                line[1:-1] = 0.5 * (values[1:] + values[:-1])
        return result
