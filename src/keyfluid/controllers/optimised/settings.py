"""[control] of the methods that optimise, `adjoint` and `spectral`, and its numbers on a grid."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar, cast

from pydantic import Field

from keyfluid.errors import SceneError
from keyfluid.tables import (
    Coefficient,
    File,
    Flag,
    Multiplier,
    NotNegative,
    Positive,
    Table,
    Wants,
    is_whole,
    no_more_than,
    number,
    whole,
)

if TYPE_CHECKING:
    from keyfluid.problem import Problem

KOLMOGOROV = 1.5
"""a in k_n = 2^(a n) k_0: each band holds half the energy above the one before [Tang 2021, eq. 9 and 10]."""

_PAPER: dict[str, object] = {"time": "constant", "gamma": "none", "shear": 0.0, "coarse": 0, "paths": 0}
_BANDS = {**_PAPER, "bands": "grow", "scaling": 0.0, "iterations": 500}
_BASELINE = {**_PAPER, "basis": "dense", "iterations": 5000}
PRESETS: dict[str, dict[str, object]] = {
    "keyfluid": {},
    "tang": _BANDS,
    "upsampling": {**_BANDS, "basis": "upsampled", "growth": 1.0},
    "tang-forces": {**_BANDS, "basis": "forces"},
    "baseline": _BASELINE,
    "baseline-tv": {**_BASELINE, "beta": 10.0},
}
"""What a preset puts in place of the defaults; keys that the scene gives win."""

_ALPHA_OF = {"adjoint": 2.0, "spectral": 1.0}
"""alpha as Tang's: with 1/2 (D + alpha |f|^2) McNamara weighs forces against the distance D twice as much as Tang with
D + alpha / 2 |f|^2 [McNamara 2004, eq. 2; Tang 2021, eq. 6]. Each method's alpha is its own paper's."""

_SCALING = {"potential": {2: 1.5, 3: 2.0}, "lifted": {2: 0.5, 3: 0.5}}
"""p of the waves' expected size 1/|k|^p, by dimensions: of a potential, and of a liquid's forces (a disk of water to an
R and an S at 96^2, IoU 0.944 and 0.747 with p = 0, 0.992 and 0.982 with 0.5, 0.971 and 0.993 with 1; clay to an L 0.994
with 0, 0.989 with 0.5, 0.977 with 0.75)."""

_REARRANGED = 0.25
"""Least relative error of a rearrangement above which a target is not one: carried smoke keeps its values."""

_APART = 4
"""Steps between two keyframes below which the grid carries smoke as well as paths do."""

_ACCURACY = 0.015
"""Relative error that nobody sees: an edge that is off by a fraction of a cell."""

_COARSEST = {2: 32, 3: 16}
"""Cells on the longest side of the coarsest grid that is worth a stage."""


Value = TypeVar("Value")


def _is_span(value: object) -> bool:
    if not isinstance(value, list) or len(value) != 2 or not all(is_whole(v) for v in value):
        return False
    return bool(0 <= value[0] < value[1])


class OptimisedSettings(Table):
    """What both methods that optimise have in common. Keys left out take the default given here, or the preset's."""

    time: Literal["constant", "step", "windows", "integrated"] | None = Field(
        default=None,
        description='"constant": one force for all steps; "step": one per step; "windows": one per `window` steps; '
        '"integrated" (default): unknowns w with f_t = (w_t - w_(t-1)) / dt, which converge fastest; of a '
        'liquid "step"',
    )
    window: Annotated[int, whole(1, 100_000)] | None = Field(
        default=None, description="steps between two sets of unknowns, for windows and integrated; default 1"
    )
    iterations: Annotated[int, whole(1, 1_000_000)] | None = Field(
        default=None,
        description="of the optimiser, at most, in each stage; half as many on coarser grids, of a liquid a quarter "
        "more; default 120, of a liquid 75 (by waves 28, more for keyframes over 10 steps apart; presets: the paper's)",
    )
    tau: Annotated[float, number(at_least=0, at_most=1)] | None = Field(
        default=None,
        description="tau: a stage ends when an iteration lowers the objective by less than this share; default "
        "5e-5 in 2D, 1e-5 in 3D, as the paper's; of a liquid 0",
    )
    history: Annotated[int, whole(1, 100)] | None = Field(
        default=None, description="pairs that L-BFGS remembers; each takes two vectors of memory; default 10"
    )
    gamma: Literal["auto", "none", "blur", "pyramid"] | None = Field(
        default=None,
        description='gamma (eq. 5), before densities are compared: "none"; "blur" by the widths of `blur`, one stage '
        'for each; "pyramid": a Gaussian pyramid of `levels` levels; "auto" (default): blurs on the coarsest grid if '
        "the smoke, what sources will have given included, hardly meets its target, or if connected parts of it lie "
        "farther than L/8 from all smoke: by 1/2, 1/4 and 1/8 of the longest way; smoke along `paths` by 0.06 and "
        "0.03 L there, so that holes find their way out: in 2D if there are any, in 3D always, and twice as wide "
        "where tunnels open or close; else nothing",
    )
    blur: Annotated[list[NotNegative], no_more_than(20, "widths")] | None = Field(
        default=None,
        description="widths (standard deviation) in metres, wide to narrow; default [0.04, 0.02, 0] L; of a liquid the "
        "widths w of its gamma, default 4, 2 and 1 cells",
    )
    levels: Annotated[int, whole(1, 12)] | None = Field(default=None, description="of the pyramid; default 4")
    alpha: Multiplier | None = Field(
        default=None,
        description="alpha: penalty on the forces' squares, in the papers' units (cells and steps), as in McNamara's "
        "eq. 2 for adjoint and in Tang's eq. 6 for spectral, where the same number weighs half as much; default 0",
    )
    beta: Multiplier | None = Field(
        default=None,
        description="beta (eq. 6): penalty on the squares of the forces' differences, in the papers' units; default 0",
    )
    far: Multiplier | None = Field(
        default=None,
        description="beta of a long-range part of the distance to smoke's keyframes, 1/2 <e, (1 + beta / L^2 "
        "(-laplacian)^-1) e> of the error e: a wave of k cycles per longest side L counts 1 + beta / (2 pi k)^2, so "
        "that stray smoke is drawn to where some is missing, however far away; 30 to 300 are useful; default 0",
    )
    shear: Multiplier | None = Field(
        default=None,
        description="penalty on velocity differences within a cell and a step; keeps flows such that the grid can "
        "follow them, or the match is the grid's blur and not the flow's; default 1 in 2D, 3 in 3D, 0 for liquids and "
        "where a run is edited, whose own flow would pay too",
    )
    paths: Annotated[int, whole(0, 8)] | None = Field(
        default=None,
        description="of a cell, along which its smoke is carried from the start of its window, in the search and in "
        "the film: sharp, where the grid smears it a little in every step; 1, 2 or 4, in 3D 1, 2 or 8; 0: the grid "
        "carries it; default: 4, in 3D 2, for one kind of smoke without sources and targets that hold (nearly) the "
        "smoke's own values, by waves of a potential, or by adjoint in films with two keyframes or more; else 0; where "
        "a run is edited as in that run",
    )
    accuracy: Annotated[float, number(at_least=0, at_most=1)] | None = Field(
        default=None,
        description="a stage whose smoke is carried along paths ends when its relative error over all keyframes is "
        "below this; default 0.015; 0: it ends by tau or iterations alone",
    )
    tidy: Annotated[int, whole(0, 100_000)] = Field(
        default=0,
        description="frames before each keyframe in which smoke that would be stray there is taken back to its target, "
        "a little more in each: all that is farther than 4 cells, and ever less of what is nearer; mass is kept, and "
        "result.json has the share that was `gathered`; 12 is useful; 0: none",
    )
    coarse: Annotated[int, whole(0, 8)] | None = Field(
        default=None,
        description="grids of half, a quarter, ... the resolution to solve on first; default: down to 32 cells in 2D, "
        '16 in 3D; of a liquid one by "spectral", else none',
    )
    schedule: Literal["auto", "all", "sequence", "halves", "shooting"] | None = Field(
        default=None,
        description='"all": all keyframes at once; "sequence": one after the other, each from where the last ended; '
        '"halves": in two parts; "shooting": short windows in two layers that overlap, solved in turn until they join, '
        'several at once (one for each of --threads), with the least memory; "auto" (default): sequence for four '
        "keyframes or more over 120 frames or more, or where memory is short, else all",
    )
    span: Annotated[int, whole(1, 100_000)] | None = Field(
        default=None,
        description="frames of a window of shooting; default: two keyframes' worth; of a sequence the least, default 1",
    )
    ahead: Annotated[int, whole(0, 1000)] | None = Field(
        default=None,
        description="frames that a window of a sequence looks beyond its end; the next window finds their forces "
        "anew, from there; default 0, of a liquid 3",
    )
    rounds: Annotated[int, whole(1, 1000)] | None = Field(
        default=None,
        description="of shooting, at most, before the windows are closed up in order; fewer if they join to 1 %; "
        "default 4",
    )
    start: File | None = Field(
        default=None,
        description="folder of an earlier run of this method, a preview say, whose forces are the start; or of a "
        "finished run of smoke by another method, spacetime say, on any grid and in any steps per frame: the start is "
        "then the forces that make the air flow as it did there. Coarser grids are left out. `keyfluid run --from "
        "FOLDER` sets it",
    )
    handover: Literal["forces", "air"] | None = Field(
        default=None,
        description='what is taken from `start`: "forces" (of a run of this method), or "air": forces that make the '
        "air flow as it did there, which a finer grid needs to arrive where the run did; default: forces of a run of "
        "this method, else air; air of a run on another grid where smoke is carried along paths",
    )
    memory: Positive | None = Field(
        default=None,
        description="MB for states, controls, gradients and the optimiser; what does not fit is computed again; "
        "default: 60 % of the machine's",
    )
    act: Annotated[list[int], Wants("two frames, the first below the second", _is_span)] | None = Field(
        default=None, description="frames between which the control acts: after an impact, say; default: all"
    )
    hold: Flag | Literal["auto"] = Field(
        default="auto",
        description='of a liquid: the search begins with forces that carry its weight, not with none; "auto": if it '
        "would fall farther than the domain is high before the first keyframe",
    )


