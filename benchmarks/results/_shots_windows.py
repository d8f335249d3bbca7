"""Twelve windows of 30 frames from one shape to another: holes close, open and move. Compared blurred first, and not.
Then three shapes one after the other by "adjoint", along paths and by the grid."""

from __future__ import annotations

import tempfile

import numpy as np
from _shots_common import OUTPUT, chosen, table
from _shots_long import SHAPES, scene

import keyfluid

SCENE = """
name = "window"
[domain]
resolution = {size}
[time]
frames = {frames}
[smoke]
initial = {{ {first} }}
[[keyframe]]
frame = {frames}
{last}
[control]
method = "spectral"
"""
RING = 'shape = "ring"\ncenter = [0.54, 0.5]\nradius = 0.2\nthickness = 0.1'
BOX = 'shape = "box"\ncenter = [0.45, 0.45]\nsize = [0.5, 0.22]'
EIGHT = 'text = "8"\nfit = 0.5'
AMPERSAND = 'text = "&"\nfit = 0.5'
WINDOWS = {
    "8 to box": (EIGHT, BOX),
    "B to star": ('text = "B"\nfit = 0.5', 'shape = "star"\nradius = 0.24'),
    "A to disk": ('text = "A"\nfit = 0.5', 'shape = "disk"\ncenter = [0.5, 0.55]\nradius = 0.2'),
    "ring to heart": (RING, 'shape = "heart"\ncenter = [0.46, 0.46]\nsize = 0.4'),
    "disk to 8": ('shape = "disk"\nradius = 0.2', EIGHT),
    "star to ring": ('shape = "star"\ncenter = [0.45, 0.5]\nradius = 0.24', RING),
    "& to star": (AMPERSAND, 'shape = "star"\ncenter = [0.55, 0.5]\nradius = 0.24'),
    "box to &": (BOX, AMPERSAND),
    "S to cross": ('text = "S"\nfit = 0.55', 'shape = "cross"\nsize = 0.45'),
    "star to A": ('shape = "star"\nradius = 0.22', 'text = "A"\nfit = 0.5'),
    "heart to 6": ('shape = "heart"\nsize = 0.4', 'text = "6"\nfit = 0.5'),
    "T to H": ('text = "T"\nfit = 0.5', 'text = "H"\nfit = 0.5'),
}


def run() -> None:
    size, frames = chosen.pick((64, 30), (64, 30), (24, 6))
    rows: list[dict[str, object]] = []
    for name, (first, last) in WINDOWS.items():
        text = SCENE.format(size=size, frames=frames, first=first.replace("\n", ", "), last=last) + OUTPUT
        row: dict[str, object] = {"window": name}
        for label, gamma in (("blurred first", "auto"), ("not blurred", "none")):
            (row[label],) = _errors(text, [f'control.gamma="{gamma}"'])
        rows.append(row)
        print(f"{table(rows[-1:])}\n", flush=True)
    summary: list[dict[str, object]] = [
        {
            "window": word,
            **{label: float(of([row[label] for row in rows])) for label in ("blurred first", "not blurred")},
        }
        for word, of in (("mean", np.mean), ("most", np.max))
    ]
    print(f"\n{table([*rows, *summary])}\n")
    text = scene(size, chosen.pick(20, 20, 6), SHAPES[:3])
    adjoint = ["control.method=adjoint", "control.schedule=sequence"]
    film = [
        {
            "adjoint, smoke carried": label,
            "errors": " ".join(f"{error:.3f}" for error in _errors(text, [*adjoint, *sets])),
        }
        for label, sets in (("along paths", []), ("by the grid", ["control.paths=0"]))
    ]
    print(f"{table(film)}\n")


def _errors(text: str, sets: list[str]) -> list[float]:
    with tempfile.TemporaryDirectory(dir=chosen.scratch) as folder:
        result = keyfluid.run(text, folder, overwrite=True, overrides=sets, threads=chosen.threads)
        return [float(key["relative_error"]) for key in result.metrics["keyframes"]]
