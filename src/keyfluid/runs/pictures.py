"""A run's frames as pictures, with the scene's camera, light and colours."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from typing import overload

import numpy as np

from keyfluid.fields import Field
from keyfluid.models.liquid import SURFACE
from keyfluid.render import (
    Backdrop,
    ColouredField,
    KeyAndSky,
    Pinhole,
    View,
    default_camera,
    orbit,
    render_plane,
    render_vectors,
    render_volume,
)
from keyfluid.render.colour import Colour
from keyfluid.render.liquid import render_liquid_plane, render_liquid_volume
from keyfluid.runs.frames import Frames
from keyfluid.runs.marker_pictures import MarkerPainter
from keyfluid.scenes.build.problem import BuiltScene

Picture = np.ndarray


class Painter:
    """Draws densities of a scene; frame and time place the bodies and the camera."""

    def __init__(self, problem: BuiltScene, size: int | None = None) -> None:
        self.problem = problem
        output = problem.scene.output
        self._draft = output.film == "draft"
        self.size = size or (max(16, output.size // 2) if self._draft else output.size)
        self._up = problem.scene.domain.up
        self._markers = MarkerPainter(problem)

    @property
    def draws_markers(self) -> bool:
        """Whether frames are drawn as markers, whose light is blended with that of the frames before."""
        return self._markers.can_draw

    def frame(self, frames: Frames, index: int) -> Picture:
        """A frame of the run: its markers where it has some and they can be drawn, else its densities."""
        if self.draws_markers:
            return self._markers.picture(frames, index, self.view(index))
        values = frames.fields(index)
        if SURFACE not in values:
            values = self.problem.amounts(values, index / self.problem.fps)
        return self.fluid(values, index)

    def target(self, frame: int) -> Picture | None:
        """The keyframes of a frame, as they are wanted."""
        here = [key for key in self.problem.keyframes if key.frame == frame]
        if not here:
            return None
        return self.fluid({key.field: self.problem.fluid.wanted(self.problem, key) for key in here}, frame)

    def empty(self, frame: int) -> Picture:
        """The scene of a frame without any fluid."""
        far = max(self.problem.grid.size)
        none = {"density": 0.0, "surface": far}[self.problem.fluid.drawn_as]
        return self.fluid({name: np.full(self.problem.grid.cells, none) for name in self.problem.densities}, frame)

    def fluid(self, values: Mapping[str, np.ndarray], frame: int) -> Picture:
        """The fluid, from the values of its fields."""
        draw = {"density": self.picture, "surface": self.surface}
        return draw[self.problem.fluid.drawn_as](values, frame)

    def surface(self, values: Mapping[str, np.ndarray], frame: int) -> Picture:
        """The surface of a fluid whose field is a signed distance."""
        problem = self.problem
        ((name, phi),) = values.items()
        colour = colour_of(problem, name)
        bodies = problem.solids(frame / problem.fps)
        solid = bodies.solid if bodies is not None else None
        if problem.grid.dim == 2:
            return render_liquid_plane(phi, problem.grid.spacing, colour, solid, self.size)
        return render_liquid_volume(phi, problem.grid.spacing, colour, self.view(frame), solid, 1 if self._draft else 2)

    def view(self, frame: int) -> View:
        """How the picture of a frame is taken."""
        width, height = self._picture_size()
        camera = orbit(self._camera(width / height), self._turn(frame), self._up)
        return View(camera, (width, height), self._light(), Backdrop(floor=self.problem.scene.camera.floor), self._up)

    def picture(self, densities: Mapping[str, np.ndarray], frame: int) -> Picture:
        problem = self.problem
        fields = [
            ColouredField(densities[name], colour_of(problem, name), problem.peaks[name])
            for name in problem.densities
            if name in densities
        ]
        distance = problem.solids.distance(frame / problem.fps)  # not a mask, which has steps and loses thin bodies
        if problem.grid.dim == 2:
            covered = np.clip(0.5 - distance / problem.grid.spacing, 0, 1) if distance is not None else None
            return render_plane(fields, covered, size=self.size)
        return render_volume(
            fields, problem.grid.spacing, self.view(frame), distance, problem.scene.light.extinction,
            step=1.0 if self._draft else 0.5,
        )  # fmt: skip

    def vectors(self, field: Field) -> Picture:
        """A map of a face field; in 3D its middle slice, seen from the front."""
        parts = centred(field)
        if field.grid.dim == 3:
            depth = 2 if self._up == "y" else 1
            middle = field.grid.cells[depth] // 2
            planes = [part.take(middle, axis=depth) for part in parts]
            parts = [planes[axis] for axis in range(3) if axis != depth]
        return render_vectors(parts[0], parts[1], size=min(self.size, 360))

    def _turn(self, frame: int) -> float:
        return self.problem.scene.camera.orbit * (frame / self.problem.frames - 0.5)

    def _picture_size(self) -> tuple[int, int]:
        """As wide as the domain seen from the front, as high as it is, and a little air; even numbers."""
        size = self.problem.grid.size
        up = 1 if self._up == "y" else 2
        across = 1.15 * max(side for axis, side in enumerate(size) if axis != up)
        tall = 1.05 * size[up]
        scale = self.size / max(across, tall)
        return max(2, round(across * scale / 2) * 2), max(2, round(tall * scale / 2) * 2)

    def _camera(self, aspect: float) -> Pinhole:
        wanted = self.problem.scene.camera
        usual = default_camera(self.problem.grid.size, self._up, wanted.fov, aspect)
        look_at = _three(wanted.look_at) if wanted.look_at is not None else usual.look_at
        if wanted.position is None:
            moved = np.subtract(look_at, usual.look_at) + usual.position
            return Pinhole(_three(moved.tolist()), look_at, wanted.fov)
        return Pinhole(_three(wanted.position), look_at, wanted.fov)

    def _light(self) -> KeyAndSky:
        light = self.problem.scene.light
        return KeyAndSky(
            _three(light.direction) if light.direction is not None else None,
            _colour(light.colour),
            light.strength,
            _colour(light.sky_colour),
            light.sky_strength,
            light.forward,
        )


class Film(Sequence[Picture]):
    """The pictures of all frames, drawn on first use and kept compressed (lossless)."""

    def __init__(self, painter: Painter, frames: Frames, drawn: Callable[[int, int], None] | None = None) -> None:
        self.painter, self.frames, self._drawn = painter, frames, drawn
        self.indices = frames.store.indices()
        self._packed: dict[int, bytes] = {}

    @property
    def missing(self) -> list[int]:
        """Frames that are not drawn yet."""
        return [index for index in self.indices if index not in self._packed]

    def take(self, index: int, packed: bytes) -> None:
        """The picture of a frame, from `packed_picture`."""
        self._packed[index] = packed
        if self._drawn is not None:
            self._drawn(len(self._packed), len(self))

    def __len__(self) -> int:
        return len(self.indices)

    @property
    def drawn(self) -> list[int]:
        """The frames that have been drawn so far."""
        return sorted(self._packed)

    @overload
    def __getitem__(self, place: int) -> Picture: ...
    @overload
    def __getitem__(self, place: slice) -> list[Picture]: ...
    def __getitem__(self, place: int | slice) -> Picture | list[Picture]:
        if isinstance(place, slice):
            return [self[i] for i in range(*place.indices(len(self)))]
        from PIL import Image

        index = self.indices[place]
        if index not in self._packed:
            picture = self.painter.frame(self.frames, index)
            self.take(index, packed_picture(picture))
            return picture
        return np.asarray(Image.open(io.BytesIO(self._packed[index])))


def packed_picture(picture: Picture) -> bytes:
    """A picture as a PNG, packed fast."""
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, "PNG", compress_level=1)
    return buffer.getvalue()


def centred(field: Field) -> list[np.ndarray]:
    """A face field's components averaged to cell centres."""
    parts = []
    for axis, face in enumerate(field.components()):
        line = np.moveaxis(face, axis, 0)
        both = line + np.roll(line, -1, 0) if field.grid.is_periodic(axis) else line[1:] + line[:-1]
        parts.append(np.moveaxis(0.5 * both, 0, axis))
    return parts


def _three(values: Sequence[float]) -> tuple[float, float, float]:
    x, y, z = (float(value) for value in values)
    return x, y, z


def _colour(value: str | Sequence[float]) -> Colour:
    return value if isinstance(value, str) else _three(value)


def colour_of(problem: BuiltScene, field: str) -> Colour:
    return _colour(problem.colours[field])