class AdjointSettings(OptimisedSettings):
    """Adjoint keyframe control [McNamara et al. 2004]: L-BFGS over winds, vortices or dense forces."""

    method: Literal["adjoint"] = Field(
        ..., description="forces are optimised so that the smoke is at each keyframe at its time"
    )
    basis: Literal["winds", "vortices", "winds+vortices", "dense", "dense-potential"] = Field(
        default="winds",
        description="what is optimised: Gaussian winds or vortices on a lattice, a force on every face, or a vector "
        "potential on every edge",
    )
    spacing: Positive | None = Field(
        default=None,
        description="metres between lattice points; default L/32 in 2D, L/8 in 3D, L the longest side; of a liquid 2 "
        "cells",
    )
    radius: Positive | None = Field(
        default=None, description="of a wind or vortex, exp(-d^2/r^2), in metres; default 1.5 times the spacing"
    )
    sources: Flag = Field(
        default=False,
        description="of a liquid: Gaussian sources, which add to its level set, on the winds' lattice beside them",
    )
    source_alpha: Coefficient | None = Field(
        default=None, description="penalty on the sources' squares, in cells of the level set and steps; default 0.01"
    )


class SpectralSettings(OptimisedSettings):
    """Control by a vector potential made of waves [Tang et al. 2021]: forces without divergence, long waves first."""

    method: Literal["spectral"] = Field(
        ..., description="a potential is optimised so that the smoke is at each keyframe at its time"
    )
    preset: Literal["keyfluid", "tang", "upsampling", "tang-forces", "baseline", "baseline-tv"] = Field(
        default="keyfluid",
        description='defaults of the other keys: "keyfluid": all waves at once, integrated in time, scaled, grids from '
        'coarse to fine; "tang": the paper\'s growing bands and one force for all steps; "upsampling" and '
        '"tang-forces" (without potential): its variants; "baseline" and "baseline-tv" (beta = 10): dense forces',
    )
    basis: Literal["potential", "forces", "lifted", "upsampled", "dense", "dense-potential"] | None = Field(
        default=None,
        description="what is optimised; default: the potential's waves, or the preset's; of a liquid \"lifted\": waves "
        "of forces and a uniform force along each axis, as a potential lifts nothing",
    )
    bands: Literal["full", "grow"] | None = Field(
        default=None,
        description='"grow": waves are let in band by band, k_n = 2^(growth n) k_0 (eq. 10); default "full"',
    )
    cutoff: Positive | None = Field(
        default=None,
        description="shortest waves, k in cycles per longest side (a sine of index m has k = m/2); default: all in 2D "
        'and with bands = "grow", else 16 in 3D; of a liquid 24 in 2D, 16 in 3D',
    )
    first_band: Positive | None = Field(default=None, description="k_0 of the first band, cycles; default 1")
    growth: Annotated[float, number(at_least=0.1, at_most=10)] | None = Field(
        default=None, description="a in k_n = 2^(a n) k_0 (figure 8); default 1.5, after Kolmogorov"
    )
    scaling: Annotated[float, number(at_least=0, at_most=6)] | None = Field(
        default=None,
        description="p: coefficients of the potential are taken to be of size 1/|k|^p; default 1.5 in 2D, 2 in 3D; of "
        "lifted forces 0.5",
    )


