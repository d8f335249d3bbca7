"""Frames as a VDB sequence: vdb/NAME.1001.vdb.

Grids (Houdini's names; `output.names = "blender"` in brackets): one fog volume per kind of smoke, `density` for the
sum where there are several, with `Cd` [color] for their mixed colour; `temperature`, kelvin above the air around, where
something is warm; `vel` [velocity], `force`, vectors at cell centres; `target` at keyframes. Of a liquid `surface`, a
level set, in place of densities. 2D is a slab one voxel thick.
The centre of cell i lies at (i + 1/2) dx; `output.up` turns the transform and the vectors about x.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from keyfluid.fields import Field
from keyfluid.io.vdb import VdbGrid, cell_transform, write_vdb
from keyfluid.io.vdb.grid import MetadataValue
from keyfluid.render.colour import parse_colour
from keyfluid.runs.frames import Frame
from keyfluid.runs.pictures import centred, colour_of
from keyfluid.scenes.build.problem import BuiltScene

_NAMES = {"houdini": {"vel": "vel", "Cd": "Cd"}, "blender": {"vel": "velocity", "Cd": "color"}}
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
    write_vdb(path, grids_of(problem, frame), metadata, half=output.half)


def grids_of(problem: BuiltScene, frame: Frame) -> list[VdbGrid]:
    names = _NAMES[problem.scene.output.names]
    turn = turn_of(problem)
    transform = np.eye(4)
    transform[:3, :3] = turn
    transform = transform @ cell_transform(problem.grid.spacing)

    def fog(name: str, values: np.ndarray) -> VdbGrid:
        return VdbGrid(name, _deep(values), transform=transform, grid_class="fog volume")

    def vectors(name: str, field: Field) -> VdbGrid:
        parts = [_deep(part) for part in centred(field)]
        parts += [np.zeros_like(parts[0])] * (3 - len(parts))
        data = np.stack(parts, axis=-1) @ turn.T.astype(field.dtype)
        return VdbGrid(name, data, transform=transform, vector_type="contravariant relative")

    def level_set(name: str, phi: np.ndarray) -> VdbGrid:
        band = BAND * problem.grid.spacing
        return VdbGrid(name, _deep(phi), transform=transform, grid_class="level set", background=band)

    if frame.surface is not None:
        grids = [level_set("surface", frame.surface)]
    else:
        grids = [fog(name, values) for name, values in frame.densities.items()]
    if len(frame.densities) > 1:
        total = sum(frame.densities.values())
        if "density" not in frame.densities:
            grids.append(fog("density", np.asarray(total)))
        grids.append(VdbGrid(names["Cd"], _mixed_colour(problem, frame), transform=transform))
    if frame.temperature is not None:
        grids.append(fog("temperature", frame.temperature))
    grids.append(vectors(names["vel"], frame.velocity))
    if frame.force is not None:
        grids.append(vectors("force", frame.force))
    targets = [key.target for key in problem.keyframes if key.frame == frame.index]
    if targets:
        grids.append(fog("target", np.sum(targets, axis=0)))
    return grids


def turn_of(problem: BuiltScene) -> np.ndarray:
    """From the scene's axes to those of files."""
    have, want = problem.scene.domain.up, problem.scene.output.up or problem.scene.domain.up
    if have == want:
        return np.eye(3)
    return _TO_Z_UP if want == "z" else _TO_Z_UP.T


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
