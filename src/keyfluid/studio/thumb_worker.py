"""Draws thumbnails in a process of its own, so that kernels and fields never enter the server (`thumbs.py`)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from keyfluid.crew import serve
from keyfluid.errors import KeyfluidError
from keyfluid.io.run.run_folder import RunFolder
from keyfluid.models.liquid import SURFACE
from keyfluid.problem import Emission
from keyfluid.render.film import write_webp
from keyfluid.runs.frames import Frames
from keyfluid.runs.pictures import Painter, Picture
from keyfluid.scenes import Scene, load_scene, preview, scene_from
from keyfluid.scenes.build.problem import BuiltScene, build
from keyfluid.scenes.schema.load import parse_toml
from keyfluid.studio.thumb_task import Thumb

SIZE = 192
"""Pixels of the longer side."""
_CELLS = {2: 72, 3: 32}
_MOST_KEYS, _BLENDS, _MOST_FRAMES = 5, 6, 24
_FPS = 10.0


def draw(task: Thumb, gone: Callable[[], bool]) -> bool:
    """Write the thumbnail."""
    del gone
    pictures = _of_run(task.folder) if task.text is None else _of_scene(task.text, task.folder)
    write_webp(pictures, task.target, _FPS, quality=70)
    return True


def _of_scene(text: str, folder: Path) -> list[Picture]:
    """Start and keyframes as the engine draws them, blended into each other."""
    problem = build(_few_keys(scene_from(parse_toml(text, "scene"), folder)))
    painter = Painter(problem, SIZE)
    stills = [painter.fluid(_start(problem), 0)]
    for frame in sorted({key.frame for key in problem.keyframes}):
        picture = painter.target(frame)
        assert picture is not None
        stills.append(picture)
    return list(_blended(stills)) if len(stills) > 1 else stills


def _few_keys(scene: Scene) -> Scene:
    """The scene on a small grid, with some of its keyframes: the first pose alone of those that move."""
    coarse = preview(scene, min(scene.domain.resolution, _CELLS[scene.dimension]), draft=True)
    keys = coarse.keyframe
    chosen = [keys[i] for i in np.unique(np.linspace(0, len(keys) - 1, min(_MOST_KEYS, len(keys))).astype(int))]
    plain = [key.model_copy(update={"until": None, "hold": 0}) for key in chosen]
    return coarse.model_copy(update={"keyframe": plain})


def _start(problem: BuiltScene) -> dict[str, np.ndarray]:
    """The fluid at the start, with what sources bring."""
    values = {name: field.array.copy() for name, field in problem.densities.items()}
    for source in problem.sources:
        if source.field in values and problem.fluid.drawn_as == "density":
            values[source.field] = np.maximum(values[source.field], _brought(source, problem))
    return values


def _brought(source: Emission, problem: BuiltScene) -> np.ndarray:
    return np.asarray(source.mask * (source.density or problem.peaks[source.field]))


def _blended(stills: list[Picture]) -> Iterator[Picture]:
    for one, other in zip(stills, stills[1:] + stills[:1]):
        yield from [one] * 3
        for step in range(1, _BLENDS):
            share = step / _BLENDS
            yield np.rint((1 - share) * one + share * other).astype(np.uint8)


def _of_run(folder: Path) -> list[Picture]:
    """Some of a run's frames, evenly."""
    place = RunFolder.read(folder)
    problem = build(load_scene(place.scene_file, ["output.film=draft"]))
    indices = place.frames.indices()
    if not indices:
        raise KeyfluidError(f"{folder}: has no frames yet")
    chosen = [indices[i] for i in np.unique(np.linspace(0, len(indices) - 1, _MOST_FRAMES).astype(int))]
    painter, frames = Painter(problem, SIZE), Frames(place.frames, problem)
    pictures = []
    for index in chosen:
        frame = frames[index]
        pictures.append(painter.fluid(frame.densities if frame.surface is None else {SURFACE: frame.surface}, index))
    return pictures


if __name__ == "__main__":
    # Tasks name the classes of the imported module, not of __main__.
    from keyfluid.studio import thumb_worker

    os.nice(5)
    serve(thumb_worker.draw)