@dataclass(frozen=True)
class SearchNumbers:
    """[control] on a grid, with the preset and what was not given filled in."""

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
    coarse_share: float
    """Share of the iterations on coarser grids."""
    history: int
    gamma: str
    blur: tuple[float, ...]
    levels: int
    alpha: float
    """Tang's, whatever the method."""
    beta: float
    far: float
    shear: float
    paths: int
    accuracy: float
    coarse: int
    sources: bool
    source_alpha: float
    act: tuple[int, int] | None
    hold: bool
    schedule: str
    span: int | None
    ahead: int
    rounds: int
    start: str | None
    handover: str | None
    budget: int | None

    @classmethod
    def of(cls, problem: Problem) -> SearchNumbers:
        from keyfluid.controls.spectral import highest_wave

        control, grid = problem.control, problem.grid
        dim = grid.dim
        assert isinstance(control, OptimisedSettings)
        preset = PRESETS[getattr(control, "preset", "keyfluid")]

        def value(name: str, default: Value) -> Value:
            """What the scene gives, or the preset has."""
            found = getattr(control, name, None)
            return cast(Value, preset.get(name, default) if found is None else found)

        usual = problem.fluid.search(problem)
        basis = value("basis", usual.waves)
        spacing = value("spacing", usual.spacing)
        schedule = value("schedule", "auto")
        _refuse(problem, value("gamma", "auto"), schedule, value("sources", False), control.start, value("far", 0.0))
        limit = highest_wave(grid)
        few = limit if usual.cutoff is None else min(limit, usual.cutoff)
        cutoff = value("cutoff", None if usual.cutoff is None or value("bands", "full") == "grow" else few)
        if cutoff is not None and cutoff > limit * (1 + 1e-9):
            raise SceneError(
                "control.cutoff",
                f"{cutoff:g} waves per longest side; this grid holds at most {limit:g}: lower it, or raise "
                "domain.resolution",
            )
        most = 0
        while max(grid.cells) >> (most + 1) >= _COARSEST[dim] and min(grid.cells) >> (most + 1) >= 8:
            most += 1
        act, hold = control.act, control.hold
        return cls(
            basis=basis,
            spacing=spacing,
            radius=value("radius", 1.5 * spacing),
            time=value("time", usual.time),
            window=value("window", 1),
            bands=value("bands", "full"),
            cutoff=cutoff,
            first_band=value("first_band", 1.0),
            growth=value("growth", KOLMOGOROV),
            scaling=value("scaling", _SCALING[basis][dim]) if basis in _SCALING else 0.0,
            tau=value("tau", usual.tau),
            iterations=value("iterations", usual.iterations),
            coarse_share=usual.coarse_share,
            history=value("history", 10),
            gamma=value("gamma", "auto"),
            blur=tuple(value("blur", usual.blur)),
            levels=value("levels", 4),
            alpha=_ALPHA_OF[problem.method] * value("alpha", 0.0),
            beta=value("beta", 0.0),
            far=value("far", 0.0),
            shear=value("shear", 0.0 if problem.edit is not None else usual.shear),
            paths=value("paths", _usual_paths(problem, basis, usual.paths)),
            accuracy=value("accuracy", _ACCURACY),
            coarse=min(value("coarse", usual.coarse), most),
            sources=value("sources", False),
            source_alpha=value("source_alpha", 0.01),
            act=None if act is None else (act[0], act[1]),
            hold=_falls(problem) if hold == "auto" else hold is True,
            schedule=schedule,
            span=control.span,
            ahead=value("ahead", usual.ahead),
            rounds=value("rounds", 4),
            start=control.start,
            handover=control.handover,
            budget=None if control.memory is None else int(control.memory * 1e6),
        )

    def acting(self, first: int, last: int) -> tuple[int, int]:
        """The frames of a window between which the control acts."""
        if self.act is None:
            return first, last
        begin, end = max(first, self.act[0]), min(last, self.act[1])
        if begin >= end:
            raise SceneError(
                "control.act",
                f"frames {self.act[0]}-{self.act[1]} do not overlap the window {first}-{last}; change the range",
            )
        return begin, end

    def iterations_of(self, final_grid: bool) -> int:
        """A stage's, on the scene's own grid or a coarser one."""
        return self.iterations if final_grid else max(1, int(self.coarse_share * self.iterations))

    def cutoffs(self, problem: Problem) -> list[float | None]:
        """The bands k_0, 2^a k_0, ... up to the cutoff, rounded to whole waves [Tang 2021, eq. 10]."""
        from keyfluid.controls.spectral import highest_wave

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


