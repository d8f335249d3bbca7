"""A run as a USD stage: NAME.usda, which names the VDB sequence and places camera, light and bodies around it.

Metres, the fps of the scene, the up axis of the VDB files; the time code of a frame is the number in its VDB file's
name. Smoke is a Volume with one OpenVDBAsset for each grid that every frame has. A liquid is a Mesh with its velocities
(runs/usd_mesh.py), and has the Volume of its level set as a guide. The domain and the targets, each visible at its
frame, are guides too: importers leave them out unless they are requested.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from keyfluid.io.usd import Asset, Prim, PrimPath, Samples, layer_text, prim_name
from keyfluid.io.vdb import VdbGrid
from keyfluid.render.camera import Pinhole
from keyfluid.render.colour import parse_colour
from keyfluid.render.lighting import SOLID_COLOUR
from keyfluid.runs.frames import Frames
from keyfluid.runs.pictures import Painter, colour_of
from keyfluid.runs.usd_bodies import obstacle_prims, target_prims
from keyfluid.runs.usd_mesh import MeshFrames
from keyfluid.runs.vdb_files import grids_of, turn_of
from keyfluid.scenes.build.problem import BuiltScene

_FOCAL = 50.0
_SUN = 0.53
"""Angle of the key light as seen from the scene, degrees: the sun's."""


class UsdStage:
    """The stage of the frames `indices` of a run; vdb: files of the sequence by frame, relative to the stage."""

    def __init__(self, problem: BuiltScene, frames: Frames, indices: Sequence[int], vdb: dict[int, str]) -> None:
        self.problem, self.frames, self.indices, self._vdb = problem, frames, indices, vdb
        self.name = prim_name(problem.scene.name)
        self.turn = turn_of(problem)
        self._first = problem.scene.output.start_frame

    def text(self, surface: MeshFrames | None) -> str:
        """The root layer."""
        problem = self.problem
        up = problem.scene.output.up or problem.scene.domain.up
        metadata = {
            "defaultPrim": self.name,
            "doc": "made by keyfluid",
            "endTimeCode": self.code(self.indices[-1]),
            "framesPerSecond": problem.fps,
            "metersPerUnit": 1,
            "startTimeCode": self.code(self.indices[0]),
            "timeCodesPerSecond": problem.fps,
            "upAxis": up.upper(),
        }
        root = Prim("Xform", self.name, {"kind": "component"})
        if self._vdb:
            root.children.append(self._volume(guide=surface is not None))
        if surface is not None:
            root.children.append(surface.prim(self._material("fluid")))
        root.children += [self._camera(), *self._lights(), self._domain()]
        obstacles = obstacle_prims(problem, self.indices, self.code, self._material("body"))
        if obstacles:
            root.children.append(Prim("Scope", "obstacles", children=obstacles))
        targets = target_prims(problem, self.indices, self.code)
        if targets:
            root.children.append(Prim("Scope", "targets", children=targets))
        colour = colour_of(problem, next(iter(problem.colours)))
        root.children.append(
            Prim("Scope", "materials", children=[_surface(self._path("materials"), "fluid", parse_colour(colour)),
                                                 _surface(self._path("materials"), "body", parse_colour(SOLID_COLOUR))])
        )  # fmt: skip
        return layer_text(metadata, [root])

    def code(self, index: int) -> int:
        """Time code of a frame: the number in the name of its VDB file."""
        return self._first + index

    def _path(self, name: str) -> str:
        return f"/{self.name}/{name}"

    def _material(self, name: str) -> str:
        return self._path(f"materials/{name}")

    def _volume(self, guide: bool) -> Prim:
        volume = Prim("Volume", "volume").bind(self._material("fluid"))
        size = self._size()
        corners = np.array([np.zeros(3), size]) @ self.turn.T
        volume.set("float3[] extent", np.sort(corners, axis=0))
        if guide:
            volume.set("uniform token purpose", "guide")
        files = Samples({self.code(index): Asset(file) for index, file in self._vdb.items()})
        for grid in self._common_grids():
            name = prim_name(grid.name)
            volume.set(f"rel field:{name}", PrimPath(self._path(f"volume/{name}")))
            volume.children.append(_field(name, grid, files))
        return volume

    def _common_grids(self) -> list[VdbGrid]:
        """Those of the first frame that the last has too; forces and targets are not in every file."""
        first, last = (grids_of(self.problem, self.frames[index]) for index in (self.indices[0], self.indices[-1]))
        there = {grid.name for grid in last} - {"force", "target"}
        return [grid for grid in first if grid.name in there]

    def _size(self) -> np.ndarray:
        """The size of the domain; 2D is one cell deep."""
        grid = self.problem.grid
        return np.array([*grid.size, grid.spacing][:3])

    def _camera(self) -> Prim:
        """The camera of the film; `camera.fov` is the angle of the picture's height. 2D is seen straight on."""
        camera = Prim("Camera", "camera")
        far = 1e4 * float(max(self._size()))
        camera.set("float2 clippingRange", (far * 1e-7, far))
        if self.problem.grid.dim == 2:
            width, height, _ = self._size()
            middle = np.array([width / 2, height / 2, 2 * max(width, height)])
            camera.set("token projection", "orthographic")
            camera.set("float horizontalAperture", 10 * width).set("float verticalAperture", 10 * height)
            return _placed(camera, self._matrix(np.eye(3), middle))
        painter = Painter(self.problem)
        views = {index: painter.view(index) for index in self.indices}
        width, height = views[self.indices[0]].size
        tall = 2 * _FOCAL * math.tan(math.radians(self.problem.scene.camera.fov) / 2)
        camera.set("float focalLength", _FOCAL).set("token projection", "perspective")
        camera.set("float horizontalAperture", tall * width / height).set("float verticalAperture", tall)
        poses = {self.code(index): self._pose(view.camera) for index, view in views.items()}
        moves = bool(self.problem.scene.camera.orbit)
        return _placed(camera, Samples(poses) if moves else next(iter(poses.values())))

    def _pose(self, camera: Pinhole) -> tuple[tuple[float, ...], ...]:
        right, top, forward = camera.basis(self.problem.scene.domain.up)
        return self._matrix(np.array([right, top, -forward]), np.asarray(camera.position))

    def _matrix(self, axes: np.ndarray, position: np.ndarray) -> tuple[tuple[float, ...], ...]:
        """Rows are where x, y and z go, and the place, in the axes of files."""
        rows = np.eye(4)
        rows[:3, :3], rows[3, :3] = axes @ self.turn.T, position @ self.turn.T
        return tuple(tuple(row) for row in rows.tolist())

    def _lights(self) -> list[Prim]:
        """The key light, far away, and the sky."""
        light = self.problem.scene.light
        sun = Prim("DistantLight", "key").set("float inputs:angle", _SUN)
        sun.set("color3f inputs:color", _rgb(light.colour)).set("float inputs:intensity", light.strength)
        if self.problem.grid.dim == 3:
            towards = Painter(self.problem).view(0).light.towards(self.problem.scene.domain.up)
        else:
            towards = np.array([0.0, 0.0, 1.0])
        aside = np.cross([0.0, 1.0, 0.0] if abs(towards[1]) < 0.9 else [1.0, 0.0, 0.0], towards)
        aside /= np.linalg.norm(aside)
        _placed(sun, self._matrix(np.array([aside, np.cross(towards, aside), towards]), np.zeros(3)))
        sky = Prim("DomeLight", "sky").set("color3f inputs:color", _rgb(light.sky_colour))
        return [sun, sky.set("float inputs:intensity", light.sky_strength)]

    def _domain(self) -> Prim:
        """The twelve edges of the box."""
        corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)])
        edges = [(a, b) for a in range(8) for b in range(a) if np.abs(corners[a] - corners[b]).sum() == 1]
        points = (corners * self._size()) @ self.turn.T
        box = Prim("BasisCurves", "domain").set("uniform token type", "linear").set("uniform token purpose", "guide")
        box.set("int[] curveVertexCounts", np.full(len(edges), 2))
        box.set("point3f[] points", points[np.array(edges).ravel()])
        box.set("float3[] extent", np.array([points.min(axis=0), points.max(axis=0)]))
        return box.set("float[] widths", np.full(2 * len(edges), 0.1 * self.problem.grid.spacing))


