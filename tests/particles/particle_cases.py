"""Small scenes and helpers for the tests of method particles."""

from __future__ import annotations

import numpy as np

from keyfluid.controllers.particles.lattice import Lattice
from keyfluid.grid import Grid

SCENE = """
name = "small"
seed = 5
[domain]
size = [1.0, 0.9, 0.8]
resolution = 20
[time]
fps = 30
frames = 5
[smoke]
initial = { shape = "sphere", center = [0.35, 0.4, 0.4], radius = 0.14 }
[[source]]
shape = "sphere"
center = [0.7, 0.3, 0.4]
radius = 0.12
rate = 20.0
velocity = [0.0, 0.4, 0.0]
stop = 3
[[keyframe]]
frame = 2
shape = "box"
center = [0.6, 0.5, 0.4]
[[keyframe]]
frame = 5
shape = "torus"
radius = 0.2
thickness = 0.08
[control]
method = "particles"
markers = 3000
control_particles = 200
vortices = 80
velocity_cells = 20
vortex_radius = 0.08
[output]
vdb = false
video = false
size = 48
"""


def cube(cells: int = 16, longest: float = 1.0, dtype=np.float32) -> Lattice:
    return Lattice.of_grid(Grid((cells, cells, cells), longest / cells), np.dtype(dtype))


def points(count: int, seed: int = 0, low: float = 0.2, high: float = 0.8, dtype=np.float32) -> np.ndarray:
    return np.random.default_rng(seed).uniform(low, high, (3, count)).astype(dtype)