def _usual_paths(problem: Problem, basis: str, most: int) -> int:
    """Paths of a cell unless the scene says otherwise: none where smoke has to be spread or thinned so far that only
    the grid's blur gets it there (examples/01_logo.toml, a vent below two lines of text: error 0.07 by the grid, 0.36
    and more along paths). Other unknowns than waves can't take over the air of a coarser grid (handover.py); in
    `adjoint` paths pay where keyframes follow one another (a disk, a box, a star, an A, 20 frames each at 64^2: errors
    0.117 0.159 0.247 by the grid, 0.056 0.072 0.126 along paths)."""
    if problem.edit is not None:
        return problem.edit.paths
    spread = len(problem.densities) > 1 or len(problem.sources) > 0
    thinned = any(key.bound is not None and key.bound > _REARRANGED for key in problem.keyframes)
    frames = sorted({0, *(key.frame for key in problem.keyframes)})
    apart = min((b - a for a, b in pairwise(frames)), default=0) * (problem.steps_per_frame or 1)
    film = problem.method == "adjoint" and len(frames) > 2 and apart >= _APART
    return most if (basis == "potential" or film) and not spread and not thinned else 0


def _falls(problem: Problem) -> bool:
    """Left alone, the fluid is farther down at the first keyframe than the domain is high."""
    if not problem.keyframes:
        return False
    seconds = min(key.frame for key in problem.keyframes) / problem.fps
    return 0.5 * abs(problem.fluid.weight) * seconds**2 > problem.grid.size[problem.up]


