"""Guiding a liquid: its velocity is drawn towards a given one, and its surface towards a given surface.

Locations   v, u (the velocity to follow) on faces; phi, psi (the surface to follow) at centres, metres
Discrete    v1 = v + s (k B (u - v) + w) on wet faces, v elsewhere;  s: strength, 0 to 1
            B d = G (m d) / G m: a Gaussian mean over wet faces alone (m = 1 there), since outside them velocities are
            only extrapolated. Waves longer than its width are replaced, shorter ones are left alone.
            w = c(phi - psi) (grad phi + grad psi) / 2: the surface moves outwards where it lies within the other one,
            at the speed c (see SurfacePull). grad phi pushes the end of an arm along the arm, grad psi pulls a drop
            back as a whole; what either adds in vain has divergence, which the projection removes. Volume stays, as w
            is a velocity and no source.
            k = 1 - spray (1 - depth): depth below psi, in cells of the run, from 0 to 1. With spray the outermost
            liquid goes on as it moves, and is thrown off where the run turns.
Sides       periodic axes wrap, others go on with their last value; faces of bodies are not wet
Deviations  smoke's guide (guide.py) cuts waves over the whole box; a liquid fills a part of it whose shape changes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import gaussian_filter
from scipy.optimize import brentq

from keyfluid.errors import KeyfluidError
from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.operators.base import Fields, ForwardOnly
from keyfluid.operators.beside_faces import beside_faces
from keyfluid.operators.keep_volume import WIDTH, filled_share, filled_smoothly
from keyfluid.operators.wet import Wet
from keyfluid.solids import Solids

_REACH = 3.0
"""Widths after which the Gaussian ends."""
_LEFT = 1e-6
"""Share of the volume that may be off."""


@dataclass(frozen=True, kw_only=True)
class SurfacePull:
    """How a surface is drawn to another.

    c(d) = firm (d beyond the dead zone) + soft d,   at most firm times most

    dead, most: metres; firm, soft: per second. Within the dead zone a surface has waves of its own, which only the soft
    part draws to rest; most: of the run's cells, one.
    """

    dead: float
    most: float
    firm: float
    soft: float

    def speed(self, gap: np.ndarray) -> np.ndarray:
        """Metres per second, outwards where the gap is positive."""
        beyond = np.sign(gap) * np.maximum(np.abs(gap) - self.dead, 0.0)
        return np.clip(self.firm * beyond + self.soft * gap, -self.firm * self.most, self.firm * self.most)


class KeepNear(ForwardOnly):
    """forward(surface, before) -> (surface,): phi1 = phi + c, at least psi - d and at most psi + d.

    The surface is then nowhere farther than d from the one that is followed. What lies beyond is cut off or filled, and
    c gives its volume to the rest: V(phi1) = V(before) to a millionth, with the smoothed volume of keep_volume.py, or
    the nearest that the limits allow.
    """

    def __init__(self, followed: Field, most: float, solids: Solids | None = None) -> None:
        if not most > 0:
            raise KeyfluidError(f"guide: a surface can't be kept within {most} m of another")
        self.followed, self.most, self.solids = followed, most, solids

    def forward(self, *inputs: Field) -> Fields:
        surface, before = inputs
        for field in inputs:
            field.require(self.followed.grid, Kind.CENTRES, "guide: surface")
        psi, most = self.followed.data.astype(np.float64), self.most
        phi = surface.data.astype(np.float64)
        fluid = np.ones(phi.size, bool) if self.solids is None else self.solids.fluid.ravel()
        wanted = filled_smoothly(before)[fluid].sum()
        # Cells that are full or empty whatever c is count once.
        clipped = np.clip(phi, psi - most, psi + most)
        felt = fluid & (np.abs(clipped) < most + WIDTH * surface.grid.spacing)
        rest = np.count_nonzero((clipped < 0) & fluid & ~felt)
        near, low, high = phi[felt], psi[felt] - most, psi[felt] + most

        def gained(raised: float) -> float:
            values = np.clip(near + raised, low, high)
            return rest + float(filled_share(values, surface.grid.spacing).sum()) - float(wanted)

        raised = 0.0 if abs(gained(0.0)) <= _LEFT * wanted else _root(gained, most)
        return (surface.like(np.clip(phi + raised, psi - most, psi + most).astype(surface.dtype)),)


class GuideLiquid(ForwardOnly):
    """forward(velocity, surface) -> (velocity,); towards, followed: u and psi; width: of the Gaussian, metres."""

    def __init__(
        self, towards: Field, followed: Field, width: float, pull: SurfacePull, strength: float, spray: float = 0.0,
        solids: Solids | None = None,
    ) -> None:  # fmt: skip
        if not 0 <= strength <= 1:
            raise KeyfluidError(f"guide: strength {strength} must be between 0 and 1")
        towards.require(followed.grid, Kind.FACES, "guide: velocity to follow")
        followed.require(towards.grid, Kind.CENTRES, "guide: surface to follow")
        self.towards, self.followed, self.width, self.pull = towards, followed, width, pull
        self.strength, self.spray, self.solids = strength, spray, solids

    def forward(self, *inputs: Field) -> Fields:
        v, surface = inputs
        grid = self.towards.grid
        v.require(grid, Kind.FACES, "guide: velocity")
        surface.require(grid, Kind.CENTRES, "guide: surface")
        wet = Wet.of(surface, self.solids)
        faces = wet.components(wet.faces)
        result, strength = v.copy(), v.dtype.type(self.strength)
        pushes = self._pushes(surface)
        for axis, (values, goal) in enumerate(zip(result.components(), self.towards.components())):
            below, above = beside_faces(grid, pushes[axis], axis, 0.0)
            change = self._over_wet(grid, goal - values, faces[axis])
            if self.spray > 0:
                change *= self._hold(grid, axis)
            change += 0.5 * (below + above).astype(v.dtype)
            values += np.where(faces[axis], strength * change, v.dtype.type(0))
        return (result,)

    def _over_wet(self, grid: Grid, values: np.ndarray, wet: np.ndarray) -> np.ndarray:
        """B: the mean of values on wet faces around each face."""
        sides = ["wrap" if grid.is_periodic(axis) else "nearest" for axis in range(grid.dim)]
        share = wet.astype(values.dtype)
        width = self.width / grid.spacing
        total, weight = (gaussian_filter(part, width, mode=sides, truncate=_REACH) for part in (share * values, share))
        return np.divide(total, weight, out=np.zeros_like(total), where=wet)

    def _hold(self, grid: Grid, axis: int) -> np.ndarray:
        """k on the faces across an axis; SurfacePull.most is one cell of the run."""
        below, above = beside_faces(grid, self.followed.array, axis, np.inf)
        depth = np.clip(-np.minimum(below, above) / self.pull.most, 0.0, 1.0)
        return (1 - self.spray * (1 - depth)).astype(self.followed.dtype)

    def _pushes(self, surface: Field) -> list[np.ndarray]:
        """w at centres, one array per axis."""
        phi, psi = (field.array.astype(np.float64) for field in (surface, self.followed))
        grid = surface.grid
        speed = self.pull.speed(phi - psi)
        return [0.5 * speed * (_slope(grid, phi, axis) + _slope(grid, psi, axis)) for axis in range(grid.dim)]


def _root(falling: Callable[[float], float], most: float) -> float:
    """Where a falling function is zero between -most and most, or the end that is nearest to it."""
    if falling(-most) <= 0:
        return -most
    if falling(most) >= 0:
        return most
    return float(brentq(falling, -most, most, xtol=1e-7 * most))


def _slope(grid: Grid, values: np.ndarray, axis: int) -> np.ndarray:
    """Central differences, one-sided at walls."""
    if grid.is_periodic(axis):
        return (np.roll(values, -1, axis) - np.roll(values, 1, axis)) / (2 * grid.spacing)
    return np.gradient(values, grid.spacing, axis=axis)
