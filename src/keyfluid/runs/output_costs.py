"""Seconds that the outputs of a run will take, from one file of each kind written for a try."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from keyfluid.kernels.compiling import compiled_seconds
from keyfluid.render import save_png, video_available, write_gif, write_mp4, write_webp
from keyfluid.runs.busy import busy
from keyfluid.runs.drawing import START, workers_for
from keyfluid.runs.frames import Frames
from keyfluid.runs.mesh_files import write_mesh
from keyfluid.runs.outputs import STRIP_FRAMES, Kind, kinds_of
from keyfluid.runs.pictures import Painter, Picture
from keyfluid.runs.ply_files import write_points
from keyfluid.runs.vdb_files import write_frame
from keyfluid.scenes.build.problem import BuiltScene

_REPORT = 1.0
"""Seconds for charts, force maps and the strip, beside its pictures; about."""

_QUICK = 1.0
"""Seconds below which a try is repeated: the first one also loads what it needs."""

_FILM = 3
"""Pictures of the film that is encoded for a try."""


def output_seconds(problem: BuiltScene, frames: Frames, index: int) -> dict[str, float]:
    """Of each kind of output, in the order they are written; `index`: a frame to try them on."""
    painter, count, kinds = Painter(problem), problem.frames + 1, kinds_of(problem)
    pictures: list[Picture] = []
    # The frame before comes first: pictures of markers keep its light.
    places = iter([index - 1 if index - 1 in frames.store.indices() else index])
    one = seconds_of(lambda: pictures.append(painter.frame(frames, next(places, index))))
    with tempfile.TemporaryDirectory(prefix="keyfluid-") as folder:
        path = Path(folder) / "file"
        tries: dict[Kind, Callable[[], object]] = {
            "vdb": lambda: write_frame(path, problem, frames[index]),
            "ply": lambda: write_points(path, problem, frames[index]),
            "mesh": lambda: write_mesh(path, problem, frames[index]),
            "png": lambda: save_png(path, pictures[-1]),
        }
        found: dict[Kind, float] = {kind: count * seconds_of(tries[kind]) for kind in tries if kind in kinds}
        if "video" in kinds:
            found["video"] = count / _FILM * seconds_of(lambda: _encode(path, pictures[-1], problem.fps))
    found["picture"] = drawing_seconds(one, count)
    keys = min(STRIP_FRAMES, len({key.frame for key in problem.keyframes}))
    found["report"] = _REPORT + one * (keys if "picture" in kinds else STRIP_FRAMES + 2 * keys)
    return {str(kind): found[kind] for kind in kinds}


def drawing_seconds(one: float, count: int) -> float:
    """Of `count` pictures, shared out to processes where that is done."""
    factor = busy()
    workers = workers_for(one * (count - 1) / factor, count - 1)
    return one * count if workers == 1 else one + factor * START + one * (count - 1) / workers


def seconds_of(work: Callable[[], object]) -> float:
    """Seconds that something takes once it is compiled and loaded."""
    taken = 0.0
    for _ in range(2):
        began, before = time.perf_counter(), compiled_seconds()
        work()
        compiled = compiled_seconds() - before
        taken = max(time.perf_counter() - began - compiled, 0.0)
        if taken > _QUICK and compiled == 0.0:
            break
    return taken


def _encode(path: Path, picture: Picture, fps: float) -> None:
    """A short film that moves about as much as smoke does."""
    film = [np.roll(picture, 2 * shift, axis=0) for shift in range(_FILM)]
    write_webp(film, path, fps)
    (write_mp4 if video_available() else write_gif)(film, path, fps)
