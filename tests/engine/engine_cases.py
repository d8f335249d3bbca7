"""Grids, bodies and fields that the engine's tests share: odd unequal sizes, every kind of side, no zeros."""

from __future__ import annotations

from itertools import product

import numpy as np

from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.operators.registry import FORWARD_ONLY, REGISTER, Setting
from keyfluid.solids import Solids

SIDES = ("walls", "periodic", "open")
MIXTURES = {
    2: list(product(SIDES, repeat=2)),
    3: [
        *((side,) * 3 for side in SIDES),
        ("walls", "open", "periodic"),
        ("periodic", "walls", "open"),
        ("open", "periodic", "walls"),
    ],
}
SIZES = {2: (9, 7), 3: (7, 5, 6)}


def bodies(grid, dtype=np.float64, moving=True):
    """A ball inside, and one around the origin that crosses the first side of every axis."""

    def distance(*x):
        inside = sum((a - c) ** 2 for a, c in zip(x, (0.55, 0.45, 0.5))) - 0.2**2
        corner = sum(a**2 for a in x) - (1.6 * grid.spacing) ** 2
        return np.minimum(inside, corner)

    speed = [0.1, -0.2, 0.15][: grid.dim] if moving else None
    return Solids.from_distance(grid, distance, speed, dtype)


ALL_OPERATORS = {**REGISTER, **FORWARD_ONLY}


def setting(cells, sides, solid, dtype=np.float64, seed=1):
    grid = Grid(cells, boundary=sides)
    return Setting(grid, bodies(grid, dtype) if solid else None, np.random.default_rng(seed), np.dtype(dtype))


def built(name, cells, sides, solid, dtype=np.float64, seed=1):
    """A registered operator, its inputs, and the setting they were made for."""
    at = setting(cells, sides, solid, dtype, seed)
    operator, inputs = ALL_OPERATORS[name](at)
    return operator, inputs, at


def label(sides, solid):
    return "-".join(sides) + ("-bodies" if solid else "")


SETTINGS = [(SIZES[dim], sides, solid) for dim in (2, 3) for sides in MIXTURES[dim] for solid in (False, True)]
SETTING_IDS = [f"{len(cells)}d-{label(sides, solid)}" for cells, sides, solid in SETTINGS]


def stacked(fields):
    return np.concatenate([f.data for f in fields])


def mirrored(field, axis):
    """The field seen in a mirror across `axis`; the component across it changes sign."""
    grid, out = field.grid, []
    for a, (place, values) in enumerate(zip(field.kind.places(grid.dim), field.components())):
        image = np.flip(values, axis)
        if place[axis] and grid.is_periodic(axis):
            image = np.roll(image, 1, axis)
        out.append(-image if field.kind is Kind.FACES and a == axis else image)
    return Field.of(grid, field.kind, *out)


def same_bits(left, right):
    return all(a.data.tobytes() == b.data.tobytes() for a, b in zip(left, right, strict=True))
