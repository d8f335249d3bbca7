"""What the paper leaves out, each behind a switch, as changes of the velocity lattice.

project      pressure projection of the control field, the remedy of the paper's section 9. The field is averaged
             to faces, projected there, and averaged back, which leaves a little divergence
contain      u -= contain phi grad phi outside the target, phi its signed distance at most two vortex radii: the
             repulsion from the boundary of section 9, as a velocity, because markers have no inertia
buoyancy     smoke.buoyancy: u += buoyancy density / damping upwards, the speed at which the damping of control
             particles holds the lift
sources      markers come in where a source is; its velocity holds the air there
wind         u += w in its region, risen as far as it has: air without inertia takes it up at once. Control particles
             that no target holds drift with it
obstacles    near a body the velocity towards it, relative to its own, is removed; markers inside go to its
             surface
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from keyfluid.controllers.particles.kernels import move
from keyfluid.controllers.particles.lattice import Lattice
from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.models.wind import Wind
from keyfluid.operators.project import Project
from keyfluid.problem import Emission, Problem
from keyfluid.solids import Solids


def shaped(lattice: Lattice, packed: np.ndarray) -> np.ndarray:
    """A view (n_x, n_y, n_z, 4) of a packed lattice."""
    return packed.reshape(*lattice.counts, 4)


class Projection:
    """Makes a packed velocity lattice nearly divergence-free."""

    def __init__(self, lattice: Lattice) -> None:
        self.lattice = lattice
        sides = [str(side.value) for side in lattice.grid.boundary]
        self.grid = Grid(lattice.counts[: lattice.grid.dim], lattice.spacing, sides)
        self._project = Project(self.grid, None, lattice.dtype)

    def faces(self, packed: np.ndarray) -> Field:
        """The packed velocity averaged to faces; walls are closed."""
        dim = self.grid.dim
        values = shaped(self.lattice, packed).reshape(*self.grid.cells, 4)
        out = Field.zeros(self.grid, Kind.FACES, self.lattice.dtype)
        for axis in range(dim):
            line, face = np.moveaxis(values[..., axis], axis, 0), np.moveaxis(out.component(axis), axis, 0)
            if self.grid.is_periodic(axis):
                face[...] = 0.5 * (line + np.roll(line, 1, 0))
            else:
                face[1:-1] = 0.5 * (line[1:] + line[:-1])
        return out

    def apply(self, packed: np.ndarray) -> None:
        (free,) = self._project.forward(self.faces(packed))
        values = shaped(self.lattice, packed).reshape(*self.grid.cells, 4)
        for axis in range(self.grid.dim):
            line, face = np.moveaxis(values[..., axis], axis, 0), np.moveaxis(free.component(axis), axis, 0)
            line[...] = (
                0.5 * (face + np.roll(face, -1, 0)) if self.grid.is_periodic(axis) else 0.5 * (face[1:] + face[:-1])
            )


def contain(lattice: Lattice, packed: np.ndarray, distance: np.ndarray, rate: float, reach: float) -> None:
    """Adds -rate phi grad phi where 0 < phi, phi cut at `reach` metres."""
    phi = distance.reshape(lattice.counts)
    pull = rate * np.clip(phi, 0.0, reach)
    values = shaped(lattice, packed)
    for axis, slope in enumerate(_gradient(lattice, phi)):
        values[..., axis] -= (pull * slope).astype(lattice.dtype)


def lift(lattice: Lattice, packed: np.ndarray, smoke: np.ndarray, speed: float, up: int) -> None:
    """Adds `speed` per density upwards; smoke lives on the velocity lattice."""
    shaped(lattice, packed)[..., up] += lattice.real(speed) * smoke.reshape(lattice.counts)


def blow(lattice: Lattice, packed: np.ndarray, source: Emission, grid: Lattice) -> None:
    """Holds the air inside a source at the source's velocity."""
    share = grid.onto(lattice, source.mask.astype(grid.dtype)).reshape(lattice.counts)
    values = shaped(lattice, packed)
    for axis, speed in enumerate(source.velocity or ()):
        values[..., axis] += share * (lattice.real(speed) - values[..., axis])


def blowing(lattice: Lattice, winds: Sequence[Wind], time: float, grid: Lattice) -> np.ndarray | None:
    """The winds of a moment as a packed lattice; None where none blows."""
    packed = None
    for wind in winds:
        strength = wind.strength(time)
        if strength == 0:
            continue
        packed = lattice.packed() if packed is None else packed
        towards = wind.towards(time)
        blown = towards.like(towards.data * wind.region.data * towards.dtype.type(strength))
        for axis in range(lattice.grid.dim):
            shaped(lattice, packed)[..., axis] += grid.onto(lattice, centred(blown, axis)).reshape(lattice.counts)
    return packed


class Bodies:
    """The scene's obstacles by signed distance, on the scene's grid and on the velocity lattice."""

    def __init__(self, problem: Problem, grid: Lattice, lattice: Lattice) -> None:
        self.problem, self.grid, self.lattice = problem, grid, lattice
        self._solids: Solids | None = None
        self.distance: np.ndarray | None = None

    def at(self, time: float) -> bool:
        """Bring the distance to a time; False where there are no obstacles."""
        solids = self.problem.solids(time)
        if solids is None:
            return False
        if solids is not self._solids:
            from scipy.ndimage import distance_transform_edt

            outside, inside = distance_transform_edt(~solids.solid), distance_transform_edt(solids.solid)
            cells = np.where(solids.solid, 0.5 - inside, outside - 0.5)
            self.distance = (cells * self.grid.spacing).astype(self.grid.dtype).reshape(-1)
            self._solids = solids
        return True

    def stop(self, packed: np.ndarray) -> None:
        """Removes what blows into a body, within a cell of its surface."""
        assert self.distance is not None
        assert self._solids is not None
        lattice = self.lattice
        phi = self.grid.onto(lattice, self.distance).reshape(lattice.counts)
        near = np.clip(1.5 - phi / lattice.spacing, 0.0, 1.0)
        slopes = _gradient(lattice, phi)
        values = shaped(lattice, packed)
        motion = [np.zeros(lattice.counts, lattice.dtype)] * 3
        if self._solids.motion.peak() > 0:
            parts = [centred(self._solids.motion, axis) for axis in range(lattice.grid.dim)]
            motion = [self.grid.onto(lattice, part).reshape(lattice.counts) for part in parts]
        towards = sum((values[..., a] - motion[a]) * slope for a, slope in enumerate(slopes))
        towards = np.minimum(towards, 0.0) * near
        for axis, slope in enumerate(slopes):
            values[..., axis] -= (towards * slope).astype(lattice.dtype)

    def push_out(self, points: np.ndarray) -> None:
        move.push_out(*points, self.distance, self.grid.inverse, self.grid.cells, self.grid.side)


def _gradient(lattice: Lattice, values: np.ndarray) -> list[np.ndarray]:
    axes = range(lattice.grid.dim)
    return [np.gradient(values, lattice.spacing, axis=axis) for axis in axes]


def centred(field: Field, axis: int) -> np.ndarray:
    line = np.moveaxis(field.component(axis), axis, 0)
    both = line + np.roll(line, -1, 0) if field.grid.is_periodic(axis) else line[1:] + line[:-1]
    return np.ascontiguousarray(np.moveaxis(0.5 * both, 0, axis))
