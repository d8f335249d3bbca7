"""Seconds that the outputs of a run will take, from one file of each kind written for a try.

Each try takes some hundredths of a second, in which a busy machine may or may not let this process run. So they are
measured in processor seconds, and become seconds on the wall by the ratio of both over all tries together.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from keyfluid.render import save_png, video_available, write_gif, write_mp4, write_webp
from keyfluid.runs.compiling import clock_without_compilation
from keyfluid.runs.drawing import START, workers_for
from keyfluid.runs.frames import Frames
from keyfluid.runs.mesh_files import write_mesh
from keyfluid.runs.outputs import STRIP_FRAMES, Kind, kinds_of
from keyfluid.runs.pictures import Painter, Picture
from keyfluid.runs.ply_files import write_points
from keyfluid.runs.usd_mesh import usd_frame
from keyfluid.runs.vdb_files import write_frame
from keyfluid.scenes.build.problem import BuiltScene

_REPORT, _SCORE, _FILMS = 0.5, 0.5, 0.2
"""Processor seconds for charts, force maps and the strip, beside its pictures, for scoring keyframes,
and for the ends of two films; about."""

_QUICK = 1.0
"""Processor seconds below which a try is repeated: the first one also loads what it needs."""

_FILM = 3
"""Pictures of the film that is encoded for a try."""


def output_seconds(problem: BuiltScene, frames: Frames, index: int) -> dict[str, float]:
    """Seconds of each kind of output, in the order they are written; `index`: a frame to try them on."""
    painter, count, kinds = Painter(problem), problem.frames + 1, kinds_of(problem)
    began = clock_without_compilation()
    pictures: list[Picture] = []
    # The frame before comes first: pictures of markers keep its light.
    places = iter([index - 1 if index - 1 in frames.store.indices() else index])
    picture = processor_seconds(lambda: pictures.append(painter.frame(frames, next(places, index))))
    with tempfile.TemporaryDirectory(prefix="keyfluid-") as folder:
        path = Path(folder) / "file"
        tries: dict[Kind, Callable[[], object]] = {
            "vdb": lambda: write_frame(path, problem, frames[index]),
            "ply": lambda: write_points(path, problem, frames[index]),
            "mesh": lambda: write_mesh(path, problem, frames[index]),
            "usd": lambda: usd_frame(problem, frames[index]),
            "png": lambda: save_png(path, pictures[-1]),
        }
        found: dict[Kind, float] = {kind: count * processor_seconds(tries[kind]) for kind in tries if kind in kinds}
        if "video" in kinds:
            found["video"] = _FILMS + count / _FILM * processor_seconds(
                lambda: _encode(path, pictures[-1], problem.fps)
            )
    found["picture"] = drawing_seconds(picture, count)
    keys = min(STRIP_FRAMES, len({key.frame for key in problem.keyframes}))
    found["report"] = _REPORT + picture * (keys if "picture" in kinds else STRIP_FRAMES + 2 * keys)
    taken = clock_without_compilation().since(began)
    times = {"score": _SCORE if problem.keyframes else 0.0, **{str(kind): found[kind] for kind in kinds}}
    return {phase: seconds * taken.wall / max(taken.processor, 1e-6) for phase, seconds in times.items()}


def drawing_seconds(picture: float, count: int) -> float:
    """Seconds of `count` pictures, shared out to processes where that is done."""
    workers = workers_for(picture * (count - 1), count - 1)
    return picture * count if workers == 1 else picture + START + picture * (count - 1) / workers


def processor_seconds(work: Callable[[], object]) -> float:
    """That something takes once it is compiled and loaded."""
    taken = 0.0
    for _ in range(2):
        began = clock_without_compilation()
        work()
        taken = clock_without_compilation().since(began).processor
        if taken > _QUICK:
            break
    return taken


def _encode(path: Path, picture: Picture, fps: float) -> None:
    """A short film that moves about as much as smoke does."""
    film = [np.roll(picture, 2 * shift, axis=0) for shift in range(_FILM)]
    write_webp(film, path, fps)
    (write_mp4 if video_available() else write_gif)(film, path, fps)
