"""The stage: every body of a scene where the engine will put it, drawn on the engine's own grid.

Placing, the mass rule and drawing are those of a run (keyfluid.scenes.build.bodies); here they go on after a fault,
so that a shape that can't be reached is seen. What was read or drawn is kept: a drag draws only what it changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from keyfluid.errors import KeyfluidError, SceneError, SceneErrors
from keyfluid.grid import Grid
from keyfluid.scenes.build.bodies import SceneBodies
from keyfluid.scenes.build.colours import Origins, with_colours
from keyfluid.scenes.build.inputs import FILE_KEYS, files_of
from keyfluid.scenes.build.keyframes import TargetMaker
from keyfluid.scenes.build.memory import make_grid
from keyfluid.scenes.build.other_run import open_edit
from keyfluid.scenes.build.sources import PlacedBody, place, read_source
from keyfluid.scenes.schema.bodies import KIND_KEYS, SolidBody
from keyfluid.scenes.schema.check_bodies import kinds_of
from keyfluid.scenes.schema.checks import start_path
from keyfluid.scenes.schema.liquid import LiquidInitial
from keyfluid.scenes.schema.load import preview
from keyfluid.scenes.schema.scene import Scene
from keyfluid.scenes.schema.smoke import Initial
from keyfluid.shapes import DensitySource
from keyfluid.studio.memo import Memo
from keyfluid.studio.stage_body import (
    DrawnBody,
    arrays_of,
    empty,
    keyframe_body,
    obstacle_body,
    source_body,
    start_body,
)

MOST_CELLS = 1 << 18
"""Cells of the engine's grid up to which bodies are drawn on it: 512^2, 64^3."""

DRAFT_SIDE = {2: 256, 3: 48}
"""Cells of the longest side of the grid on which larger scenes and drafts of 3D scenes are drawn."""

_READ_KINDS = ("text", "image", "mesh", "vdb", "npy")


@dataclass(frozen=True)
class Asked:
    """What the page asks for. bodies: only these; frame: of moving ones; draft: coarse in 3D, strokes not measured."""

    bodies: frozenset[str] | None = None
    frame: int = 0
    draft: bool = False

    def names(self, body: str) -> bool:
        return self.bodies is None or body in self.bodies


@dataclass(frozen=True)
class _Target:
    """What came of one keyframe."""

    drawn: DrawnBody | None
    faults: tuple[SceneError, ...]
    warnings: tuple[str, ...]


