"""Figure 4 of McNamara et al. 2004: a drop of clay falls to the floor, and only then becomes a cross, a ring, a man."""

from __future__ import annotations

from pathlib import Path

import trimesh
from _liquid_common import HEAD, draw, solve
from _particles_assets import Bone, mesh_of
from _shots_common import chosen

FALL = """
[domain]
size = [1.0, 0.92, 1.0]
resolution = 50
[time]
frames = 20
[liquid]
initial = {{ shape = "sphere", center = [0.5, {height}, 0.5], volume = "first-key" }}
gravity = 9.81
viscosity = 0.5
colour = "#c0764a"
[[keyframe]]
frame = 20
{key}
[camera]
position = [1.1, 2.0, 1.9]
floor = true
[control]
method = "spectral"
act = [8, 20]
"""
FLAT = "center = [0.5, 0.1, 0.5]\nrotation = [90, 0, 0]\n"
"""Sides lie between cells: where they halve cells, an IoU of full cells is a matter of rounding."""
KEYS = {
    "cross": (0.62, FLAT + 'shape = "cross"\nsize = 0.64\nthickness = 0.2\ndepth = 0.16'),
    "ring": (0.62, FLAT + 'shape = "torus"\nradius = 0.24\nthickness = 0.16'),
    "man": (0.62, 'mesh = "{mesh}"\nfit = 0.8\ncenter = [0.5, 0.11, 0.5]'),
}
"""Height of the drop's centre, so that it hangs at least its diameter above the floor; and the keyframe."""


def figures() -> None:
    print("### Figure 4: a clay drop falls for 8 frames, and is formed in 12, 50 x 46 x 50\n\n" + HEAD)
    less = chosen.pick([], [], ["domain.resolution=24", "control.iterations=2"])
    mesh = _gingerbread(chosen.scratch / "man.obj")
    for name, (height, key) in KEYS.items():
        shot = solve(name, FALL.format(height=height, key=key.format(mesh=mesh)), less)
        draw(shot.result, f"figure4_{name}", (0, 4, 7, 8, 10, 12, 14, 16, 18, 20), columns=6)
    print()


def _gingerbread(path: Path) -> Path:
    """A man of capsules who lies on his back, his head towards -z."""
    bones = [Bone("head", (0, 0, -0.27), (0, 0, -0.26), 0.1), Bone("body", (0, 0, -0.1), (0, 0, 0.1), 0.1)]
    for side in (-1.0, 1.0):
        bones.append(Bone("arm", (0.06 * side, 0, -0.09), (0.28 * side, 0, -0.15), 0.065))
        bones.append(Bone("leg", (0.05 * side, 0, 0.12), (0.15 * side, 0, 0.34), 0.075))
    vertices, faces, _, _ = mesh_of(bones)
    trimesh.Trimesh(vertices, faces, process=False).export(path)
    return path
