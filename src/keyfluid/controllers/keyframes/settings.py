"""What [control] asks of an optimisation, with the presets filled in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from keyfluid.controllers.interface import Problem
from keyfluid.controls.spectral import highest_wave
from keyfluid.errors import SceneError

KOLMOGOROV = 1.5
"""a in k_n = 2^(a n) k_0: each band holds half the energy above the one before [Tang 2021, eq. 9 and 10]."""

_PAPER: dict[str, Any] = {"time": "constant", "gamma": "none", "shear": 0.0, "coarse": 0}
_BANDS = {**_PAPER, "bands": "grow", "scaling": 0.0, "iterations": 500}
_BASELINE = {**_PAPER, "basis": "dense", "iterations": 5000}
PRESETS: dict[str, dict[str, Any]] = {
    "keyfluid": {},
    "tang": _BANDS,
    "upsampling": {**_BANDS, "basis": "upsampled", "growth": 1.0},
    "tang-forces": {**_BANDS, "basis": "forces"},
    "baseline": _BASELINE,
    "baseline-tv": {**_BASELINE, "beta": 10.0},
}
"""What a preset puts in place of the defaults; keys that the scene gives win."""

_FULL_3D = 16.0
"""Cutoff in 3D unless the scene says otherwise: all waves would take 20 to 30 vectors of many times the state."""

_COARSEST = {2: 32, 3: 16}
"""Cells on the longest side of the coarsest grid that is worth a stage."""


@dataclass(frozen=True)
class Settings:
    """See scenes/control.py for each."""

    basis: str
    spacing: float
    radius: float
    time: str
    window: int
    bands: str
    cutoff: float | None
    first_band: float
    growth: float
    scaling: float
    tau: float
    iterations: int
    history: int
    gamma: str
    blur: tuple[float, ...]
    levels: int
    alpha: float
    beta: float
    shear: float
    coarse: int
    sources: bool
    source_alpha: float
    act: tuple[int, int] | None
    hold: bool
    schedule: str
    span: int | None
    rounds: int
    start: str | None
    budget: int | None

    @classmethod
    def of(cls, problem: Problem) -> Settings:
        control, grid = problem.scene.control, problem.grid
        dim, longest = grid.dim, max(grid.size)
        preset = PRESETS[getattr(control, "preset", "keyfluid")]

        def value(name: str, default: Any = None) -> Any:
            found = getattr(control, name, None)
            return found if found is not None else preset.get(name, default)

        basis = value("basis", "potential")
        liquid = problem.liquid is not None
        spacing = value("spacing", 2 * grid.spacing if liquid else longest / (16 if dim == 2 else 8))
        schedule = value("schedule", "auto")
        _refuse(problem, value("gamma", "auto"), schedule, bool(value("sources", False)), value("start"))
        limit, dx = highest_wave(grid), grid.spacing
        cutoff = value("cutoff", None if dim == 2 or value("bands", "full") == "grow" else min(limit, _FULL_3D))
        if cutoff is not None and cutoff > limit * (1 + 1e-9):
            raise SceneError(
                "control.cutoff",
                f"{cutoff:g} waves per longest side; this grid holds at most {limit:g}: lower it, or raise "
                "domain.resolution",
            )
        coarse = value("coarse")
        most = 0
        while max(grid.cells) >> (most + 1) >= _COARSEST[dim] and min(grid.cells) >> (most + 1) >= 8:
            most += 1
        return cls(
            basis=basis,
            spacing=spacing,
            radius=value("radius", 1.5 * spacing),
            time=value("time", "step" if liquid else "integrated"),
            window=value("window", 1),
            bands=value("bands", "full"),
            cutoff=cutoff,
            first_band=value("first_band", 1.0),
            growth=value("growth", KOLMOGOROV),
            scaling=value("scaling", 1.5 if dim == 2 else 2.0) if basis == "potential" else 0.0,
            tau=value("tau", 0.0 if liquid else 5e-5 if dim == 2 else 1e-5),
            iterations=value("iterations", 75 if liquid else 120),
            history=value("history", 10),
            gamma=value("gamma", "auto"),
            blur=tuple(
                value("blur", [4 * dx, 2 * dx, dx] if liquid else (0.04 * longest, 0.02 * longest, 0.0))
            ),
            levels=value("levels", 4),
            alpha=value("alpha", 0.0),
            beta=value("beta", 0.0),
            shear=value("shear", 0.0 if liquid or problem.edit is not None else 1.0 if dim == 2 else 3.0),
            coarse=min(coarse, most) if coarse is not None else 0 if liquid else most,
            sources=bool(value("sources", False)),
            source_alpha=value("source_alpha", 0.01),
            act=None if value("act") is None else (value("act")[0], value("act")[1]),
            hold=_falls(problem) if value("hold", False) == "auto" else bool(value("hold", False)),
            schedule=schedule,
            span=value("span"),
            rounds=value("rounds", 4),
            start=value("start"),
            budget=None if value("memory") is None else int(value("memory") * 1e6),
        )

    def acting(self, first: int, last: int) -> tuple[int, int]:
        """The frames of a window between which the control acts."""
        if self.act is None:
            return first, last
        begin, end = max(first, self.act[0]), min(last, self.act[1])
        if begin >= end:
            raise SceneError(
                "control.act", f"frames {self.act[0]} to {self.act[1]} leave nothing of {first} to {last}; mend it"
            )
        return begin, end

    def iterations_of(self, final_grid: bool) -> int:
        """A coarser grid is only a start: half of the iterations are enough there."""
        return self.iterations if final_grid else max(1, self.iterations // 2)

    def cutoffs(self, problem: Problem) -> list[float | None]:
        """The bands k_0, 2^a k_0, ... up to the cutoff, rounded to whole waves [Tang 2021, eq. 10]."""
        if self.bands == "full":
            return [self.cutoff]
        last = self.cutoff if self.cutoff is not None else highest_wave(problem.grid)
        if self.first_band > last:
            raise SceneError("control.first_band", f"{self.first_band:g} is above the cutoff {last:g}; lower it")
        found: list[float | None] = []
        n = 0
        while (k := 2.0 ** (self.growth * n) * self.first_band) < last:
            whole = float(round(k))
            if whole not in found and whole < last:
                found.append(whole)
            n += 1
        return [*found, last]


def _falls(problem: Problem) -> bool:
    """Left alone, a liquid is farther down at the first keyframe than the domain is high."""
    if problem.liquid is None or not problem.keyframes:
        return False
    seconds = min(key.frame for key in problem.keyframes) / problem.fps
    return 0.5 * abs(problem.liquid.gravity) * seconds**2 > problem.grid.size[problem.up]


def _refuse(problem: Problem, gamma: str, schedule: str, sources: bool, start: str | None) -> None:
    """What goes only with smoke, or only with liquids, and what shooting can't do."""
    if schedule == "shooting" and start is not None:
        raise SceneError("control.start", 'schedule "shooting" can not begin from another run; use another')
    if problem.liquid is None:
        if sources:
            raise SceneError("control.sources", "would let smoke appear where it is wanted; they are for a [liquid]")
        return
    if gamma != "auto":
        raise SceneError("control.gamma", "a liquid's gamma is 2 atan(x / w) / pi; give its widths w as `blur`")
    if schedule == "shooting":
        raise SceneError("control.schedule", '"shooting" is for smoke; use "sequence" or "halves"')