def _refuse(problem: Problem, gamma: str, schedule: str, sources: bool, start: str | None, far: float) -> None:
    """What goes only with smoke, or only with liquids, and what shooting can't do."""
    if schedule == "shooting" and start is not None:
        raise SceneError("control.start", 'schedule "shooting" starts from no other run; use another schedule')
    usual = problem.fluid.search(problem)
    if sources and not usual.sources:
        raise SceneError("control.sources", "only liquids support optimised sources; remove this key")
    preset = getattr(problem.control, "preset", "keyfluid")
    if preset != "keyfluid" and usual.own_gamma:
        raise SceneError("control.preset", f'"{preset}" is for smoke; remove this key')
    if gamma != "auto" and usual.own_gamma:
        raise SceneError("control.gamma", "a liquid's gamma is 2 atan(x / w) / pi; give its widths w as `blur`")
    if far > 0 and usual.own_gamma:
        raise SceneError("control.far", "only smoke has a long-range part of its distance; remove this key")
    if getattr(problem.control, "tidy", 0) > 0 and usual.own_gamma:
        raise SceneError("control.tidy", "only stray smoke can be taken back, not liquid; remove this key")
    paths = problem.control.paths if isinstance(problem.control, OptimisedSettings) else None
    if paths and usual.own_gamma:
        raise SceneError("control.paths", "only smoke is carried along paths; remove this key")
    if paths and paths not in (allowed := (1, 2, 2**problem.grid.dim)):
        raise SceneError("control.paths", f"{paths} in each cell; use {', '.join(map(str, allowed))}, or 0 for none")
    if schedule == "shooting" and not usual.shooting:
        raise SceneError("control.schedule", '"shooting" is for smoke; use "sequence" or "halves"')
