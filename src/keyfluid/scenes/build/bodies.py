"""The bodies of a scene on its grid: read, placed, sized by the mass rule and drawn, with every fault found on the way.

`build` stops at the first of these steps that finds faults; the studio's stage shows what is left.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np

from keyfluid.errors import KeyfluidError, SceneError, SceneErrors
from keyfluid.grid import Grid
from keyfluid.problem import Emission
from keyfluid.scenes.build.keyframes import FieldPlan, TargetMaker
from keyfluid.scenes.build.obstacles import Obstacles
from keyfluid.scenes.build.report import Told, say_nothing
from keyfluid.scenes.build.sources import PlacedBody, Reader, place, read_source
from keyfluid.scenes.schema.bodies import SolidBody
from keyfluid.scenes.schema.check_bodies import kinds_of
from keyfluid.scenes.schema.checks import start_path
from keyfluid.scenes.schema.liquid import LiquidInitial
from keyfluid.scenes.schema.scene import Scene
from keyfluid.scenes.schema.smoke import Initial
from keyfluid.shapes.arrays import LARGEST_DENSITY


class SceneBodies:
    """Collects faults, so that all of them are reported at once. read: gives what a body is made of."""

    def __init__(self, scene: Scene, grid: Grid, told: Told = say_nothing, read: Reader = read_source) -> None:
        self.scene, self.grid, self.told, self.read = scene, grid, told, read
        self.dtype = np.dtype(scene.simulation.precision)
        self.faults: list[SceneError] = []
        self.warnings: list[str] = []
        self.placed: list[tuple[str, SolidBody, PlacedBody]] = []
        """Every body of fluid: its key path, its table, and where it is."""
        self.solids: Obstacles | None = None
        self.sources: dict[int, Emission] = {}
        self.starts: list[tuple[int, PlacedBody]] = []
        self.keys: list[tuple[int, PlacedBody]] = []
        self.plans: dict[str, FieldPlan] = {}
        self.targets = TargetMaker(scene, grid, self.dtype, told, read)

    @property
    def solid(self) -> np.ndarray:
        """Cells inside obstacles at frame 0."""
        now = self.solids(0.0) if self.solids is not None else None
        return now.solid if now is not None else np.zeros(self.grid.cells, dtype=bool)

    def place(self) -> None:
        """Read every body and put it in its place."""
        self.place_fluid()
        self.place_keys()

    def place_fluid(self) -> None:
        """Obstacles, sources and starts."""
        self.solids = self._solids()
        self.sources = self._sources(self.solids)
        self.starts = self._starts()

    def place_keys(self) -> None:
        self.keys = self._place_keys()

    def size_starts(self, known: Mapping[str, np.ndarray]) -> None:
        """Draw the starts at their sizes; known: the densities of fields in a run that is edited."""
        scene, emissions, solid = self.scene, list(self.sources.values()), self.solid
        self.plans = {
            f.name: FieldPlan(f.name, scene, self.grid, self.starts, emissions, solid) for f in scene.fluid.field
        }
        for plan in self.plans.values():
            with self.at(start_path(scene, 0)):
                plan.size_starts(self.keys, known.get(plan.name))

    def draw_targets(self) -> None:
        """Draw the targets of all keyframes."""
        for i, placed in self.keys:
            with self.at(f"keyframe[{i}]"):
                self.targets.add(i, placed, self.plans, self.solids)

    @contextmanager
    def at(self, path: str) -> Iterator[None]:
        """Faults raised inside belong to this key."""
        try:
            yield
        except SceneErrors as errors:
            self.faults += errors.faults
        except SceneError as error:
            self.faults.append(error)
        except KeyfluidError as error:
            self.faults.append(SceneError(path, " ".join(str(error).split())))

    def _solids(self) -> Obstacles | None:
        with self.at("obstacle"):
            solids = Obstacles(self.scene, self.grid, self.dtype, self.told, self.read)
            solids(0.0)
            return solids
        return None

    def _sources(self, solids: Obstacles | None) -> dict[int, Emission]:
        scene = self.scene
        found: dict[int, Emission] = {}
        still = solids(0.0) if solids is not None and not solids.move else None
        for i, entry in enumerate(scene.source):
            self.told("drawing source", i + 1, len(scene.source))
            with self.at(f"source[{i}].{kinds_of(entry)[0]}"):
                placed = place(entry, scene, self.read)
                self.placed.append((f"source[{i}]", entry, placed))
                mask = np.clip(placed.coverage(self.grid), 0.0, 1.0)
                if not mask.any():
                    raise KeyfluidError("lies outside the domain; check center and size")
                if still is not None:
                    mask = self._outside(f"source[{i}]", mask, still.solid)
                held = None if entry.rate is not None else (entry.density if entry.density is not None else 1.0)
                found[i] = Emission(
                    scene.field_of(entry),
                    mask.astype(self.dtype),
                    entry.rate,
                    held,
                    None if entry.velocity is None else tuple(entry.velocity),
                    entry.start,
                    entry.stop if entry.stop is not None else scene.time.frames,
                    entry.temperature,
                )
        return found

    def _outside(self, path: str, mask: np.ndarray, solid: np.ndarray) -> np.ndarray:
        """A source's region without what lies inside obstacles, where it would give nothing."""
        lost = float(mask[solid].sum() / mask.sum())
        if lost > 1 - 1e-9:
            raise KeyfluidError("lies inside an obstacle; move one of them")
        if lost > 0.01:
            self.warnings.append(f"{path}: {100 * lost:.0f} % of it lies inside an obstacle and emits nothing")
        return np.where(solid, 0.0, mask)

    def _starts(self) -> list[tuple[int, PlacedBody]]:
        entries: Sequence[Initial | LiquidInitial] = self.scene.fluid.initial
        found = []
        for i, entry in enumerate(entries):
            self.told("reading start", i + 1, len(entries))
            with self.at(f"{start_path(self.scene, i)}.{kinds_of(entry)[0]}"):
                placed = place(entry, self.scene, self.read)
                if placed.leaves_domain(self.grid)[0]:
                    raise KeyfluidError("lies outside the domain; check center and size")
                if entry.density * placed.peak > LARGEST_DENSITY:
                    raise SceneError(
                        f"{start_path(self.scene, i)}.density",
                        f"{entry.density:g} times the largest value of the file, {placed.peak:.3g}, is more than "
                        f"{LARGEST_DENSITY:g}; give a smaller one",
                    )
                self.placed.append((start_path(self.scene, i), entry, placed))
                found.append((i, placed))
        return found

    def _place_keys(self) -> list[tuple[int, PlacedBody]]:
        found = []
        for i, entry in enumerate(self.scene.keyframe):
            self.told("reading keyframe", i + 1, len(self.scene.keyframe))
            with self.at(f"keyframe[{i}].{kinds_of(entry)[0]}"):
                placed = place(entry, self.scene, self.read)
                if placed.leaves_domain(self.grid, entry.frame / self.scene.time.fps)[0]:
                    raise KeyfluidError("lies outside the domain; check center and size")
                self.placed.append((f"keyframe[{i}]", entry, placed))
                found.append((i, placed))
        return found
