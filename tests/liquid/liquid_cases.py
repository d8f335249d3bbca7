"""Small liquids that the tests share."""

from __future__ import annotations

import numpy as np

from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.models.liquid import filled
from keyfluid.operators.redistance import Redistance

SCENE = """
name = "pond"
[domain]
size = [1.0, 0.75]
resolution = 20
[time]
frames = 4
fps = 12
[liquid]
initial = {{ shape = "disk", center = [0.42, 0.35], radius = 0.2 }}
gravity = 1.0
viscosity = 0.02
[[keyframe]]
frame = 4
shape = "box"
center = [0.5, 0.35]
size = [0.4, 0.3]
[output]
vdb = false
video = false
size = 32
[control]
{control}
"""


def surface(grid, shape):
    """A level set from a function of x, y(, z), redistanced."""
    return Redistance(grid).forward(Field.from_function(grid, Kind.CENTRES, shape))[0]


def disk(grid, centre=(0.48, 0.4), radius=0.22):
    return surface(grid, lambda *x: np.sqrt(sum((a - c) ** 2 for a, c in zip(x, centre))) - radius)


def step(model, state, index, **inputs):
    return model.step(state, inputs, index)


def volume(state):
    phi = state["surface"]
    return float(filled(phi.data.astype(np.float64), phi.grid.spacing).sum()) * phi.grid.cell_volume


def square(n):
    return Grid((n, n))
