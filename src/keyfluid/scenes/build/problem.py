"""From a scene to arrays: everything a run needs, on the grid, checked.

    built = build(load_scene("word.toml"))     raises SceneErrors with every fault found

A BuiltScene is the problem that its method is given (keyfluid.problem), with the scene itself, the colours of its
fields and the lines to print before a run. Mass (DESIGN.md): see keyframes.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from keyfluid.errors import KeyfluidError, SceneError, SceneErrors
from keyfluid.grid import Grid
from keyfluid.io.budget import memory_of_machine
from keyfluid.problem import Emission, EngineOptions, Keyframe, Problem
from keyfluid.scenes.build import forewarnings
from keyfluid.scenes.build.colours import with_colours
from keyfluid.scenes.build.flows import place_flow
from keyfluid.scenes.build.fluids import fluid_faults, make_fluid
from keyfluid.scenes.build.keyframes import FieldPlan, TargetMaker
from keyfluid.scenes.build.memory import make_grid, memory_estimate, memory_fault
from keyfluid.scenes.build.obstacles import Obstacles
from keyfluid.scenes.build.other_run import open_edit
from keyfluid.scenes.build.pictures import place_picture
from keyfluid.scenes.build.report import Told, say_nothing
from keyfluid.scenes.build.sources import PlacedBody, place
from keyfluid.scenes.build.start_values import velocity_of_starts
from keyfluid.scenes.build.winds import place_wind, start_temperature, wind_warnings
from keyfluid.scenes.schema.bodies import SolidBody
from keyfluid.scenes.schema.check_bodies import kinds_of
from keyfluid.scenes.schema.checks import check, start_path
from keyfluid.scenes.schema.faults import raise_any
from keyfluid.scenes.schema.liquid import LiquidInitial
from keyfluid.scenes.schema.load import preview
from keyfluid.scenes.schema.scene import Scene
from keyfluid.scenes.schema.smoke import Initial
from keyfluid.shapes.arrays import LARGEST_DENSITY

_OFF_SIZE = 0.02


@dataclass(frozen=True, eq=False)
class BuiltScene(Problem):
    """A scene on its grid. colours: {field: colour}; warnings: lines to print before a run."""

    solids: Obstacles
    scene: Scene
    colours: dict[str, str | tuple[float, ...]]
    warnings: list[str]
    _coarser: dict[int, BuiltScene] = field(default_factory=dict, repr=False)

    def coarser(self, factor: int) -> BuiltScene:
        """The same scene with `factor` times fewer cells per axis, built once."""
        if factor not in self._coarser:
            self._coarser[factor] = build(preview(self.scene, self.scene.domain.resolution // factor))
        return self._coarser[factor]

    def __getstate__(self) -> dict[str, Any]:
        """Without the coarser ones: another process builds those that it needs."""
        return {**self.__dict__, "_coarser": {}}


def build(scene: Scene, told: Told = say_nothing) -> BuiltScene:
    """Read every file, draw every body, apply the mass rule.

    told: called with what is being read or drawn, its number and the total, to report progress.
    """
    raise_any(check(scene))
    scene, colours = with_colours(scene)
    grid = make_grid(scene)
    fault = memory_fault(scene, grid)
    raise_any([fault] if fault is not None else [])
    return _Builder(scene, grid, told, colours).build()


class _Builder:
    """Collects faults, so that all of them are reported at once."""

    def __init__(self, scene: Scene, grid: Grid, told: Told, warnings: Sequence[str] = ()) -> None:
        self.scene, self.grid, self.told = scene, grid, told
        self.dtype = np.dtype(scene.simulation.precision)
        self.faults: list[SceneError] = []
        self.warnings = list(warnings)
        self.placed: list[tuple[str, SolidBody, PlacedBody]] = []
        """Every body of fluid: its key path, its table, and where it is."""

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

    def build(self) -> BuiltScene:
        scene, grid = self.scene, self.grid
        self._compare_sizes()
        edit, known = None, {}
        if scene.edit is not None:
            with self.at("edit.run"):
                edit = open_edit(scene.edit, scene)
                known = {f.name: edit.start(f.name, grid) for f in scene.fluid.field}
        raise_any(self.faults)
        solids = self._solids()
        sources = self._sources(solids)
        starts = self._starts()
        maker = TargetMaker(scene, grid, self.dtype, self.told)
        keys = self._place_keys()
        raise_any(self.faults)
        assert solids is not None
        now = solids(0.0)
        solid = now.solid if now is not None else np.zeros(grid.cells, dtype=bool)
        plans = {f.name: FieldPlan(f.name, scene, grid, starts, sources, solid) for f in scene.fluid.field}
        for plan in plans.values():
            with self.at(start_path(scene, 0)):
                plan.size_starts(keys, known.get(plan.name))
        raise_any(self.faults)
        for i, placed in keys:
            with self.at(f"keyframe[{i}]"):
                maker.add(i, placed, plans, solids)
        raise_any(self.faults)
        for plan in plans.values():
            self.warnings += plan.warnings
        pictures = []
        for i, entry in enumerate(scene.picture):
            self.told("drawing picture", i + 1, len(scene.picture))
            with self.at(f"picture[{i}].image"):
                pictures.append(place_picture(entry, scene, grid))
        flows = []
        for i, flow in enumerate(scene.flow):
            with self.at(f"flow[{i}]"):
                flows.append(place_flow(flow, scene, grid, f"flow[{i}]", self.dtype))
        blowing = []
        for i in range(len(scene.wind)):
            with self.at(f"wind[{i}]"):
                blowing.append(place_wind(i, scene, grid, self.dtype))
        raise_any(self.faults)
        auto = scene.time.steps_per_frame == "auto"
        steps = None if auto else int(scene.time.steps_per_frame)
        winds = [wind for plan in plans.values() for wind in plan.winds]
        warmth = [warm for plan in plans.values() for warm in plan.warmth]
        keyframes, fluid = maker.sorted(), make_fluid(scene.fluid)
        start = {name: fluid.initial(grid, self.dtype, plan.start, plan.bodies) for name, plan in plans.items()}
        raise_any(fluid_faults(scene, grid, start, plans, keyframes))
        self._warn_early(solids, plans, keyframes)
        return BuiltScene(
            scene=scene,
            grid=grid,
            dtype=self.dtype,
            fps=scene.time.fps,
            frames=scene.time.frames,
            steps_per_frame=steps,
            cfl=scene.simulation.cfl,
            densities=start,
            velocity=velocity_of_starts(grid, winds, self.dtype),
            temperature=start_temperature(grid, warmth, solid, self.dtype) if scene.warm else None,
            sources=sources,
            winds=blowing,
            solids=solids,
            fluid=fluid,
            up={"y": 1, "z": 2}[scene.domain.up],
            engine=EngineOptions(scene.simulation.order, scene.simulation.feet, scene.simulation.interpolation),
            keyframes=keyframes,
            pictures=pictures,
            flows=flows,
            edit=edit,
            colours={f.name: f.colour if isinstance(f.colour, str) else tuple(f.colour) for f in scene.fluid.field},
            peaks={name: plan.peak for name, plan in plans.items()},
            warnings=self.warnings + wind_warnings(scene) + maker.warnings,
            control=scene.control,
            seed=scene.seed,
            memory_estimate_bytes=memory_estimate(scene, grid),
            memory_limit_bytes=memory_of_machine(),
        )

    def _compare_sizes(self) -> None:
        for axis, (wanted, made) in enumerate(zip(self.scene.domain.size, self.grid.size)):
            if abs(made / wanted - 1) > _OFF_SIZE:
                self.warnings.append(
                    f"domain.size: axis {axis} becomes {made:.4g} m instead of {wanted:.4g} m, a whole number of cells"
                )

    def _warn_early(self, solids: Obstacles, plans: Mapping[str, FieldPlan], keyframes: Sequence[Keyframe]) -> None:
        """Forewarnings of all bodies, as they are after sizing."""
        scene, grid, resolution = self.scene, self.grid, self.scene.domain.resolution
        bodies = [(path, body, getattr(entry, "invert", None)) for path, entry, body in self.placed]
        sized = {path: body for plan in plans.values() for path, body in plan.sized.items()}
        sized |= {key.path: key.body for key in keyframes if isinstance(key.body, PlacedBody)}
        self.warnings += forewarnings.unsteered(scene)
        for path, body, inverted in bodies:
            self.warnings += forewarnings.bright_border(path, body, inverted)
            self.warnings += forewarnings.thin_body(path, sized.get(path, body), grid, resolution)
        for i, solid in enumerate(solids.bodies):
            self.warnings += forewarnings.thin_solid(f"obstacle[{i}]", solid, grid, resolution)
        present = lambda key: plans[key.field].present(key.frame)  # noqa: E731
        self.warnings += forewarnings.changing_volume(keyframes, present, scene.fluid.table)

    def _solids(self) -> Obstacles | None:
        with self.at("obstacle"):
            solids = Obstacles(self.scene, self.grid, self.dtype, self.told)
            solids(0.0)
            return solids
        return None

    def _sources(self, solids: Obstacles | None) -> list[Emission]:
        scene, found = self.scene, []
        still = solids(0.0) if solids is not None and not solids.move else None
        for i, entry in enumerate(scene.source):
            self.told("drawing source", i + 1, len(scene.source))
            with self.at(f"source[{i}].{kinds_of(entry)[0]}"):
                placed = place(entry, scene)
                self.placed.append((f"source[{i}]", entry, placed))
                mask = np.clip(placed.coverage(self.grid), 0.0, 1.0)
                if not mask.any():
                    raise KeyfluidError("lies outside the domain; check center and size")
                if still is not None:
                    mask = self._outside(f"source[{i}]", mask, still.solid)
                held = None if entry.rate is not None else (entry.density if entry.density is not None else 1.0)
                found.append(
                    Emission(
                        scene.field_of(entry),
                        mask.astype(self.dtype),
                        entry.rate,
                        held,
                        None if entry.velocity is None else tuple(entry.velocity),
                        entry.start,
                        entry.stop if entry.stop is not None else scene.time.frames,
                        entry.temperature,
                    )
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
                placed = place(entry, self.scene)
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
                placed = place(entry, self.scene)
                if placed.leaves_domain(self.grid, entry.frame / self.scene.time.fps)[0]:
                    raise KeyfluidError("lies outside the domain; check center and size")
                self.placed.append((f"keyframe[{i}]", entry, placed))
                found.append((i, placed))
        return found
