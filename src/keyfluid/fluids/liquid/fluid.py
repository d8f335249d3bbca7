"""A liquid as a scene has it: one field, "surface", its signed distance."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np

from keyfluid.errors import BlowUp
from keyfluid.fields import Field, density
from keyfluid.fluids.liquid.steps import LiquidSteps
from keyfluid.grid import Grid
from keyfluid.models.liquid import LIQUID_ORDER, MCNAMARA_LIQUID_ORDER, LiquidOptions, filled
from keyfluid.objectives import SurfaceKey, SurfaceMatch
from keyfluid.operators.redistance import Redistance
from keyfluid.problem import Fluid, Keyframe, Problem, SearchDefaults, TargetBody

_MOST_CELLS = 40.0
"""Cells that liquid may cross in a step before it is no longer a simulation of anything."""

_ITERATIONS, _BY_WAVES, _COARSE_SHARE = 75, 28, 1.25
"""Iterations of a stage, and of one in method "spectral": waves need fewer than winds. On the coarse grid, where one
costs half in 2D, a few more save many on the fine one."""

_USUAL_STEPS, _GROWTH = 10, 1 / 3
"""Steps between keyframes that these iterations of waves are for; they grow with this power of more steps (T, A and C,
30 steps each: IoU 0.997 0.714 0.763 with 28 iterations, 0.997 0.969 0.991 with 40)."""

_CUTOFF = {2: 24.0, 3: 16.0}
"""Waves of forces. A letter in water at 96^2: S ends at an IoU of 0.969 with waves up to 16 and at 0.995 with 24, G at
0.962 and 0.974."""

_PATIENCE = 20
"""Evaluations in which the last stage of waves may gain next to nothing: water that has its shape only jumps between
wet and dry cells. P in water ends after 184 evaluations instead of 287, as close. Stages before the last need theirs:
films of 30 steps per letter lost up to a tenth of their IoU. Winds go on for longer, and then find a way."""

_AHEAD = 3
"""Frames that a window of a sequence looks ahead."""

_JUMP, _WAVES_JUMP = 0.1, 0.6
"""A liquid's objective jumps where cells become wet or dry, by about a tenth of a cell's share in it (a letter at 96^2:
by 1.2e-4, with 900 cells wanted), and what jumps early is seen by every later keyframe; steps may go up by as much. In
method "spectral", whose waves touch all of the liquid at once, by more: a disk of water to a G with 26 to 30 iterations
had a mean IoU of 0.954 in 269 evaluations with 0.3, of 0.971 in 206 with 0.6, of 0.970 in 186 with 1, of 0.963 in 174
with 2; winds gain nothing by it."""


@dataclass(frozen=True, kw_only=True)
class LiquidFluid(Fluid):
    """gravity: m/s^2 downwards; keep_volume: give back what a step loses; paper_order: McNamara's order of a step."""

    name = "liquid"
    drawn_as = "surface"
    in_bodies = True

    gravity: float
    keep_volume: bool
    paper_order: bool

    @property
    def weight(self) -> float:
        return self.gravity

    def amount(self, values: np.ndarray, spacing: float) -> np.ndarray:
        """The share of each cell that it fills."""
        return filled(values, spacing)

    def acceleration(self, densities: Iterable[float], temperature: float = 0.0) -> float:
        return abs(self.gravity)

    def initial(self, grid: Grid, dtype: np.dtype, values: np.ndarray, bodies: Sequence[TargetBody]) -> Field:
        """Signed distance to all bodies together, metres; positive everywhere if sources bring the first liquid.

        A body's own distance counts its side against a wall as surface; redistancing takes only what borders on air.
        """
        phi = np.full(grid.cells, float(sum(grid.size)))
        for body in bodies:
            phi = np.minimum(phi, body.signed_distance(grid.cells, grid.spacing, 0.0))
        return Redistance(grid).forward(density(grid, phi, dtype))[0]

    def wanted(self, problem: Problem, key: Keyframe) -> np.ndarray:
        grid = problem.grid
        return key.body.signed_distance(grid.cells, grid.spacing, key.frame / problem.fps)

    def steps(self, problem: Problem) -> LiquidSteps:
        return LiquidSteps(problem, self.options(problem))

    def options(self, problem: Problem) -> LiquidOptions:
        """What this liquid is like; the scene's taps and bodies are added by its steps."""
        return LiquidOptions(
            gravity=[-float(self.gravity) if axis == problem.up else 0.0 for axis in range(problem.grid.dim)],
            viscosity=self.viscosity,
            keep_volume=self.keep_volume,
            sequence=MCNAMARA_LIQUID_ORDER if self.paper_order else LIQUID_ORDER,
        )

    def match(
        self, problem: Problem, frames: tuple[int, int], blur: float, pyramid: int | None = None, far: float = 0.0
    ) -> SurfaceMatch | None:
        """The objective compares signed distances; blur: w of gamma; no far part."""
        steps, keys = problem.steps_per_frame or 1, []
        for key in problem.keyframes:
            acting = key.acting(frames[0], min(frames[1], problem.frames))
            if not acting:
                continue
            target = distance_wanted(problem, key, key.frame)
            mask = None if key.mask is None else density(problem.grid, key.mask, problem.dtype)
            for frame in acting:
                keys.append(SurfaceKey(frame * steps, target, key.weight, mask, key.path))
        return SurfaceMatch(keys, blur) if keys else None

    def search(self, problem: Problem) -> SearchDefaults:
        dx, keys = problem.grid.spacing, problem.keyframes
        asked = [key.target if key.mask is None else key.target * key.mask for key in keys]
        wet = sum(np.count_nonzero(target > 0.5) for target in asked) / max(len(asked), 1)
        by_waves = problem.method == "spectral"
        frames = sorted({0, *(key.frame for key in keys)})
        steps = max((b - a for a, b in pairwise(frames)), default=0) * (problem.steps_per_frame or 1)
        waves = round(_BY_WAVES * max(1.0, steps / _USUAL_STEPS) ** _GROWTH)
        return SearchDefaults(
            spacing=2 * dx, waves="lifted", cutoff=_CUTOFF[problem.grid.dim], time="step", tau=0.0,
            iterations=waves if by_waves else _ITERATIONS, blur=(4 * dx, 2 * dx, dx), blur_word="w", shear=0.0,
            paths=0, coarse=int(by_waves), coarse_share=_COARSE_SHARE, ahead=_AHEAD, own_gamma=True, sources=True,
            shooting=False, guarded=False, patience=_PATIENCE if by_waves else 0, trials=8,
            slack=(_WAVES_JUMP if by_waves else _JUMP) / max(wet, 1.0),
        )  # fmt: skip

    def cells_crossed(self, problem: Problem, speed: float, dt: float, time: float) -> float:
        cells = speed * dt / problem.grid.spacing
        if cells > _MOST_CELLS:
            raise BlowUp(
                f"time.steps_per_frame: at {time:.3g} s the liquid crosses {cells:.0f} cells in a step; "
                'take more steps per frame, or "auto"'
            )
        return cells

    def score(self, key: Keyframe, ratio: float) -> dict[str, float]:
        return {} if key.empty else {"volume_error": ratio - 1}

    def totals(
        self, masses: Sequence[float], given: float, numbers: Mapping[str, float]
    ) -> dict[str, dict[str, float]]:
        """Volume at the start and the end (m^2 or m^3), what sources and taps gave, and how much was neither.

        sourced: given by the control's sources; churn: volume they turned from air to liquid or back, over the
        liquid's, summed over steps: sources that move liquid about give none in all.
        """
        if not masses:
            return {self.name: {}}
        start, end = masses[0], masses[-1]
        lost = (end - start - given) / (start + given) if start + given > 0 else 0.0
        volumes = {"volume_start": start, "volume_end": end, "given": given, "volume_error": lost}
        return {self.name: {**volumes, **{name: numbers.get(name, 0.0) for name in ("sourced", "churn")}}}


@lru_cache(maxsize=8)
def distance_wanted(problem: Problem, key: Keyframe, frame: float) -> Field:
    """A keyframe's signed distance at a frame, marched like the liquid's own; the last few are kept, as every stage of
    a window asks for the same."""
    grid = problem.grid
    distance = key.body.signed_distance(grid.cells, grid.spacing, frame / problem.fps)
    return Redistance(grid).forward(density(grid, distance, problem.dtype))[0]
