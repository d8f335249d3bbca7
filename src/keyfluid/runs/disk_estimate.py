"""Bytes that the folder of a finished run will take, worked out from the scene.

Fields pack by shares that hardly depend on the scene (io/packed.py; benchmarks/folder_size.py compares the whole with
six runs). Voxels of VDB files are counted around the start, the targets and what sources give: smoke spreads by a few
cells on its way.
"""

from __future__ import annotations

import numpy as np

from keyfluid.controllers.method import Plan
from keyfluid.grid import Kind
from keyfluid.runs.vdb_files import BAND
from keyfluid.scenes.build.problem import BuiltScene

_DENSITY, _VELOCITY, _FORCE, _VECTOR = 0.3, 0.62, 0.68, 0.9
_ONE_CARRIER, _EACH_CARRIER = 0.54, 0.46
"""Bytes over plain ones, of packed arrays; several carriers of a frame predict each other."""

_IN_LIQUID = 0.65
"""The same beside those of smoke: the velocity of a liquid is zero away from it."""

_NEAR_MARKERS = 0.15
"""The same for a velocity that particles made."""

_NO_FORCE = ("none", "particles", "guided")
"""Methods whose frames have no force."""

_SPREAD = {"target": 5, "particles": 1}
_USUAL_SPREAD = 3
"""Cells that smoke spreads on its way, the mean over a film."""

_VOXEL = {"density": 3.2, "surface": 3.4, "colour": 8.0, "velocity": 10.8, "force": 10.8}
_LEAF, _NODES = 140.0, 10_000.0
"""Bytes in VDB files: of an active voxel, of a leaf, and of the upper nodes and the header of a grid."""

_FILM, _STILLS, _FORCE_MAPS = 0.02, 4.0, 6.5
"""Bytes per pixel: of a film's frame, of strip and report, and of the report's maps of forces."""

_CROSSING = 184.0
"""Bytes of a surface mesh, velocities included, for each edge of the grid that it cuts."""

_USD = 2.3
"""Bytes of a mesh and its velocities in USD, as text, over those of its PLY file."""


def disk_bytes(problem: BuiltScene, plan: Plan, steps: float) -> int:
    """steps: of a frame, where the plan does not know them."""
    output, frames = problem.scene.output, problem.frames + 1
    total = _pictures(problem)
    if output.keep != "scene":
        total += frames * (_fields(problem, plan.steps or steps) + plan.frame_bytes)
        total += plan.stored_bytes if output.keep == "all" else _VECTOR * plan.kept_bytes
    if output.vdb:
        total += frames * _vdb(problem)
    if problem.fluid.mesh and problem.grid.dim == 3:
        total += frames * _mesh(problem) * (1 + (_USD if output.usd else 0))
    return round(total)


def frame_in_memory(problem: BuiltScene, steps: float) -> int:
    """Bytes of one frame of a run without a folder: state, mean force, and the velocities of its steps."""
    grid, item = problem.grid, problem.dtype.itemsize
    faces = 1.0
    if problem.keyframes and problem.method not in _NO_FORCE:
        faces += 1
    if problem.keeps_carriers and problem.method != "particles":
        faces += steps
    return round(item * (len(problem.carried) * grid.count + faces * grid.value_count(Kind.FACES)))


def _fields(problem: BuiltScene, steps: float) -> float:
    """Bytes of one frame."""
    grid, item = problem.grid, problem.dtype.itemsize
    velocity = _VELOCITY
    if problem.fluid.mesh:
        velocity *= _IN_LIQUID
    elif problem.method == "particles":
        velocity *= _NEAR_MARKERS
    share = velocity
    if problem.keyframes and problem.method not in _NO_FORCE:
        share += _FORCE
    if problem.keeps_carriers and problem.method != "particles":  # there the velocity is the only carrier
        share += _EACH_CARRIER * steps if steps > 1 else _ONE_CARRIER
    return item * (_DENSITY * len(problem.carried) * grid.count + share * grid.value_count(Kind.FACES))


