"""From a body in a scene to a source of density and its placement on a grid."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from keyfluid.grid import Grid
from keyfluid.scenes.build.other_run import load_run_body
from keyfluid.scenes.build.vdb_body import VdbBody, load_vdb
from keyfluid.scenes.schema.bodies import SHAPE_KEYS, SolidBody
from keyfluid.scenes.schema.check_bodies import is_sequence, kinds_of
from keyfluid.scenes.schema.scene import Body, Scene
from keyfluid.shapes import (
    SHAPES,
    AnalyticShape,
    AnimatedMesh,
    DensityArray,
    DensitySource,
    Extrusion,
    ImageDrawing,
    Mesh,
    Placement,
    Text,
    load_array,
    load_image,
    load_mesh,
    load_mesh_sequence,
    load_skinned_gltf,
    mass_of,
    resize_to_mass,
    stroke_width_cells,
)
from keyfluid.shapes.image import load_ink
from keyfluid.shapes.placement import domain_of

Reader = Callable[[SolidBody, Scene], DensitySource]
"""Gives what a body is made of."""

LEAST_STROKE = 5.0
_UPRIGHT = ("ring", "torus", "cylinder", "cone", "star", "cross", "heart")


@dataclass(frozen=True)
class PlacedBody:
    """A source with its placement; `kind` is the key that made it."""

    source: DensitySource
    placement: Placement
    kind: str

    @property
    def peak(self) -> float:
        """Its own peak density: 1, but for stored densities."""
        stored = self.source.values if isinstance(self.source, DensityArray | VdbBody) else None
        return float(stored.max()) or 1.0 if stored is not None else 1.0

    def coverage(self, grid: Grid, time: float = 0.0) -> np.ndarray:
        """Mean density over each cell, at time in seconds."""
        return self.source.rasterize(grid.cells, grid.spacing, self.placement, time)

    def mass(self, grid: Grid, time: float = 0.0) -> float:
        """At density 1, in m^2 or m^3."""
        return mass_of(self.coverage(grid, time), grid.spacing)

    def resized(self, grid: Grid, mass: float, time: float = 0.0) -> PlacedBody:
        """Scaled about its centre to this mass, at density 1; one colour of a drawing, to this mass of the whole."""
        whole = self.source.whole if isinstance(self.source, ImageDrawing) else None
        placement = resize_to_mass(whole or self.source, self.placement, grid.cells, grid.spacing, mass, time)
        return replace(self, placement=placement)

    def signed_distance(self, cells: tuple[int, ...], spacing: float, time: float) -> np.ndarray:
        """Metres to its surface, negative inside, at the centres of cells that fill the domain.

        Drawings and stored densities have no surface of their own: theirs lies at half of their peak.
        """
        source, placement = self.source, self.placement
        if isinstance(source, AnalyticShape):
            axes = [(np.arange(n) + 0.5) * spacing for n in cells]
            points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
            return source.signed_distance(points, domain_of(cells, spacing), placement)
        if isinstance(source, Mesh | AnimatedMesh):
            return source.signed_distance_grid(cells, spacing, placement, time)
        share = source.rasterize(cells, spacing, placement, time) / self.peak
        return distance_from_share(share, spacing)

    def surface(self, grid: Grid, time: float) -> tuple[np.ndarray, np.ndarray] | None:
        """Vertices in metres and faces of an animated mesh; None for everything else."""
        if not isinstance(self.source, AnimatedMesh):
            return None
        vertices, faces = self.source.triangles(float(np.clip(time, 0.0, self.source.duration)))
        frame = Mesh(vertices, faces, np.ones(len(faces), bool), self.source.box)
        return frame.transform(grid.size, self.placement).to_world(vertices), faces

    @property
    def words(self) -> str | None:
        """What a text says, in one line."""
        return " ".join(self.source.text.split()) if isinstance(self.source, Text) else None

    def parts(self, grid: Grid) -> list[tuple[str, np.ndarray]]:
        """The words of a text, or the letters of one word, each with its coverage; nothing for other bodies."""
        if not isinstance(self.source, Text):
            return []
        drawn = [(name, part.rasterize(grid.cells, grid.spacing, self.placement)) for name, part in self.source.parts()]
        return [(name, share) for name, share in drawn if share.any()]

    def leaves_domain(self, grid: Grid, time: float = 0.0) -> tuple[bool, bool]:
        """Is it wholly outside the domain, and partly, by more than a cell?"""
        lower, upper = self.source.bounds(grid.cells, grid.spacing, self.placement, time)
        size = np.asarray(grid.size)
        beyond = (lower < -grid.spacing) | (upper > size + grid.spacing)
        return bool(np.any((upper <= 0) | (lower >= size))), bool(np.any(beyond))

    def stroke_cells(self, grid: Grid) -> float | None:
        """Width of a text's strokes in cells."""
        if not isinstance(self.source, Text):
            return None
        if grid.dim == 2:
            return stroke_width_cells(self.source, (grid.cells[0], grid.cells[1]), grid.spacing, self.placement)
        # Flat on the plane it is drawn in; turned letters keep their strokes.
        frame = np.abs(self.source.extrusion.frame())
        right, top = (grid.cells[int(frame[:, column].argmax())] for column in (0, 1))
        flat = replace(self.placement, center=None, rotation=0.0)
        return stroke_width_cells(self.source, (right, top), grid.spacing, flat)


