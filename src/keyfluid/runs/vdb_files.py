"""Frames as a VDB sequence: vdb/NAME.1001.vdb.

Grids (Houdini's names; `output.names = "blender"` in brackets, "both" has these grids twice): one fog volume per kind
of smoke, `density` for the sum where there are several, with `Cd` [color] for their mixed colour; `temperature`, kelvin
above the air around, where something is warm; `vel` [velocity], `force`, vectors at cell centres; `target` at its
frame. Of a liquid `surface`, a level set, in place of densities. 2D is a slab one voxel thick.
The centre of cell i lies at (i + 1/2) dx; `output.up` turns the transform and the vectors about x.

Active are the voxels with smoke above `output.threshold`; of vectors and colours also those that share a face with one,
which interpolation towards the outline reads, and in a liquid those inside it and in the band of its level set, where
the velocity is that of the nearest liquid (file_velocity.py).
`output.grids` chooses among the kinds of grids. Velocities are metres per second, a half width is three voxels.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from keyfluid.fields import Field
from keyfluid.io.vdb import VdbGrid, cell_transform, write_vdb
from keyfluid.io.vdb.grid import MetadataValue
from keyfluid.render.colour import parse_colour
from keyfluid.runs.file_velocity import file_velocity
from keyfluid.runs.frames import Frame
from keyfluid.runs.pictures import centred, colour_of
from keyfluid.scenes.build.problem import BuiltScene
from keyfluid.scenes.schema.scene import GridKind

_VELOCITY = {"houdini": ("vel",), "blender": ("velocity",), "both": ("vel", "velocity")}
_COLOUR = {"houdini": ("Cd",), "blender": ("color",), "both": ("Cd", "color")}
_HALF_PEAKS = (0.1, 3e4)
"""Peak densities that half precision holds well: a thousandth of the least is normal, twice the most is finite."""
BAND = 3.0
"""Half width of a level set's band, cells: what Houdini and Blender expect."""

_TO_Z_UP = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
"""(x, y, z) with y up to (x, -z, y) with z up: a quarter turn about x."""


def write_frame(path: Path, problem: BuiltScene, frame: Frame) -> None:
    """One file of the sequence."""
    output = problem.scene.output
    metadata: dict[str, MetadataValue] = {
        "creator": "keyfluid",
        "fps": float(problem.fps),
        "frame": output.start_frame + frame.index,
        "time": frame.index / problem.fps,
        "units": "metres, seconds",
    }
    write_vdb(path, grids_of(problem, frame), metadata)


def grids_of(problem: BuiltScene, frame: Frame) -> list[VdbGrid]:
    """The grids of a frame that `output.grids` asks for."""
    output = problem.scene.output
    turn, transform = turn_of(problem), transform_of(problem)
    peak = max(problem.peaks.values(), default=1.0)
    around = _around(problem, frame)

    def fog(name: str, values: np.ndarray, full: float) -> VdbGrid:
        active = _above(_deep(values), output.threshold * full)
        half = output.half is True or (output.half == "density" and _HALF_PEAKS[0] <= full <= _HALF_PEAKS[1])
        return VdbGrid(name, _deep(values), transform=transform, grid_class="fog volume", active=active, half=half)

    def vectors(name: str, field: Field) -> VdbGrid:
        parts = [_deep(part) for part in centred(field)]
        parts += [np.zeros_like(parts[0])] * (3 - len(parts))
        data = np.stack(parts, axis=-1) @ turn.T.astype(field.dtype)
        return VdbGrid(
            name, data, transform=transform, vector_type="contravariant relative", active=around,
            half=output.half is True,
        )  # fmt: skip

    found: list[tuple[GridKind, VdbGrid]] = []
    if frame.surface is not None:
        band = BAND * problem.grid.spacing
        level_set = VdbGrid(
            "surface", _deep(frame.surface), transform=transform, grid_class="level set", background=band,
            half=output.half is True,
        )  # fmt: skip
        found.append(("surface", level_set))
    else:
        found += [("density", fog(name, values, problem.peaks[name])) for name, values in frame.densities.items()]
    if len(frame.densities) > 1:
        if "density" not in frame.densities:
            found.append(("density", fog("density", np.asarray(sum(frame.densities.values())), peak)))
        mixed = _mixed_colour(problem, frame)
        for name in _COLOUR[output.names]:
            colour = VdbGrid(name, mixed, transform=transform, active=around, half=output.half is not False)
            found.append(("colour", colour))
    if frame.temperature is not None:
        found.append(("temperature", fog("temperature", frame.temperature, float(frame.temperature.max()))))
    if output.grids is None or "velocity" in output.grids:
        moving = file_velocity(problem, frame)
        found += [("velocity", vectors(name, moving)) for name in _VELOCITY[output.names]]
    if frame.force is not None:
        found.append(("force", vectors("force", frame.force)))
    targets = [key.target for key in problem.keyframes if key.frame == frame.index]
    if targets:
        found.append(("target", fog("target", np.sum(targets, axis=0), peak)))
    return [grid for kind, grid in found if output.grids is None or kind in output.grids]


def transform_of(problem: BuiltScene) -> np.ndarray:
    """From voxels to metres in the axes of files."""
    transform = np.eye(4)
    transform[:3, :3] = turn_of(problem)
    return transform @ cell_transform(problem.grid.spacing)


def turn_of(problem: BuiltScene) -> np.ndarray:
    """From the scene's axes to those of files."""
    have, want = problem.scene.domain.up, problem.scene.output.up or problem.scene.domain.up
    if have == want:
        return np.eye(3)
    return _TO_Z_UP if want == "z" else _TO_Z_UP.T


def _above(values: np.ndarray, level: float) -> np.ndarray | None:
    """The voxels that are stored; None, and so all that are not 0, where there is no threshold."""
    return values > level if level > 0 else None


def _around(problem: BuiltScene, frame: Frame) -> np.ndarray | None:
    """Where vectors and colours are stored: in the fluid, and in the voxels that share a face with it."""
    threshold = problem.scene.output.threshold
    if threshold == 0:
        return None
    if frame.surface is not None:
        return np.asarray(_deep(frame.surface) < BAND * problem.grid.spacing)
    smoke = [values > threshold * problem.peaks[name] for name, values in frame.densities.items()]
    mask = _deep(np.any(smoke, axis=0))
    wider = mask.copy()
    for axis in range(3):
        lower, upper = (_cut(axis, slice(None, -1)), _cut(axis, slice(1, None)))
        wider[lower] |= mask[upper]
        wider[upper] |= mask[lower]
    return wider


def _cut(axis: int, part: slice) -> tuple[slice, ...]:
    return tuple(part if a == axis else slice(None) for a in range(3))


def _deep(values: np.ndarray) -> np.ndarray:
    """2D as one layer of voxels."""
    return values if values.ndim == 3 else values[:, :, None]


def _mixed_colour(problem: BuiltScene, frame: Frame) -> np.ndarray:
    """Mean of the fields' colours (linear light) weighted by density; 0 where there is no smoke."""
    total = np.asarray(sum(frame.densities.values()))
    mixed = np.zeros((*total.shape, 3), np.float32)
    for name, values in frame.densities.items():
        mixed += values[..., None] * parse_colour(colour_of(problem, name))
    mixed /= np.where(total > 0, total, 1)[..., None]
    return mixed if mixed.ndim == 4 else mixed[:, :, None, :]
