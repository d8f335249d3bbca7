"""A frame of a run as arrays for the page: densities, targets, velocities, forces, markers, surfaces, obstacles.

density   per field uint8, 255 at the field's peak (`peaks`); a liquid's field is the share of a cell that it fills;
          with `fine` uint16, 65535 at the peak (`full`): thin smoke in 255 levels shows steps
target    the same of a frame's keyframes; NAME/mask where a keyframe is a region
velocity, force   float32 [axis, x, y(, z)] at cell centres, means over blocks, at most 32 cells a side
markers   float32 [axis, n] in metres, at most 200,000; `counts` per field
surface   of a liquid: in 3D `vertices` float32 [axis, n] in metres and `faces` uint32 [corner, m]; in 2D `distance`
obstacle  `distance`; `moving` if it differs from frame to frame
distance  uint8: 255 (1/2 - d / 8), d the signed distance in cells, negative inside

`size` is the most cells per axis: finer grids are averaged over blocks.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np

from keyfluid.fields import Field
from keyfluid.grid import Kind
from keyfluid.io.run.stored_frame import StoredFrame
from keyfluid.runs.pictures import centred
from keyfluid.shapes.isosurface import isosurface
from keyfluid.studio.answers import Refused
from keyfluid.studio.arrays import as_bytes, as_words, packed
from keyfluid.studio.open_runs import OpenRun
from keyfluid.studio.runs_listing import is_finished

MOST_BYTES = 16 << 20
"""Memory for answers that are kept, so that two pages with one film read its files once."""

MOST_ARROWS, MOST_MARKERS = 32, 200_000
MOST_CELLS = 128
"""Cells per axis that a page is given in 3D; a volume of more is slow to draw and to send."""

Made = tuple[dict[str, Any], dict[str, np.ndarray]]


@dataclass(frozen=True)
class Request:
    """field: one of several, or None; size: most cells a side, 0 for all; fine: densities in 65536 levels."""

    frame: int
    field: str | None = None
    size: int = 0
    fine: bool = False


class FrameAnswers:
    """Answers by run, revision and request; the oldest go first."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._most, self._size = most, 0
        self._kept: OrderedDict[tuple[Any, ...], bytes] = OrderedDict()
        self._lock = Lock()

    def get(self, run: OpenRun, what: str, asked: Request) -> bytes:
        if what not in MAKERS:
            raise Refused(400, f"what: give one of {', '.join(MAKERS)}")
        if asked.frame > run.problem.frames:
            raise Refused(404, f"frame: the film ends with frame {run.problem.frames}")
        if asked.field is not None and asked.field not in run.problem.densities:
            raise Refused(404, f"field: this run has {', '.join(run.problem.densities)}")
        key = (run.name, run.revision if is_finished(run.folder.path) else None, what, asked)
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        header, arrays = MAKERS[what](run, asked)
        answer = packed({"what": what, "frame": asked.frame, **header}, arrays)
        if key[1] is not None:
            self._keep(key, answer)
        return answer

    def _keep(self, key: tuple[Any, ...], answer: bytes) -> None:
        with self._lock:
            self._size += len(answer) - len(self._kept.pop(key, b""))
            self._kept[key] = answer
            while self._size > self._most:
                self._size -= len(self._kept.popitem(last=False)[1])


def _density(run: OpenRun, asked: Request) -> Made:
    problem = run.problem
    names = [asked.field] if asked.field is not None else list(problem.densities)
    stored = run.read(asked.frame, lambda name: name in names)
    amounts = problem.amounts({name: _centred(run, stored, name) for name in names}, asked.frame / problem.fps)
    return _levels(run, amounts, asked)


def _target(run: OpenRun, asked: Request) -> Made:
    """The last one counts where a field has several keyframes."""
    problem = run.problem
    keys = {
        key.field: key for key in problem.keyframes if key.frame == asked.frame and asked.field in (None, key.field)
    }
    header, arrays = _levels(run, {name: key.target for name, key in keys.items()}, asked)
    for name, key in keys.items():
        if key.mask is not None:
            arrays[f"{name}/mask"] = as_bytes(_shrunk(key.mask.astype(np.float32), header["block"]), 1.0)
    if problem.fluid.drawn_as == "surface" and problem.grid.dim == 2:
        for key in keys.values():
            arrays["distance"] = _distance(problem.fluid.wanted(problem, key) / problem.grid.spacing)
    return header, arrays


def _levels(run: OpenRun, values: Mapping[str, np.ndarray], asked: Request) -> Made:
    """Densities as whole numbers up to `full`, on the grid that was asked for."""
    peaks, block, level = run.problem.peaks, _block(run, asked.size), as_words if asked.fine else as_bytes
    arrays = {name: level(_shrunk(array, block), peaks[name]) for name, array in values.items()}
    here = {name: peaks[name] for name in values}
    full = 65535 if asked.fine else 255
    return {"peak": max(here.values(), default=1.0), "peaks": here, "full": full, "block": block}, arrays