def distance_from_share(share: np.ndarray, spacing: float) -> np.ndarray:
    """Signed distance (metres) of cells filled to these shares: within a cell of the surface it is 1/2 - share."""
    from scipy.ndimage import distance_transform_edt

    inside = share > 0.5
    if not inside.any():
        return np.full(share.shape, float(sum(share.shape)) * spacing)
    outwards, inwards = distance_transform_edt(~inside), distance_transform_edt(inside)
    cells = np.where(inside, 0.5 - inwards, outwards - 0.5)
    return np.where((share > 0) & (share < 1), 0.5 - share, cells) * spacing


def read_source(body: SolidBody, scene: Scene) -> DensitySource:
    """What the body is made of; the scene has passed `check`."""
    return _READERS[kinds_of(body)[0]](body, scene)


def place(body: SolidBody, scene: Scene, read: Reader = read_source) -> PlacedBody:
    """The body where it stands, before the mass rule."""
    kind, source = kinds_of(body)[0], read(body, scene)
    center = None if body.center is None else tuple(body.center)
    if kind == "vdb" and center is None:
        center = source.center  # type: ignore[attr-defined]
    return PlacedBody(
        source, Placement(center, body.scale, upright_rotation(body.rotation, body, scene), body.fit), kind
    )


def place_solid(body: SolidBody, scene: Scene, read: Reader = read_source) -> tuple[AnalyticShape | Mesh, Placement]:
    """The same for a body with a surface."""
    placed = place(body, scene, read)
    assert isinstance(placed.source, AnalyticShape | Mesh)
    return placed.source, placed.placement


def upright_rotation(
    rotation: float | list[float], body: SolidBody, scene: Scene
) -> float | tuple[float, float, float]:
    """Named shapes are drawn with y up; where up is z they are first turned to stand along it."""
    if isinstance(rotation, list):
        x, y, z = rotation
    elif scene.domain.up == "y":
        return rotation
    else:
        x, y, z = 0.0, 0.0, rotation
    return (x + 90.0 if scene.domain.up == "z" and body.shape in _UPRIGHT else x), y, z


def _shape(body: SolidBody, scene: Scene) -> DensitySource:
    name = str(body.shape)
    given = {key: getattr(body, key) for key in SHAPE_KEYS[name] if getattr(body, key) is not None}
    if isinstance(given.get("size"), list):
        given["size"] = tuple(given["size"])
    return SHAPES[name](**given)


def _extrusion(body: Body, scene: Scene) -> Extrusion:
    front = "z" if scene.domain.up == "y" else "-y"
    return Extrusion(body.depth, body.axis or front, scene.domain.up)


def _text(body: Body, scene: Scene) -> DensitySource:
    font = Path(body.font) if body.font is not None else None
    return Text(str(body.text), font, body.align or "center", _extrusion(body, scene))


def _image(body: Body, scene: Scene) -> DensitySource:
    path, extrusion = Path(str(body.image)), _extrusion(body, scene)
    if body.palette is not None and body.ink is not None:
        return load_ink(path, body.palette, body.ink, extrusion)
    return load_image(path, bool(body.invert), extrusion)


def _mesh(body: SolidBody, scene: Scene) -> DensitySource:
    path = Path(str(body.mesh))
    if is_sequence(str(body.mesh)):
        return load_mesh_sequence(path, body.mesh_fps or scene.time.fps)
    return load_skinned_gltf(path) if body.animated else load_mesh(path)


_READERS: dict[str, Callable[..., DensitySource]] = {
    "shape": _shape,
    "text": _text,
    "image": _image,
    "mesh": _mesh,
    "vdb": lambda body, scene: load_vdb(Path(body.vdb), body.grid, scene.dimension),
    "npy": lambda body, scene: load_array(Path(body.npy)),
    "run": load_run_body,
}
