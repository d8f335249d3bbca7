"""Pictures of marker particles: stochastic shadow mapping, then discs composited back to front.

    shadow map   per texel the least depth from the light of the markers in it, each inserted at a random offset
    shadow       share of the 15 x 15 texels around a marker that are nearer to the light than it is
    blending     a marker's shadow is the mean of this frame's and the two before, 4 : 2 : 1
    compositing  markers sorted by depth, drawn from the back as soft discs
                                         [Swoboda 2011; Madill & Mould 2013, section 7.1]

The paper's map has 4096 x 4096 texels whatever it shows. Here a texel is as large as a marker's cross-section A = kappa
V, kappa the smoke's extinction (1/m) and V the volume a marker stands for: the chance that a texel is filled before a
depth d is then 1 - exp(-kappa d), so the shadow is that of the smoke the markers stand for, at any number of markers.
A second map from above gives what a marker sees of the sky.

Blending reads the frames before from the run instead of remembering the last picture, so a frame looks the same
regardless of which frame was drawn before it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from keyfluid.controllers.particles.streams import Stream, key
from keyfluid.render.camera import up_vector
from keyfluid.render.colour import magnitude_map, parse_colour, shoulder, to_bytes
from keyfluid.render.kernels import marker_shadows as kernels
from keyfluid.render.lighting import KeyAndSky
from keyfluid.render.view import View

Shades = NDArray[np.float32]
"""(2, n): how much of the key light and of the sky reaches each marker, 0 to 1."""

MOST_TEXELS = 4096
REACH = 7
"""Texels on either side of a marker that are sampled: a kernel of 15."""

BLEND = (4.0, 2.0, 1.0)
"""Weights of a marker's shadow in this frame, the one before, and the one before that."""

_SPREAD = 1.0
_DISC = 1.6
"""Radius of a disc over the cube root of the volume it stands for."""

_LEAST_PIXELS = 1.2
_CHUNK_TEXELS = 1 << 20


@dataclass(frozen=True, eq=False)
class MarkerCloud:
    """Markers of one frame: positions (3, n) in metres, colours (n, 3) in linear light, and the volume (m^3, of full
    smoke) each of them stands for (n)."""

    position: NDArray[np.float32]
    colour: NDArray[np.float32]
    volume: NDArray[np.float32]

    @classmethod
    def of(
        cls, positions: Sequence[np.ndarray], colours: Sequence[NDArray[np.float32]], volumes: Sequence[float]
    ) -> MarkerCloud:
        """Several kinds of smoke as one cloud; a colour is (3,) for all or (n, 3) for each."""
        counts = [position.shape[1] for position in positions]
        tinted = [np.broadcast_to(colour, (n, 3)) for colour, n in zip(colours, counts)]
        volume = np.repeat(np.asarray(volumes, np.float32), counts)
        together = np.concatenate([np.asarray(p, np.float32) for p in positions], axis=1)
        return cls(together, np.concatenate(tinted).astype(np.float32), volume)


def speed_colours(velocity: np.ndarray, top: float) -> NDArray[np.float32]:
    """Colours (n, 3) of markers by speed, from dark at rest to bright at `top` m/s."""
    speed = np.sqrt(np.sum(np.asarray(velocity, np.float32) ** 2, axis=0))
    levels = magnitude_map(np.linspace(0.25, 1.0, 256))
    return levels[np.minimum(speed * (255.0 / max(top, 1e-9)), 255.0).astype(np.int64)]


def shades_of(cloud: MarkerCloud, light: KeyAndSky, up: str, extinction: float, word: np.uint64) -> Shades:
    """Light that reaches each marker, from this frame alone; `word` keys the random offsets."""
    out = np.empty((2, cloud.position.shape[1]), np.float32)
    for index, direction in enumerate((light.towards(up), up_vector(up))):
        out[index] = _shadow(cloud, direction, extinction, word + np.uint64(index))
    return out


def blended(shades: Sequence[Shades]) -> Shades:
    """This frame's shades first, then those of the frames before; markers that are new have only their own."""
    total, weight = BLEND[0] * shades[0], np.full(shades[0].shape[1], BLEND[0], np.float32)
    for share, older in zip(BLEND[1:], shades[1:]):
        known = older.shape[1]
        total[:, :known] += np.float32(share) * older
        weight[:known] += np.float32(share)
    return np.asarray(total / weight, np.float32)


def shade_key(seed: int, frame: int) -> np.uint64:
    """Keys the random offsets of a frame."""
    return key(seed, Stream.SHADOW, frame)