def _vdb(problem: BuiltScene) -> float:
    """One file, of the mean over the film."""
    output, dim = problem.scene.output, problem.grid.dim
    steered = bool(problem.keyframes) and problem.method not in _NO_FORCE
    smoke, around = _active_voxels(problem)
    counts = {"density": len(problem.carried) * smoke, "velocity": around, "force": around if steered else 0.0}
    if problem.fluid.mesh:
        counts = {"surface": smoke, "velocity": around, "force": counts["force"]}
    if len(problem.densities) > 1:
        counts |= {"density": counts["density"] + around, "colour": around}
    kinds = [kind for kind, count in counts.items() if count and (output.grids is None or kind in output.grids)]
    leaf = 64 if dim == 2 else 512
    filled = 0.35  # of a leaf that has active voxels
    bytes_each = {kind: _VOXEL[kind] * (2 / 3 if dim == 2 and _VOXEL[kind] > 4 else 1) for kind in kinds}
    halved = kinds if output.half is True else ("density", "colour") if output.half == "density" else ()
    return sum(
        (0.5 if kind in halved else 1.0) * bytes_each[kind] * counts[kind]
        + _LEAF * counts[kind] / (filled * leaf)
        + _NODES
        for kind in kinds
    )


def _active_voxels(problem: BuiltScene) -> tuple[float, float]:
    """Active voxels of a density or surface, and those of a vector."""
    grid, threshold = problem.grid, problem.scene.output.threshold
    if problem.fluid.mesh:
        (surface,) = (field.array for field in problem.densities.values())
        distance = surface / grid.spacing
        return float(np.count_nonzero(np.abs(distance) < BAND)), float(np.count_nonzero(distance < BAND))
    spread = _SPREAD.get(problem.method, _USUAL_SPREAD)
    peak = max(problem.peaks.values(), default=1.0)
    start = np.sum([field.array for field in problem.densities.values()], axis=0)
    shapes = [start, *(key.target for key in problem.keyframes[-1:])]
    found = [(_near(shape > threshold * peak, spread), _near(shape > threshold * peak, spread + 1)) for shape in shapes]
    given = sum(_given(problem, index, spread) for index in range(len(problem.sources)))
    return tuple(min(float(np.mean(counts)) + given, grid.count) for counts in zip(*found))  # type: ignore[return-value]


def _near(mask: np.ndarray, cells: int) -> float:
    """Voxels of a mask and around it."""
    for _ in range(cells):
        wider = mask.copy()
        for axis in range(mask.ndim):
            line, before = np.moveaxis(wider, axis, 0), np.moveaxis(mask, axis, 0)
            line[1:] |= before[:-1]
            line[:-1] |= before[1:]
        mask = wider
    return float(np.count_nonzero(mask))


def _given(problem: BuiltScene, index: int, spread: int) -> float:
    """Voxels that the smoke of a source fills, the mean over the film: its mouth, and what it blows, widened."""
    source, grid = problem.sources[index], problem.grid
    mouth = float(np.count_nonzero(source.mask > 0))
    speed = max(map(abs, source.velocity)) if source.velocity is not None else 0.0
    seconds = 0.5 * problem.frames / problem.fps
    filled = mouth + mouth ** (1 - 1 / grid.dim) * speed * seconds / grid.spacing
    radius = (filled / (2 * np.pi if grid.dim == 2 else 4.2)) ** (1 / grid.dim)
    return float(filled * (1 + spread / max(radius, 1.0)) ** grid.dim)


def _mesh(problem: BuiltScene) -> float:
    """One surface mesh; it is closed where the liquid touches the box."""
    (surface,) = (np.pad(field.array < 0, 1) for field in problem.densities.values())
    cuts = sum(np.count_nonzero(np.diff(surface, axis=axis)) for axis in range(3))
    return _CROSSING * float(cuts)


def _pictures(problem: BuiltScene) -> float:
    output, sides = problem.scene.output, sorted(problem.grid.size[:2])
    pixels = output.size**2 * sides[0] / sides[1]
    steered = bool(problem.keyframes) and problem.method not in _NO_FORCE
    each = (_FILM if output.video else 0.0) + (1.0 if output.png else 0.0)
    return pixels * (each * (problem.frames + 1) + _STILLS + (_FORCE_MAPS if steered else 0.0))
