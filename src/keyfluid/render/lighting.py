"""Light in a volume: what reaches each cell from one far key light and from the sky, past smoke and solids.

The sky is a hemisphere about the up axis. Both lights are carried through the grid by sweeps
(kernels/raymarch.py), and rays then gather what the cells scatter. All of it is in linear light.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from keyfluid.errors import KeyfluidError
from keyfluid.render.camera import Vector, turn_about_up, up_vector
from keyfluid.render.colour import Colour, parse_colour
from keyfluid.render.field import ColouredField, stacked

SOLID_COLOUR = "#b0a89d"
OPTICAL_DEPTH = 32.0
"""Default optical depth of full smoke as deep as the domain's longest side."""

_SOFTENING = np.array([0.25, 0.5, 0.25], np.float32)
"""Along each axis, before light and rays: linear interpolation of an edge one cell wide shows every layer of cells as a
ring. As wide as a Gaussian of 0.7 cells, about as in 2D pictures."""

_SKY_RATIO = 2  # the sky's visibility is smooth: its cells are twice as large


@dataclass(frozen=True)
class KeyAndSky:
    """A far key light and the sky.

    `direction` points to the light; None is up and to the left of the default camera. `forward` is Henyey and
    Greenstein's g: above 0, smoke glows when seen against the light.
    """

    direction: Vector | None = None
    colour: Colour = "#fff1de"
    strength: float = 1.5
    sky_colour: Colour = "#9fbdf0"
    sky_strength: float = 0.38
    forward: float = 0.25

    def towards(self, up: str) -> NDArray[np.float64]:
        """The unit vector to the light."""
        direction = self.direction
        if direction is None:
            direction = (-0.72, 0.66, 0.12) if up == "y" else (-0.72, -0.12, 0.66)
        vector = np.asarray(direction, np.float64)
        length = np.linalg.norm(vector)
        if vector.shape != (3,) or not np.isfinite(length) or length == 0.0:
            raise KeyfluidError("light.direction: must be three numbers that are not all 0")
        if not -1.0 < self.forward < 1.0:
            raise KeyfluidError(f"light.forward: is {self.forward}; give a number between -1 and 1")
        return vector / length


def transmittance_to(
    direction: NDArray[np.float64], extinction: NDArray[np.float32], covered: NDArray[np.float32]
) -> NDArray[np.float32]:
    """How much light from far away in `direction` reaches each cell centre; extinction per cell."""
    from keyfluid.render.kernels.raymarch import sweep_light

    lead = int(np.argmax(np.abs(direction)))
    order = (lead, *(axis for axis in range(3) if axis != lead))
    flip = slice(None, None, -1 if direction[lead] > 0 else 1)
    shift = -direction[list(order[1:])] / abs(direction[lead])
    swept = sweep_light(
        np.ascontiguousarray(extinction.transpose(order)[flip]),
        np.ascontiguousarray(covered.transpose(order)[flip]),
        float(shift[0]),
        float(shift[1]),
        float(1.0 / abs(direction[lead])),
    )
    return np.ascontiguousarray(swept[flip].transpose(np.argsort(order)))


def sky_visibility(extinction: NDArray[np.float32], covered: NDArray[np.float32], up: str) -> NDArray[np.float32]:
    """The part of the sky each coarse cell sees, softened: a mean of T^(1/2) over five directions."""
    top = up_vector(up)
    coarse, blocked = _halved(extinction) * np.float32(_SKY_RATIO), _halved(covered)
    total = np.float32(0.32) * np.sqrt(transmittance_to(top, coarse, blocked))
    for quarter in range(4):
        direction = 0.6 * top + 0.8 * turn_about_up([1.0, 0.0, 0.0], 20.0 + 90.0 * quarter, up)
        total += np.float32(0.17) * np.sqrt(transmittance_to(direction, coarse, blocked))
    return total


def _softened(stack: NDArray[np.float32]) -> NDArray[np.float32]:
    from scipy.ndimage import convolve1d

    for axis in range(1, stack.ndim):
        stack = convolve1d(stack, _SOFTENING, axis=axis, mode="nearest")
    return stack