class StageDrawer:
    """One per studio; draws one scene at a time."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._sources: Memo[DensitySource] = Memo(48)
        self._fluids: Memo[SceneBodies] = Memo(3)
        self._targets: Memo[_Target] = Memo(256)

    def draw(self, scene: Scene, asked: Asked) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """The header and the arrays of an answer; the scene has passed `check`."""
        with self._lock:
            return self._draw(scene, asked)

    def _draw(self, given: Scene, asked: Asked) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        full = make_grid(given)
        side = DRAFT_SIDE[full.dim]
        coarse = (full.count > MOST_CELLS or (asked.draft and full.dim == 3)) and max(full.cells) > side
        faults: list[SceneError] = []
        warnings: list[str] = []
        drawn: dict[str, DrawnBody] = {}
        try:
            scene, _, origins = with_colours(preview(given, side) if coarse else given)
            grid = make_grid(scene)
            bodies = self._bodies(scene, grid)
            bodies.place_keys()
            for body in self._all(bodies, asked, origins, faults, warnings):
                drawn[body.id] = drawn[body.id].with_other(body) if body.id in drawn else body
            faults[:0], warnings[:0] = bodies.faults, [*bodies.warnings, *_plan_warnings(bodies)]
        except SceneErrors as errors:
            grid, faults = full, list(errors.faults)
        header = {
            "dim": full.dim,
            "size": [float(side) for side in full.size],
            "cells": list(full.cells),
            "spacing": float(full.spacing),
            "drawn": list(grid.cells),
            "exact": not coarse,
            "fps": given.time.fps,
            "frames": given.time.frames,
            "up": given.domain.up,
            "bodies": [body.facts for body in drawn.values()],
            "warnings": list(dict.fromkeys(warnings)),
            "faults": [{"path": fault.key, "message": fault.message} for fault in faults],
        }
        arrays = {name: array for body in drawn.values() for name, array in arrays_of(body, DRAFT_SIDE[3]).items()}
        return header, arrays

    def _bodies(self, scene: Scene, grid: Grid) -> SceneBodies:
        """The scene's bodies, with obstacles, sources and starts drawn; its keyframes are not placed yet."""
        tables = {"domain", "time", "smoke", "liquid", "source", "obstacle", "simulation", "edit"}
        if any(entry.mass == "first-key" for entry in scene.fluid.initial):
            tables.add("keyframe")
        key = (scene.model_dump_json(include=tables), tuple(_stamps(scene.model_dump(include=tables))))
        fluid = self._fluids.get(key, lambda: self._fluid(scene, grid))
        bodies = SceneBodies(scene, grid, read=self._read)
        bodies.solids, bodies.sources, bodies.starts, bodies.plans = (
            fluid.solids, fluid.sources, fluid.starts, fluid.plans,
        )  # fmt: skip
        bodies.faults, bodies.warnings = list(fluid.faults), list(fluid.warnings)
        return bodies

    def _fluid(self, scene: Scene, grid: Grid) -> SceneBodies:
        bodies = SceneBodies(scene, grid, read=self._read)
        known = {}
        if scene.edit is not None:
            with bodies.at("edit.run"):
                edit = open_edit(scene.edit, scene)
                known = {f.name: edit.start(f.name, grid) for f in scene.fluid.field}
        bodies.place_fluid()
        if any(entry.mass == "first-key" for entry in scene.fluid.initial):
            bodies.place_keys()
        bodies.size_starts(known)
        bodies.faults[:] = [fault for fault in bodies.faults if not fault.key.startswith("keyframe")]
        return bodies

    def _all(
        self, bodies: SceneBodies, asked: Asked, origins: Origins, faults: list[SceneError], warnings: list[str]
    ) -> Iterator[DrawnBody]:
        """The bodies that were asked for, in the order of the scene; faults and warnings of keyframes are added."""
        scene, table = bodies.scene, bodies.scene.fluid.table
        time = asked.frame / scene.time.fps

        def name(group: str, i: int) -> str:
            path = f"{table}.initial" if group == "initial" else group
            return f"{path}[{origins[group][i] if group in origins else i}]"

        for i, start in enumerate(scene.fluid.initial):
            assert isinstance(start, Initial | LiquidInitial)
            if asked.names(body := name("initial", i)):
                placed = self._placed(dict(bodies.starts).get(i), start, scene)
                if placed is not None:
                    yield start_body(body, start, placed, start_path(scene, i), bodies)
        for i, source in enumerate(scene.source):
            if asked.names(body := name("source", i)):
                placed = self._placed(None, source, scene)
                if placed is not None:
                    yield source_body(body, source, placed, bodies.sources.get(i), bodies)
        for i, solid in enumerate(bodies.solids.bodies if bodies.solids is not None else ()):
            if asked.names(body := name("obstacle", i)):
                yield obstacle_body(body, solid, time, bodies)
        placed_keys = dict(bodies.keys)
        for i in range(len(scene.keyframe)):
            if asked.names(body := name("keyframe", i)):
                found = self._target(body, i, placed_keys.get(i), bodies, asked)
                faults += found.faults
                warnings += found.warnings
                if found.drawn is not None:
                    yield found.drawn

    def _target(self, body: str, i: int, placed: PlacedBody | None, bodies: SceneBodies, asked: Asked) -> _Target:
        scene, entry = bodies.scene, bodies.scene.keyframe[i]
        shown = min(max(asked.frame, entry.frame), entry.until or entry.frame)
        if placed is None:
            outside = self._placed(None, entry, scene)
            drawn = None if outside is None else keyframe_body(body, i, outside, empty(bodies.grid), bodies)
            return _Target(drawn, (), ())
        plan = bodies.plans[scene.field_of(entry)]
        amount = (plan.start.tobytes(), plan.peak, plan.given(shown), plan.share_left(shown), plan.first_key)
        solid = bodies.solids(shown / scene.time.fps) if bodies.solids is not None else None
        key = (
            body, i, entry.model_dump_json(), tuple(_stamps(entry.model_dump())), shown, asked.draft, bodies.grid.cells,
            bodies.grid.spacing, hash(amount), None if solid is None else hash(solid.solid.tobytes()),
            scene.model_dump_json(include={"simulation", "time"}), scene.domain.up,
        )  # fmt: skip
        return self._targets.get(key, lambda: self._drawn_target(body, i, placed, bodies, shown, asked.draft))

    def _drawn_target(
        self, body: str, i: int, placed: PlacedBody, bodies: SceneBodies, shown: int, draft: bool
    ) -> _Target:
        maker = TargetMaker(bodies.scene, bodies.grid, bodies.dtype, read=self._read)
        maker.strokes = not draft
        faults = []
        try:
            maker.add(i, placed, bodies.plans, bodies.solids, shown)
        except SceneError as error:
            faults.append(error)
        except KeyfluidError as error:
            faults.append(SceneError(f"keyframe[{i}]", " ".join(str(error).split())))
        if maker.keyframes:
            drawn = keyframe_body(body, i, placed, maker.keyframes[0], bodies)
        else:
            drawn = keyframe_body(body, i, placed, placed.coverage(bodies.grid, shown / bodies.scene.time.fps), bodies)
        return _Target(drawn, tuple(faults), tuple(maker.warnings))

    def _placed(self, known: PlacedBody | None, entry: SolidBody, scene: Scene) -> PlacedBody | None:
        """A body in its place, those outside the domain too; None if it can't be read."""
        try:
            return known or place(entry, scene, self._read)
        except KeyfluidError:
            return None

    def _read(self, body: SolidBody, scene: Scene) -> DensitySource:
        """What a body is made of, read once as long as its file does not change."""
        kind = kinds_of(body)[0]
        if kind not in _READ_KINDS:
            return read_source(body, scene)
        told = {key: getattr(body, key, None) for key in (kind, *KIND_KEYS[kind])}
        key = (repr(told), tuple(_stamps(told)), scene.domain.up, scene.dimension, scene.time.fps)
        return self._sources.get(key, lambda: read_source(body, scene))


def _plan_warnings(bodies: SceneBodies) -> Iterator[str]:
    for plan in bodies.plans.values():
        yield from plan.warnings


def _stamps(node: Any) -> Iterator[tuple[str, int, int]]:
    """Name, time and size of every file that these tables name."""
    if isinstance(node, list):
        for entry in node:
            yield from _stamps(entry)
    elif isinstance(node, dict):
        for key, value in node.items():
            if isinstance(value, str) and key in FILE_KEYS:
                yield from map(_stamp, _files(key, value))
            else:
                yield from _stamps(value)


def _files(key: str, value: str) -> list[Path]:
    try:
        return files_of(key, value)
    except KeyfluidError:
        return [Path(value)]


def _stamp(path: Path) -> tuple[str, int, int]:
    try:
        found = path.stat()
        return str(path), found.st_mtime_ns, found.st_size
    except OSError:
        return str(path), 0, 0
