"""What a run leaves to look at and to import: VDB sequence, film, stills, filmstrip, report."""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np

from keyfluid import __version__
from keyfluid.errors import KeyfluidError
from keyfluid.io.atomic import write_whole
from keyfluid.io.run import layout
from keyfluid.io.run.result_file import Result
from keyfluid.render import (
    RunReport,
    filmstrip,
    save_png,
    video_available,
    write_gif,
    write_mp4,
    write_report,
    write_webp,
)
from keyfluid.render.flipbook import flipbook
from keyfluid.render.player import PlayerFilm, player
from keyfluid.render.report import FILM_BYTES
from keyfluid.runs import report_content
from keyfluid.runs.drawing import draw
from keyfluid.runs.frames import Frame, Frames
from keyfluid.runs.mesh_files import write_mesh
from keyfluid.runs.pictures import Film, Painter
from keyfluid.runs.ply_files import write_points
from keyfluid.runs.report_charts import charts_of
from keyfluid.runs.report_content import thinned
from keyfluid.runs.usd_files import UsdStage
from keyfluid.runs.usd_mesh import MeshFrames
from keyfluid.runs.vdb_files import write_frame
from keyfluid.scenes import dump_scene
from keyfluid.scenes.build.problem import BuiltScene

STRIP_FRAMES = 6
_FORCE_MAPS = 4
_TARGETS = {2: 48, 3: STRIP_FRAMES}
"""Targets drawn for the report at most, in 2D and 3D, where each takes as long as a frame of the film."""

Told = Callable[[str, int, int], None]
"""told(what, done, total): called between files, where it may raise to stop."""

Kind = Literal["vdb", "ply", "mesh", "usd", "picture", "png", "video", "report"]
"""What is written, in this order; "picture": the film's frames drawn, "report": the strip and the report."""


class Writable(Protocol):
    """A folder that is ours to write to (io/run/owned.py), or the folder of a run."""

    @property
    def path(self) -> Path: ...
    def writing(self, name: str, again: bool = False) -> AbstractContextManager[Path]: ...


