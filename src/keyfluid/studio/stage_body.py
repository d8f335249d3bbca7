"""One body on the stage: what the page shows of it in numbers, and its coverage as bytes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from keyfluid.grid import Grid
from keyfluid.problem import Emission, Keyframe
from keyfluid.scenes.build.bodies import SceneBodies
from keyfluid.scenes.build.deforming import DeformingBody
from keyfluid.scenes.build.keyframes import mass_rule
from keyfluid.scenes.build.obstacles import MovingBody
from keyfluid.scenes.build.pictures import averaged_over
from keyfluid.scenes.build.sources import PlacedBody
from keyfluid.scenes.schema.bodies import SolidBody
from keyfluid.scenes.schema.liquid import LiquidInitial
from keyfluid.scenes.schema.scene import KeyframeEntry, Scene, Source
from keyfluid.scenes.schema.smoke import Initial
from keyfluid.shapes import mass_of
from keyfluid.studio.arrays import as_bytes


@dataclass(frozen=True)
class DrawnBody:
    """facts: for the page; coverage: bytes on the grid it was drawn on, 255 where the body is full."""

    facts: dict[str, Any]
    coverage: np.ndarray

    @property
    def id(self) -> str:
        return str(self.facts["id"])

    def with_other(self, other: DrawnBody) -> DrawnBody:
        """Two colours of one picture, as one body."""
        bounds = [facts["bound"] for facts in (self.facts, other.facts) if facts.get("bound") is not None]
        facts = {**self.facts, "mass": self.facts["mass"] + other.facts["mass"], "bound": max(bounds, default=None)}
        return replace(self, facts=facts, coverage=np.maximum(self.coverage, other.coverage))


def empty(grid: Grid) -> np.ndarray:
    return np.zeros(grid.cells)


def arrays_of(body: DrawnBody, most: int) -> dict[str, np.ndarray]:
    """2D: the coverage. 3D: a volume of at most `most` cells on its longest side, and what is seen along each axis."""
    coverage = body.coverage
    if coverage.ndim == 2:
        return {body.id: coverage}
    longest = max(coverage.shape)
    volume = coverage
    if longest > most:
        cells = [max(1, round(count * most / longest)) for count in coverage.shape]
        volume = np.rint(averaged_over(coverage.astype(np.float64), cells)).astype(np.uint8)
    views = {f"{body.id}/{'xyz'[axis]}": np.ascontiguousarray(coverage.max(axis=axis)) for axis in range(3)}
    return {body.id: volume, **views}


def start_body(
    body: str, entry: Initial | LiquidInitial, placed: PlacedBody, path: str, bodies: SceneBodies
) -> DrawnBody:  # fmt: skip
    plan = bodies.plans[bodies.scene.field_of(entry)]
    sized = plan.sized.get(path, placed)
    density = entry.density * np.where(bodies.solid, 0.0, sized.coverage(bodies.grid))
    facts = _facts(body, "start", entry, placed, sized, bodies, 0.0)
    facts |= {"frame": 0, **_field(bodies.scene, entry), "mass": mass_of(density, bodies.grid.spacing)}
    facts["rule"] = "own" if entry.mass is None else "first-key" if entry.mass == "first-key" else "mass"
    return DrawnBody(facts, as_bytes(density, plan.peak))


def source_body(
    body: str, entry: Source, placed: PlacedBody, emission: Emission | None, bodies: SceneBodies
) -> DrawnBody:
    mask = emission.mask if emission is not None else empty(bodies.grid)
    until = entry.stop if entry.stop is not None else bodies.scene.time.frames
    facts = _facts(body, "source", entry, placed, placed, bodies, 0.0)
    facts |= {"frame": entry.start, "until": until, **_field(bodies.scene, entry)}
    facts["mass"] = mass_of(mask, bodies.grid.spacing)
    return DrawnBody(facts, as_bytes(mask, 1.0))


def obstacle_body(body: str, solid: MovingBody | DeformingBody, time: float, bodies: SceneBodies) -> DrawnBody:
    entry, grid = solid.obstacle, bodies.grid
    first = PlacedBody(solid.source, solid.placement, "mesh" if entry.mesh else "shape")
    inside = solid.distance(time) < 0
    facts = _facts(body, "obstacle", entry, first, first, bodies, 0.0)
    moved = [0.0] * grid.dim
    if isinstance(solid, MovingBody):
        moved = [float(now - then) for now, then in zip(solid.pose(time).center, solid.pose(0.0).center)]
    for corner in ("lower", "upper"):
        facts[corner] = [value + shift for value, shift in zip(facts[corner], moved)]
    facts |= {"frame": 0, "moves": solid.moves, "moved": moved, "mass": mass_of(inside, grid.spacing)}
    if entry.path is not None:
        facts["path"] = [{"frame": point.frame, "center": list(point.center)} for point in entry.path]
    return DrawnBody(facts, np.where(inside, np.uint8(255), np.uint8(0)))


def keyframe_body(
    body: str, index: int, placed: PlacedBody, target: Keyframe | np.ndarray, bodies: SceneBodies
) -> DrawnBody:
    """target: a plain coverage if the mass rule can't be followed."""
    entry = bodies.scene.keyframe[index]
    plan = bodies.plans[bodies.scene.field_of(entry)]
    time = (target.frame if isinstance(target, Keyframe) else entry.frame) / bodies.scene.time.fps
    sized = target.body if isinstance(target, Keyframe) else placed
    assert isinstance(sized, PlacedBody)
    facts = _facts(body, "keyframe", entry, placed, sized, bodies, time)
    facts |= {"frame": entry.frame, "until": entry.until, "hold": entry.hold, **_field(bodies.scene, entry)}
    facts["rule"] = "first-key" if plan.first_key == index else mass_rule(entry, placed.kind)
    if isinstance(target, Keyframe):
        facts |= {"mass": target.mass, "bound": target.bound}
        return DrawnBody(facts, as_bytes(target.target, plan.peak))
    facts |= {"mass": mass_of(target, bodies.grid.spacing), "bound": None}
    return DrawnBody(facts, as_bytes(target, placed.peak))


def _facts(
    body: str, role: str, entry: SolidBody, placed: PlacedBody, sized: PlacedBody, bodies: SceneBodies, time: float
) -> dict[str, Any]:
    grid = bodies.grid
    lower, upper = sized.source.bounds(grid.cells, grid.spacing, sized.placement, time)
    center = sized.placement.center or tuple(side / 2 for side in grid.size)
    return {
        "id": body,
        "role": role,
        "kind": placed.kind,
        "center": [float(value) for value in center],
        "lower": [float(value) for value in lower],
        "upper": [float(value) for value in upper],
        "scale": entry.scale,
        "rotation": entry.rotation,
        "sized": sized.placement.scale / placed.placement.scale,
        "fixed_place": placed.kind == "run",
    }


def _field(scene: Scene, entry: Initial | LiquidInitial | Source | KeyframeEntry) -> dict[str, Any]:
    name = scene.field_of(entry)
    colour = next(field.colour for field in scene.fluid.field if field.name == name)
    if not isinstance(colour, str):
        colour = "#" + "".join(f"{round(255 * part):02x}" for part in colour)
    return {"field": name, "colour": colour}
