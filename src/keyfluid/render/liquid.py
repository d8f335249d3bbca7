"""Pictures of a liquid's surface, from its signed distance: in 2D as if it bulged, in 3D by tracing rays to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from keyfluid.render.backdrop import Backdrop
from keyfluid.render.camera import up_vector
from keyfluid.render.colour import Colour, parse_colour, shoulder, to_bytes
from keyfluid.render.plane import enlarged, picture_size
from keyfluid.render.view import View

_BULGE = 5.0
"""Cells from the edge over which a 2D liquid seems to rise."""

_LEAST_STEP, _MOST_STEPS = 0.25, 400
_SOLID = "#b0a89d"
_BAND = 16
"""Rows of a picture that are traced together: all at once would take hundreds of megabytes."""
Points = NDArray[np.float64]


def render_liquid_plane(
    phi: NDArray, spacing: float, colour: Colour, solid: NDArray | None = None, size: int = 512
) -> NDArray[np.uint8]:
    """An sRGB picture (height, width, 3) of a 2D liquid; phi in metres."""
    width, height = picture_size(phi.shape, size)
    scale = width / phi.shape[0]
    depth = -enlarged(phi / spacing, width, height)
    image = Backdrop().picture(width, height)
    inner = np.clip(depth / _BULGE, 0.0, 1.0)
    bulge = _BULGE * scale * np.sqrt(np.maximum(1 - (1 - inner) ** 2, 0.0)) * 0.6
    down, right = np.gradient(bulge)
    normal = np.stack([-right, down, np.ones_like(bulge)], axis=-1)
    normal /= np.linalg.norm(normal, axis=-1, keepdims=True)
    light = np.array([-0.5, 0.65, 0.57])
    shade = np.clip(normal @ light, 0.0, 1.0)[..., None]
    gloss = np.clip(normal @ _unit(light + np.array([0.0, 0.0, 1.0])), 0.0, 1.0)[..., None] ** 40
    lit = parse_colour(colour) * (0.25 + 0.95 * shade) + 0.35 * gloss
    cover = np.clip(0.5 + depth * scale, 0.0, 1.0)[..., None]
    image = cover * lit + (1 - cover) * image
    if solid is not None:
        share = np.clip(0.5 + scale * (enlarged(solid.astype(np.float32), width, height, blur=1.0) - 0.5) * 2, 0, 1)
        image = share[..., None] * parse_colour(_SOLID) + (1 - share[..., None]) * image
    return to_bytes(np.asarray(image, np.float32))


def render_liquid_volume(
    phi: NDArray,
    spacing: float,
    colour: Colour,
    view: View,
    solid: NDArray | None = None,
) -> NDArray[np.uint8]:
    """An sRGB picture (height, width, 3) of a 3D liquid: key light with shadows, sky, a gloss; four rays a pixel."""
    size, width, height = view.size, 2 * view.size[0], 2 * view.size[1]
    finer = replace(view, size=(width, height))
    body = _Traced(phi, spacing, solid)
    behind = view.backdrop.picture(width, height)
    picture = np.empty((size[1], size[0], 3), np.float32)
    for top in range(0, size[1], _BAND):
        here = slice(2 * top, 2 * min(top + _BAND, size[1]))
        rows, columns = (axis.ravel() + 0.5 for axis in np.mgrid[here, :width])
        rays = finer.rays(columns, rows)
        image = behind[here].reshape(-1, 3).astype(np.float64)
        if view.backdrop.floor:
            image += _floor(body, *rays, view)
        met, lit = _lit(body, *rays, colour, view)
        image[met] = lit
        samples = shoulder(image.astype(np.float32)).reshape(-1, 2, size[0], 2, 3)
        picture[top : top + _BAND] = samples.mean(axis=(1, 3))
    return to_bytes(picture)


def _lit(
    body: _Traced, origins: Points, directions: Points, colour: Colour, view: View
) -> tuple[NDArray[np.int64], Points]:
    """Which rays meet the body, and the light that they bring."""
    met, points = body.meet(origins, directions)
    normals = body.normals(points)
    light = view.light
    to_light = light.towards(view.up)
    shadowed, _ = body.meet(points + 1.5 * body.spacing * normals, np.broadcast_to(to_light, points.shape))
    open_to_key = np.ones(len(points))
    open_to_key[shadowed] = 0.25
    facing = np.clip(normals @ to_light, 0.0, 1.0) * open_to_key
    sky = 0.5 + 0.5 * normals @ up_vector(view.up)
    halfway = _unit(to_light - directions[met])
    gloss = np.clip(np.sum(normals * halfway, axis=1), 0.0, 1.0) ** 60 * open_to_key
    rim = (1 - np.clip(-np.sum(normals * directions[met], axis=1), 0.0, 1.0)) ** 4
    own = np.where(body.is_solid(points)[:, None], parse_colour(_SOLID), parse_colour(colour))
    key, above = light.strength * parse_colour(light.colour), parse_colour(light.sky_colour)
    lit = own * (0.75 * facing[:, None] * key + (0.08 + light.sky_strength * sky)[:, None] * above)
    return met, lit + (0.5 * gloss)[:, None] * key + (0.5 * rim * light.sky_strength)[:, None] * above


class _Traced:
    """A level set that rays can meet, closed at the walls of its box; cells as unit inside."""

    def __init__(self, phi: NDArray, spacing: float, solid: NDArray | None) -> None:
        from scipy.ndimage import distance_transform_edt, gaussian_filter, spline_filter

        self.spacing, self.cells = spacing, np.array(phi.shape)
        level = np.asarray(phi, np.float64) / spacing
        self.solid = np.full(phi.shape, np.inf)
        if solid is not None and solid.any():
            self.solid = distance_transform_edt(~solid) - distance_transform_edt(solid)
            self.solid = gaussian_filter(self.solid, 0.7)
        self.level = np.pad(np.minimum(level, self.solid), 1, mode="edge")
        self.smooth = spline_filter(gaussian_filter(self.level, 0.6), order=2)

    def read(self, points: Points, smooth: bool = False) -> Points:
        from scipy.ndimage import map_coordinates

        places = (points / self.spacing + 0.5).T
        if smooth:
            return map_coordinates(self.smooth, places, order=2, mode="nearest", prefilter=False)
        inside = map_coordinates(self.level, places, order=1, mode="nearest")
        x = points / self.spacing
        beyond = np.max(np.maximum(-x, x - self.cells), axis=1)
        return np.maximum(inside, beyond)

    def meet(self, origins: Points, directions: Points) -> tuple[NDArray[np.int64], Points]:
        """Which rays meet the liquid, and where, in metres."""
        size = self.cells * self.spacing
        with np.errstate(divide="ignore", invalid="ignore"):
            near, far = (0 - origins) / directions, (size - origins) / directions
        enter = np.maximum(np.nanmax(np.minimum(near, far), axis=1), 0.0)
        leave = np.nanmin(np.maximum(near, far), axis=1)
        alive = np.flatnonzero(leave > enter)
        along = enter.copy()
        found = np.zeros(len(origins), bool)
        for _ in range(_MOST_STEPS):
            if not len(alive):
                break
            value = self.read(origins[alive] + along[alive, None] * directions[alive])
            hit = value <= 0.01
            found[alive[hit]] = True
            along[alive] += np.where(hit, 0.0, np.maximum(0.9 * value, _LEAST_STEP) * self.spacing)
            alive = alive[~hit & (along[alive] < leave[alive])]
        met = np.flatnonzero(found)
        low, high = np.maximum(along[met] - _LEAST_STEP * self.spacing, enter[met]), along[met]
        for _ in range(6):
            middle = 0.5 * (low + high)
            wet = self.read(origins[met] + middle[:, None] * directions[met]) <= 0
            low, high = np.where(wet, low, middle), np.where(wet, middle, high)
        return met, origins[met] + high[:, None] * directions[met]

    def normals(self, points: Points) -> Points:
        """Outwards; at a wall the wall's own."""
        steps = [0.5 * self.spacing * np.eye(3)[axis] for axis in range(3)]
        slope = np.stack([self.read(points + s, True) - self.read(points - s, True) for s in steps], axis=1)
        x = points / self.spacing
        for axis in range(3):
            for at_wall, sign in ((x[:, axis] < 0.02, -1.0), (x[:, axis] > self.cells[axis] - 0.02, 1.0)):
                slope[at_wall] = sign * np.eye(3)[axis]
        return _unit(slope)

    def is_solid(self, points: Points) -> NDArray[np.bool_]:
        if not np.isfinite(self.solid).any():
            return np.zeros(len(points), bool)
        places = np.clip((points / self.spacing).astype(int), 0, self.cells - 1)
        return self.solid[tuple(places.T)] < 0.8


def _floor(body: _Traced, origins: Points, directions: Points, view: View) -> Points:
    """Light of a matte floor under the domain, with the liquid's shadow."""
    top = up_vector(view.up)
    out = np.zeros((len(directions), 3))
    descent = -(directions @ top)
    meets = np.flatnonzero(descent > 1e-4)
    points = origins[meets] + ((origins[meets] @ top) / descent[meets])[:, None] * directions[meets]
    size = body.cells * body.spacing
    radius = np.linalg.norm((points - size / 2) * (1 - top), axis=1) / size.max()
    seen = radius < 2.0
    meets, points, radius = meets[seen], points[seen], radius[seen]
    dark, _ = body.meet(points + 0.1 * body.spacing * top, np.broadcast_to(view.light.towards(view.up), points.shape))
    lit = np.ones(len(points))
    lit[dark] = 0.3
    out[meets] = (np.exp(-((radius / 0.95) ** 2)) * lit)[:, None] * parse_colour(view.backdrop.bottom) * 3
    return out


def _unit(vectors: Points | Sequence[float]) -> Points:
    values = np.asarray(vectors, np.float64)
    return values / np.maximum(np.linalg.norm(values, axis=-1, keepdims=True), 1e-12)