class Outputs:
    """Writes the outputs of a run to its folder, or to another, each file whole or not at all.

    check: called while other processes draw; it raises to stop
    """

    def __init__(
        self,
        problem: BuiltScene,
        frames: Frames,
        folder: Writable,
        told: Told | None = None,
        size: int | None = None,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        self.problem, self.frames, self.folder, self._check = problem, frames, folder, check
        self._told = told or (lambda what, done, total: None)
        if not frames.store.indices():
            raise KeyfluidError(f"{folder.path}: has no frames yet; run it first")
        self.painter = Painter(problem, size)
        self._targets: dict[int, np.ndarray | None] = {}
        self.film = Film(self.painter, frames, lambda done, total: self._told("picture", done, total))

    def write_all(self, result: Callable[[], Result]) -> Result:
        """What the scene's [output] asks for, and always a strip and a report, which shows `result`, made last."""
        write: dict[Kind, Callable[[], object]] = {
            "vdb": lambda: self.write_vdb(f"{layout.VDB}/"),
            "ply": lambda: self.write_ply(f"{layout.PLY}/"),
            "mesh": lambda: self.write_meshes(f"{layout.MESH}/"),
            "usd": lambda: self.write_usd(f"{layout.VDB}/"),
            "picture": self.draw,
            "png": lambda: self.write_png(f"{layout.PNG}/"),
            "video": self.write_video,
            "report": self._begin_report,
        }
        for kind in kinds_of(self.problem):
            write[kind]()
        final = result()
        self.write_report(final)
        return final

    def _begin_report(self) -> None:
        self._told("report", 0, 1)
        self.write_strip()

    def draw(self) -> None:
        """The pictures of the film, by several processes where that is faster."""
        draw(self.film, self._check)

    def write_vdb(self, prefix: str = "", frames: Sequence[int] | None = None) -> None:
        """One VDB file per frame, or for each of `frames`; `prefix` names a folder inside, if any."""
        indices = self.frames.store.indices() if frames is None else frames
        for done, index in enumerate(indices, 1):
            with self.folder.writing(f"{prefix}{self._numbered(index)}.vdb") as path:
                write_frame(path, self.problem, self.frames[index])
            self._told("vdb", done, len(indices))

    def write_ply(self, prefix: str = "") -> None:
        """The markers of every frame."""
        self._write_each("ply", prefix, write_points)

    def write_meshes(self, prefix: str = "") -> None:
        """The liquid's surface of every frame."""
        self._write_each("mesh", prefix, write_mesh)

    def write_usd(self, vdb: str = "") -> None:
        """The stage, and the layers of a large liquid; `vdb`: the folder inside that has the VDB sequence, if any."""
        problem, name = self.problem, self.problem.scene.name
        indices = self.frames.store.indices()
        files = {index: f"./{vdb}{self._numbered(index)}.vdb" for index in indices} if problem.scene.output.vdb else {}
        stage = UsdStage(problem, self.frames, indices, files)
        self._told("usd", 0, len(indices))
        liquid = None
        if has_mesh(problem):
            liquid = MeshFrames(problem, self.frames, indices, stage.code)
            if liquid.apart:
                self._write_clips(liquid)
        self._write_text(layout.stage_file(name), stage.text(liquid))
        self._told("usd", len(indices), len(indices))

    def _write_clips(self, liquid: MeshFrames) -> None:
        """A layer for each frame, and their manifest."""
        for done, index in enumerate(liquid.indices):
            self._told("usd", done, len(liquid.indices))
            layer = f"{layout.USD}/{self._numbered(index)}.usda"
            self._write_text(layer, liquid.layer(index))
            liquid.files[index] = f"./{layer}"
        manifest = layout.clips_file(self.problem.scene.name)
        self._write_text(manifest, liquid.manifest_layer())
        liquid.manifest = f"./{manifest}"

    def _write_text(self, name: str, text: str) -> None:
        with self.folder.writing(name) as path:
            write_whole(path, lambda file: file.write(text.encode("utf-8")))

    def _write_each(self, what: str, prefix: str, write: Callable[[Path, BuiltScene, Frame], None]) -> None:
        indices = self.frames.store.indices()
        for index in indices:
            self._told(what, index, indices[-1])
            with self.folder.writing(f"{prefix}{self._numbered(index)}.ply") as path:
                write(path, self.problem, self.frames[index])

    def write_png(self, prefix: str = "") -> None:
        for place, index in enumerate(self.film.indices):
            with self.folder.writing(f"{prefix}{self._numbered(index)}.png") as path:
                save_png(path, self.film[place])
            self._told("png", place + 1, len(self.film))

    def _numbered(self, index: int) -> str:
        return layout.numbered(self.problem.scene.name, self.problem.scene.output.start_frame + index)

    def write_video(self) -> Path:
        """video.webp always; beside it an MP4, or a GIF where PyAV is missing. Returns the better one."""
        fps = self.problem.fps
        self.draw()
        self._told("video", 0, 2)
        with self.folder.writing(layout.WEBP) as path:
            write_webp(self.film, path, fps)
        self._told("video", 1, 2)
        better, write = (layout.MP4, write_mp4) if video_available() else (layout.GIF, write_gif)
        with self.folder.writing(better) as path:
            write(self.film, path, fps)
        self._told("video", 2, 2)
        return self.folder.path / better

    def write_strip(self) -> None:
        """Frames at even distances and at every keyframe (at most two strips' worth), targets beside them."""
        available = self.film.indices
        keys = [key.frame for key in self.problem.keyframes if key.frame in available]
        chosen = strip_frames(available, keys)
        pictures = [self.film[available.index(index)] for index in chosen]
        targets = [self._target(index) for index in chosen]
        labels = [f"frame {index}" for index in chosen]
        columns = STRIP_FRAMES if not keys else STRIP_FRAMES + 2
        with self.folder.writing(layout.STRIP, again=True) as path:
            save_png(path, filmstrip(pictures, labels, targets, columns=columns))

    def write_report(self, result: Result) -> None:
        """The report of these numbers, with the pictures that have been drawn; those of a strip at least."""
        problem = self.problem
        charts, constant = charts_of(result["history"], {key.frame for key in problem.keyframes}, problem.grid.dim)
        report = RunReport(
            problem.scene.name,
            subtitle=report_content.subtitle(problem, result),
            words=result.get("words", ()),
            tiles=report_content.tiles(result),
            player=self._player(),
            keyframes=report_content.keyframe_table(problem, result),
            charts=charts,
            constant=constant,
            facts=report_content.facts(problem, result),
            notes=report_content.notes(result),
            plots=self._force_maps(),
            scene_text=dump_scene(problem.scene),
            versions=versions(),
        )
        with self.folder.writing(layout.REPORT, again=True) as path:
            write_report(path, report)

    def _player(self) -> str:
        """The film so far as it is drawn, its targets, and the empty scene that differences are measured from."""
        problem, film = self.problem, self.film
        drawn = film.drawn or film.indices[-1:]
        keys = sorted({key.frame for key in problem.keyframes if key.frame in drawn})
        targets = {frame: self._target(frame) for frame in thinned(keys, _TARGETS[problem.grid.dim])}
        there = {frame: target for frame, target in targets.items() if target is not None}
        extras = [*there.values(), self.painter.empty(drawn[0])] if there else []
        pictures = _Chosen(film, [film.indices.index(index) for index in drawn])
        book = flipbook(pictures, drawn, FILM_BYTES, keep=thinned(keys, STRIP_FRAMES), extras=extras)
        steady = not problem.solids.move and not (problem.grid.dim == 3 and problem.scene.camera.orbit)
        start = keys[-1] if keys else drawn[-1]
        films = [PlayerFilm(book, tuple(there) if book.extras else ())]
        return player(films, problem.fps, film.indices[-1], start, steady)

    def _target(self, frame: int) -> np.ndarray | None:
        """Drawn once, for the strip and the report."""
        if frame not in self._targets:
            self._targets[frame] = self.painter.target(frame)
        return self._targets[frame]

    def _force_maps(self) -> dict[str, np.ndarray]:
        steered = [i for i in self.frames.store.indices() if self.frames.store.meta(i)["force_square"] > 0]
        maps = {}
        for index in thinned(steered, _FORCE_MAPS):
            force = self.frames[index].force
            if force is not None:
                maps[f"force before frame {index}"] = self.painter.vectors(force)
        return maps


def has_mesh(problem: BuiltScene) -> bool:
    """Whether the fluid has a surface that is written as a mesh."""
    return problem.fluid.mesh and problem.grid.dim == 3


def kinds_of(problem: BuiltScene) -> list[Kind]:
    """What a run of the problem writes."""
    output, control = problem.scene.output, problem.scene.control
    asked: dict[Kind, bool] = {
        "vdb": output.vdb,
        "ply": bool(getattr(control, "ply", False)),
        "mesh": has_mesh(problem),
        "usd": output.usd,
        "picture": output.png or output.video,
        "png": output.png,
        "video": output.video,
        "report": True,
    }
    return [kind for kind, wanted in asked.items() if wanted]


def versions() -> dict[str, str]:
    """Versions of the software that computed the run."""
    from importlib.metadata import version

    parts = {"keyfluid": __version__, "python": platform.python_version(), "machine": platform.machine()}
    return parts | {name: version(name) for name in ("numpy", "scipy", "numba")}


def strip_frames(available: list[int], keys: list[int]) -> list[int]:
    """The first frame, frames at even distances, and keyframes in the place of those that are next to one."""
    even = thinned(available, STRIP_FRAMES)
    shown = thinned(sorted(set(keys)), STRIP_FRAMES)
    near = 0.5 * (available[-1] - available[0]) / max(len(even) - 1, 1)
    return sorted({*shown, *(frame for frame in even if all(abs(frame - key) > near for key in shown)), available[0]})


class _Chosen(Sequence[np.ndarray]):
    """Some pictures of a film, fetched when they are needed."""

    def __init__(self, film: Film, places: Sequence[int]) -> None:
        self._film, self._places = film, places

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, place: Any) -> Any:
        return self._film[self._places[place]]
