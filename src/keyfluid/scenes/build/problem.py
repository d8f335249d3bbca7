"""From a scene to arrays: everything a run needs, on the grid, checked.

    built = build(load_scene("word.toml"))     raises SceneErrors with every fault found

A BuiltScene is the problem that its method is given (keyfluid.problem), with the scene itself, the colours of its
fields and the lines to print before a run. Mass (DESIGN.md): see keyframes.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from keyfluid.grid import Grid
from keyfluid.io.budget import memory_of_machine
from keyfluid.problem import EngineOptions, Keyframe, Problem
from keyfluid.scenes.build import forewarnings
from keyfluid.scenes.build.bodies import SceneBodies
from keyfluid.scenes.build.colours import with_colours
from keyfluid.scenes.build.flows import place_flow
from keyfluid.scenes.build.fluids import fluid_faults, make_fluid
from keyfluid.scenes.build.keyframes import FieldPlan
from keyfluid.scenes.build.memory import make_grid, memory_estimate, memory_fault
from keyfluid.scenes.build.obstacles import Obstacles
from keyfluid.scenes.build.other_run import open_edit
from keyfluid.scenes.build.pictures import place_picture
from keyfluid.scenes.build.report import Told, say_nothing
from keyfluid.scenes.build.sources import PlacedBody
from keyfluid.scenes.build.start_values import velocity_of_starts
from keyfluid.scenes.build.winds import place_wind, start_temperature, wind_warnings
from keyfluid.scenes.schema.checks import check
from keyfluid.scenes.schema.faults import raise_any
from keyfluid.scenes.schema.load import preview
from keyfluid.scenes.schema.scene import Scene

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
    scene, colours, _ = with_colours(scene)
    grid = make_grid(scene)
    fault = memory_fault(scene, grid)
    raise_any([fault] if fault is not None else [])
    return _Builder(scene, grid, told, colours).build()


class _Builder:
    """One scene on its grid; raises all faults of a step at once."""

    def __init__(self, scene: Scene, grid: Grid, told: Told, warnings: Sequence[str] = ()) -> None:
        self.scene, self.grid, self.told = scene, grid, told
        self.bodies = SceneBodies(scene, grid, told)
        self.dtype, self.at, self.faults = self.bodies.dtype, self.bodies.at, self.bodies.faults
        self.warnings = list(warnings)

    def build(self) -> BuiltScene:
        scene, grid = self.scene, self.grid
        self._compare_sizes()
        edit, known = None, {}
        if scene.edit is not None:
            with self.at("edit.run"):
                edit = open_edit(scene.edit, scene)
                known = {f.name: edit.start(f.name, grid) for f in scene.fluid.field}
        raise_any(self.faults)
        bodies = self.bodies
        bodies.place()
        raise_any(self.faults)
        bodies.size_starts(known)
        raise_any(self.faults)
        solids, maker, plans = bodies.solids, bodies.targets, bodies.plans
        assert solids is not None
        bodies.draw_targets()
        raise_any(self.faults)
        self.warnings += bodies.warnings
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
            temperature=start_temperature(grid, warmth, bodies.solid, self.dtype) if scene.warm else None,
            sources=list(bodies.sources.values()),
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
        bodies = [(path, body, getattr(entry, "invert", None)) for path, entry, body in self.bodies.placed]
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