def _field(name: str, grid: VdbGrid, files: Samples) -> Prim:
    vector = grid.data.ndim == 4
    asset = Prim("OpenVDBAsset", name).set("token fieldName", grid.name)
    asset.set("token fieldDataType", ("half" if grid.half else "float") + ("3" if vector else ""))
    kind = {"fog volume": "fogVolume", "level set": "levelSet"}.get(grid.grid_class, "unknown")
    asset.set("token fieldClass", kind)
    if vector:
        asset.set("token vectorDataRoleHint", "Color" if grid.name in ("Cd", "color") else "Vector")
    return asset.set("asset filePath", files)


def _placed(prim: Prim, matrix: object) -> Prim:
    prim.set("matrix4d xformOp:transform", matrix)
    return prim.set("uniform token[] xformOpOrder", ["xformOp:transform"])


def _rgb(colour: object) -> tuple[float, ...]:
    return tuple(round(float(part), 6) for part in parse_colour(colour))  # type: ignore[arg-type]


def _surface(scope: str, name: str, colour: np.ndarray) -> Prim:
    """A material that every program has."""
    path = f"{scope}/{name}"
    shader = Prim("Shader", "preview").set("uniform token info:id", "UsdPreviewSurface")
    shader.set("color3f inputs:diffuseColor", tuple(round(float(part), 6) for part in colour))
    shader.set("float inputs:roughness", 0.3 if name == "fluid" else 0.8).declare("token outputs:surface")
    material = Prim("Material", name, children=[shader])
    return material.set("token outputs:surface.connect", PrimPath(f"{path}/preview.outputs:surface"))