def render_markers(cloud: MarkerCloud, shades: Shades, view: View, extinction: float) -> NDArray[np.uint8]:
    """An sRGB picture (height, width, 3) of lit markers."""
    width, height = view.size
    camera, basis = view.camera, view.camera.basis(view.up)
    offset = cloud.position - np.asarray(camera.position, np.float32)[:, None]
    right, top, depth = _along(basis, offset)
    seen = np.flatnonzero(depth > 1e-3)
    order = seen[_back_to_front(depth[seen])]
    depth = depth[order]
    focal = np.float32(0.5 * height / math.tan(math.radians(camera.fov_degrees) / 2))
    scale = focal / depth
    x = np.float32(0.5 * width) + right[order] * scale
    y = np.float32(0.5 * height) - top[order] * scale
    volume = cloud.volume[order]
    radius = np.maximum(np.float32(_DISC) * np.cbrt(volume) * scale, np.float32(_LEAST_PIXELS))
    area = np.float32(extinction) * volume * scale * scale
    # The profile (1 - q)^2 over a disc holds a third of the disc's area.
    thickness = area / (np.float32(math.pi / 3) * radius * radius)
    colour = _lit(cloud, shades, view.light, view.up, basis[2])[order]
    image = view.backdrop.picture(width, height).reshape(-1)
    red, green, blue = (np.ascontiguousarray(colour[:, c]) for c in range(3))
    kernels.composite(x, y, radius, thickness.astype(np.float32), red, green, blue, height, width, image)
    return to_bytes(image.reshape(height, width, 3))


def _along(frame: np.ndarray, points: NDArray[np.float32]) -> list[NDArray[np.float32]]:
    """frame @ points, without BLAS, whose bits may depend on the number of threads."""
    return [a * points[0] + b * points[1] + c * points[2] for a, b, c in frame.astype(np.float32)]


def _lit(
    cloud: MarkerCloud, shades: Shades, light: KeyAndSky, up: str, forward: NDArray[np.float64]
) -> NDArray[np.float32]:
    """What each marker sends to the camera, linear light (n, 3)."""
    g = light.forward
    cosine = float(np.dot(light.towards(up), forward))
    phase = (1 - g * g) / (1 + g * g - 2 * g * cosine) ** 1.5
    direct = parse_colour(light.colour) * np.float32(light.strength * phase)
    sky = parse_colour(light.sky_colour) * np.float32(light.sky_strength)
    # Light that is scattered many times reaches deeper than direct light: a tenth of it fades half as fast.
    reached = np.float32(0.9) * shades[0] + np.float32(0.1) * np.sqrt(shades[0])
    return shoulder(cloud.colour * (reached[:, None] * direct + np.sqrt(shades[1])[:, None] * sky))


def _shadow(
    cloud: MarkerCloud, direction: NDArray[np.float64], extinction: float, word: np.uint64
) -> NDArray[np.float32]:
    """Share of far light from `direction` that reaches each marker."""
    axis = direction / np.linalg.norm(direction)
    across = np.cross(axis, [0.0, 0.0, 1.0] if abs(axis[2]) < 0.9 else [1.0, 0.0, 0.0])
    across /= np.linalg.norm(across)
    a, b, depth = _along(np.stack([across, np.cross(axis, across), -axis]), cloud.position)
    if a.size == 0:
        return np.ones(0, np.float32)
    texel = math.sqrt(extinction * float(cloud.volume.mean(dtype=np.float64)))
    a, b = a - a.min(), b - b.min()
    widest = max(float(a.max()), float(b.max()))
    texel = max(texel, widest / (MOST_TEXELS - 2), 1e-9)
    columns, rows = int(a.max() / texel) + 1, int(b.max() / texel) + 1
    chunks = 8 if rows * columns <= _CHUNK_TEXELS else 1
    maps = np.empty(chunks * rows * columns, np.float32)
    inverse = np.float32(1.0 / texel)
    kernels.insert(word, a, b, depth, inverse, np.float32(_SPREAD), columns, rows, chunks, maps)
    shadow_map = np.empty(rows * columns, np.float32)
    kernels.nearest(maps, chunks, shadow_map)
    out = np.empty(a.size, np.float32)
    kernels.shade(a, b, depth, inverse, columns, rows, shadow_map, REACH, np.float32(0.5 * texel), out)
    return out


def _back_to_front(depth: NDArray[np.float32]) -> NDArray[np.int64]:
    """The order by falling depth, in 65536 levels: a radix sort takes a tenth of the time of a full one."""
    if depth.size == 0:
        return np.zeros(0, np.int64)
    far, near = float(depth.max()), float(depth.min())
    levels = ((far - depth) * np.float32(65535.0 / max(far - near, 1e-9))).astype(np.uint16)
    return np.argsort(levels, kind="stable")