def _halved(volume: NDArray[np.float32]) -> NDArray[np.float32]:
    """Means over 2x2x2 cells; an odd side repeats its last layer."""
    for axis, count in enumerate(volume.shape):
        even = [slice(None)] * 3
        odd = [slice(None)] * 3
        even[axis] = slice(0, None, 2)
        odd[axis] = slice(1, None, 2)
        first = volume[tuple(even)]
        second = (
            volume[tuple(odd)] if count % 2 == 0 else np.concatenate([volume[tuple(odd)], first.take([-1], axis)], axis)
        )
        volume = (first + second) * np.float32(0.5)
    return volume


def signed_distance_in_cells(solid: NDArray, spacing: float) -> NDArray[np.float32]:
    """The solids' signed distance in cells, negative inside, from a mask of cells or a distance in metres."""
    if solid.dtype != np.bool_:
        return np.ascontiguousarray(solid, np.float32) / np.float32(spacing)
    if solid.all() or not solid.any():
        return np.full(solid.shape, -1.0 if solid.all() else float(sum(solid.shape)), np.float32)
    from scipy.ndimage import distance_transform_edt, gaussian_filter

    distance = distance_transform_edt(~solid) - distance_transform_edt(solid)
    distance -= 0.5 * np.sign(distance)
    return gaussian_filter(distance, 1.3, mode="nearest").astype(np.float32)


class LitVolume:
    """Fields and solids with their light, ready for rays. Points are in metres; the domain begins at 0."""

    def __init__(
        self,
        fields: Sequence[ColouredField],
        spacing: float,
        light: KeyAndSky,
        eye: Vector,
        solid: NDArray | None = None,
        up: str = "y",
        extinction: float | None = None,
    ) -> None:
        from keyfluid.render.kernels.raymarch import occupied, shade

        stack = _softened(stacked(fields, 3))
        shape = stack.shape[1:]
        if not (math.isfinite(spacing) and spacing > 0):
            raise KeyfluidError(f"the spacing is {spacing}; it must be above 0")
        if solid is not None and solid.shape != shape:
            raise KeyfluidError(f"the solids have shape {solid.shape} and the fields {shape}; they must be the same")
        self.spacing = spacing
        self.size = tuple(n * spacing for n in shape)
        self.to_light = light.towards(up)
        per_cell = np.float32(OPTICAL_DEPTH / max(shape) if extinction is None else extinction * spacing)
        total = stack.sum(axis=0) * per_cell
        if solid is None:
            self._distance = np.empty((0, 0, 0), np.float32)
            covered = np.zeros(shape, np.float32)
        else:
            self._distance = signed_distance_in_cells(solid, spacing)
            covered = np.clip(np.float32(0.5) - self._distance, 0, 1)
        self._key = transmittance_to(self.to_light, total, covered)
        self._sky = sky_visibility(total, covered, up)
        self._key_colour = parse_colour(light.colour) * np.float32(light.strength)
        self._sky_colour = parse_colour(light.sky_colour) * np.float32(light.sky_strength)
        self._solid_colour = parse_colour(SOLID_COLOUR)
        self._packed = shade(
            stack,
            np.stack([parse_colour(field.colour) for field in fields]),
            per_cell,
            self._key,
            self._sky,
            _SKY_RATIO,
            (np.asarray(eye) / spacing).astype(np.float32),
            self.to_light.astype(np.float32),
            self._key_colour,
            self._sky_colour,
            float(light.forward),
        )
        self._full = occupied(self._packed)

    def march(
        self, origins: NDArray[np.float64], directions: NDArray[np.float64], step: float = 0.5
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Along rays (m, 3): light and transmittance (m, 4), and the distance in cells to the solid hit, or 0."""
        from keyfluid.render.kernels.raymarch import march

        bundles = -(-len(origins) // 256)
        stride = max(1, round(0.618 * bundles))
        while math.gcd(stride, bundles) != 1:
            stride += 1
        return march(
            self._packed,
            self._full,
            self._distance,
            self._key,
            self._sky,
            _SKY_RATIO,
            self.to_light.astype(np.float32),
            self._key_colour,
            self._sky_colour,
            self._solid_colour,
            np.ascontiguousarray(origins / self.spacing),
            np.ascontiguousarray(directions),
            float(step),
            stride,
        )