def _vectors(name: str) -> Callable[[OpenRun, Request], Made]:
    def make(run: OpenRun, asked: Request) -> Made:
        stored = run.read(asked.frame, lambda one: one == name)
        if name not in stored.arrays:
            raise Refused(404, f"frame {asked.frame} has no {name}")
        parts = centred(Field(run.problem.grid, Kind.FACES, stored.arrays[name]))
        block = -(-max(run.problem.grid.cells) // min(asked.size or MOST_ARROWS, MOST_ARROWS))
        small = np.stack([_shrunk(part, block) for part in parts]).astype(np.float32)
        largest = float(np.sqrt(np.sum(np.square(np.stack(parts), dtype=np.float64), axis=0)).max())
        return {"largest": largest, "block": block, "unit": "m/s" if name == "velocity" else "m/s²"}, {name: small}

    return make


def _markers(run: OpenRun, asked: Request) -> Made:
    names = [asked.field] if asked.field is not None else list(run.problem.densities)
    stored = run.read(asked.frame, lambda name: name.endswith(".markers"))
    found = {name: stored.arrays.get(f"particles.{name}.markers") for name in names}
    clouds = {name: cloud for name, cloud in found.items() if cloud is not None}
    if not clouds:
        raise Refused(404, f"frame {asked.frame} has no markers")
    stride = -(-sum(cloud.shape[1] for cloud in clouds.values()) // min(asked.size or MOST_MARKERS, MOST_MARKERS))
    thin = {name: cloud[:, ::stride].astype(np.float32) for name, cloud in clouds.items()}
    return (
        {"counts": {name: cloud.shape[1] for name, cloud in thin.items()}, "stride": stride},
        {"markers": np.concatenate(list(thin.values()), axis=1)},
    )


def _surface(run: OpenRun, asked: Request) -> Made:
    problem = run.problem
    if problem.fluid.drawn_as != "surface":
        raise Refused(404, "only a liquid has a surface")
    (name,) = problem.densities
    values = _centred(run, run.read(asked.frame, lambda one: one == name), name)
    if problem.grid.dim == 2:
        return {}, {"distance": _distance(values / problem.grid.spacing)}
    block = _block(run, asked.size)
    vertices, faces = isosurface(_shrunk(values, block), problem.grid.spacing * block)
    return {"block": block}, {
        "vertices": np.ascontiguousarray(vertices.T, np.float32),
        "faces": np.ascontiguousarray(faces.T, np.uint32),
    }


def _obstacle(run: OpenRun, asked: Request) -> Made:
    problem = run.problem
    metres = problem.solids.distance(asked.frame / problem.fps)
    if metres is None:
        return {"moving": False, "block": 1}, {}
    block = _block(run, asked.size)
    cells = metres / problem.grid.spacing
    return {"moving": problem.solids.move, "block": block}, {"distance": _distance(_shrunk(cells, block) / block)}


MAKERS: dict[str, Callable[[OpenRun, Request], Made]] = {
    "density": _density,
    "target": _target,
    "velocity": _vectors("velocity"),
    "force": _vectors("force"),
    "markers": _markers,
    "surface": _surface,
    "obstacle": _obstacle,
}


def _centred(run: OpenRun, stored: StoredFrame, name: str) -> np.ndarray:
    if name not in stored.arrays or stored.arrays[name].size != run.problem.grid.count:
        raise Refused(422, f"frame {stored.meta['index']} does not fit the scene of its run")
    return Field(run.problem.grid, Kind.CENTRES, stored.arrays[name]).array


def _block(run: OpenRun, size: int) -> int:
    """Cells along the edge of the blocks that are averaged."""
    grid = run.problem.grid
    most = size or max(grid.cells)
    return -(-max(grid.cells) // max(8, min(most, MOST_CELLS if grid.dim == 3 else most)))


def _shrunk(values: np.ndarray, block: int) -> np.ndarray:
    """Means over blocks of cells; the last ones may be smaller."""
    for axis in range(values.ndim if block > 1 else 0):
        starts = np.arange(0, values.shape[axis], block)
        counts = np.diff([*starts, values.shape[axis]]).astype(values.dtype)
        shape = [-1 if a == axis else 1 for a in range(values.ndim)]
        values = np.add.reduceat(values, starts, axis) / counts.reshape(shape)
    return values


def _distance(cells: np.ndarray) -> np.ndarray:
    """A signed distance in cells as bytes; an edge lies between 127 and 128."""
    return as_bytes(np.clip(0.5 - cells / 8.0, 0.0, 1.0), 1.0)
