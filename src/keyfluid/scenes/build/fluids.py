"""The scene's fluid as the problem has it, and what can't be reached with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from keyfluid.errors import SceneError
from keyfluid.fields import Field
from keyfluid.fluids.liquid.fluid import LiquidFluid
from keyfluid.fluids.smoke.fluid import SmokeFluid
from keyfluid.grid import Grid
from keyfluid.problem import Fluid, Keyframe
from keyfluid.scenes.build.keyframes import FieldPlan
from keyfluid.scenes.build.sources import PlacedBody
from keyfluid.scenes.schema.checks import start_path
from keyfluid.scenes.schema.liquid import SURFACE, LiquidTable
from keyfluid.scenes.schema.scene import Scene
from keyfluid.scenes.schema.smoke import SmokeTable
from keyfluid.shapes.mass import mass_of

_OFF_VOLUME = 0.25
"""Share by which a keyframe's volume may differ from the liquid's before it is refused."""

_MORE = 0.02
"""Share by which liquid asked for in a region may exceed all there is: as much as drawing it on the grid adds."""

_MOST_CELLS = 10.0
"""Cells that liquid may have to cross in a step, as the crow flies, before a keyframe is refused."""


def make_fluid(table: SmokeTable | LiquidTable) -> Fluid:
    """What a fluid is like by its table."""
    if isinstance(table, LiquidTable):
        return LiquidFluid(
            viscosity=table.viscosity,
            gravity=table.gravity,
            keep_volume=table.volume == "keep",
            paper_order=table.order == "paper",
            mesh=table.mesh,
        )
    return SmokeFluid(
        viscosity=table.viscosity,
        dissipation=table.dissipation,
        buoyancy=table.buoyancy,
        vorticity=table.vorticity,
        drag=table.drag,
        cooling=table.cooling,
        heat_buoyancy=table.heat_buoyancy,
    )


def fluid_faults(
    scene: Scene,
    grid: Grid,
    start: Mapping[str, Field],
    plans: Mapping[str, FieldPlan],
    keyframes: Sequence[Keyframe],
) -> list[SceneError]:
    """One line for each reason why the fluid can't be where it should; start: its fields at frame 0."""
    if isinstance(scene.fluid, LiquidTable):
        return list(_liquid_faults(scene, grid, start[SURFACE], plans[SURFACE], keyframes))
    return []


def _liquid_faults(
    scene: Scene, grid: Grid, surface: Field, plan: FieldPlan, keyframes: Sequence[Keyframe]
) -> Iterator[SceneError]:
    """One line for each reason why a liquid can't be where it should."""
    if plan.bodies and not np.any(surface.data < 0):
        yield SceneError(
            start_path(scene, 0), "holds no cell's centre: there is no liquid on this grid; make it larger than a cell"
        )
        return
    centre, before = _middle(grid, plan.start), 0
    for key in keyframes:
        time = key.frame / scene.time.fps
        if isinstance(key.body, PlacedBody) and key.body.leaves_domain(grid, time)[1]:
            yield SceneError(key.path, "reaches outside the walls; move it or make it smaller")
        present = plan.present(key.frame)
        gap = key.mass / present - 1 if present > 0 else 0.0
        if key.mask is None and abs(gap) > _OFF_VOLUME:
            yield SceneError(
                f"{key.path}.mass",
                f"its volume is {key.mass:.4g}, the liquid's {present:.4g}: {100 * gap:+.0f} %; use 'resize', or size "
                "the start with volume = 'first-key'",
            )
        if key.mask is not None:
            asked, unit = mass_of(key.target * key.mask, grid.spacing), f"m^{grid.dim}"
            if asked > (1 + _MORE) * present:
                yield SceneError(
                    f"{key.path}.mask",
                    f"in this region the keyframe has {asked:.4g} {unit} of liquid, and there are only {present:.4g} "
                    f"{unit} in all; make what it shows smaller, or the start larger",
                )
        there = _middle(grid, key.target)
        steps = scene.time.steps_per_frame
        if isinstance(steps, int) and centre is not None and there is not None and key.mask is None:
            cells = float(np.linalg.norm(there - centre)) / grid.spacing / max((key.frame - before) * steps, 1)
            if cells > _MOST_CELLS:
                yield SceneError(
                    f"{key.path}.frame",
                    f"the liquid would have to cross {cells:.0f} cells in a step to be there; give it more frames, or "
                    "raise time.steps_per_frame",
                )
            centre, before = there, key.frame


def _middle(grid: Grid, share: np.ndarray) -> np.ndarray | None:
    total = float(np.sum(share, dtype=np.float64))
    if total <= 0:
        return None
    lines = grid.coordinates((False,) * grid.dim)
    return np.array([float(np.sum(share * line, dtype=np.float64)) / total for line in lines])
