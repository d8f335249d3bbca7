"""[control] of the methods that search for forces by optimisation: `adjoint` and `spectral`, and what they share."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from keyfluid.scenes.bodies import File, Table
from keyfluid.scenes.wants import (
    Coefficient,
    Flag,
    Multiplier,
    NotNegative,
    Positive,
    Wants,
    is_whole,
    no_more_than,
    number,
    whole,
)


def _is_span(value: Any) -> bool:
    whole_numbers = isinstance(value, list) and len(value) == 2 and all(is_whole(v) for v in value)
    return whole_numbers and 0 <= value[0] < value[1]


class OptimisedControl(Table):
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
        description="of the optimiser, at most, in each stage, half as many on coarser grids; default 120, of a "
        "liquid 75 (presets: the paper's)",
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
        "the smoke hardly meets its target, else nothing",
    )
    blur: Annotated[list[NotNegative], no_more_than(20, "widths")] | None = Field(
        default=None,
        description="widths (standard deviation) in metres, wide to narrow; default [0.04, 0.02, 0] L; of a liquid the "
        "widths w of its gamma, default 4, 2 and 1 cells",
    )
    levels: Annotated[int, whole(1, 12)] | None = Field(default=None, description="of the pyramid; default 4")
    alpha: Multiplier | None = Field(
        default=None,
        description="alpha (eq. 6): price of the forces' squares, in the papers' units (cells and steps); default 0",
    )
    beta: Multiplier | None = Field(
        default=None,
        description="beta (eq. 6): price of the squares of the forces' differences, in the papers' units; default 0",
    )
    shear: Multiplier | None = Field(
        default=None,
        description="price of velocity differences within a cell and a step; keeps flows such that the grid can "
        "follow them, or the match is the grid's blur and not the flow's; default 1 in 2D, 3 in 3D, 0 for liquids and "
        "where a run is edited, whose own flow would pay too",
    )
    coarse: Annotated[int, whole(0, 8)] | None = Field(
        default=None,
        description="grids of half, a quarter, ... the resolution to solve on first; default: down to 32 cells in 2D, "
        "16 in 3D, none for liquids",
    )
    schedule: Literal["auto", "all", "sequence", "halves", "shooting"] | None = Field(
        default=None,
        description='"all": all keyframes at once; "sequence": one after the other, each from where the last ended; '
        '"halves": in two parts; "shooting": short windows in two layers that overlap, solved in turn until they join, '
        'several at once (one for each of --threads), with the least memory; "auto" (default): sequence for four '
        "keyframes or more over 120 frames or more, or where memory is short, else all",
    )
    span: Annotated[int, whole(2, 100_000)] | None = Field(
        default=None, description="frames of a window of shooting; default: two keyframes' worth"
    )
    rounds: Annotated[int, whole(1, 1000)] | None = Field(
        default=None,
        description="of shooting, at most, before the windows are closed up in order; fewer if they join to 1 %; "
        "default 4",
    )
    start: File | None = Field(
        default=None,
        description="folder of an earlier run of this method, a preview say, whose forces are the start; coarser grids "
        "are then left out. `keyfluid run --from FOLDER` sets it",
    )
    memory: Positive | None = Field(
        default=None,
        description="MB for states, controls, gradients and the optimiser; what does not fit is computed again; "
        "default: 60 % of the machine's",
    )


class AdjointControl(OptimisedControl):
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
        description="metres between lattice points; default L/16 in 2D, L/8 in 3D, L the longest side; of a liquid 2 "
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
        default=None, description="price of the sources' squares, in cells of the level set and steps; default 0.01"
    )
    act: Annotated[list[int], Wants("two frames, the first below the second", _is_span)] | None = Field(
        default=None, description="frames between which the control acts: after an impact, say; default: all"
    )
    hold: Flag | Literal["auto"] = Field(
        default="auto",
        description="of a liquid: the search begins with winds that carry its weight, not with none; \"auto\": if it "
        "would fall farther than the domain is high before the first keyframe",
    )


class SpectralControl(OptimisedControl):
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
    basis: Literal["potential", "forces", "upsampled", "dense", "dense-potential"] | None = Field(
        default=None, description="what is optimised; default: the potential's waves, or the preset's"
    )
    bands: Literal["full", "grow"] | None = Field(
        default=None,
        description='"grow": waves are let in band by band, k_n = 2^(growth n) k_0 (eq. 10); default "full"',
    )
    cutoff: Positive | None = Field(
        default=None,
        description="shortest waves, k in cycles per longest side (a sine of index m has k = m/2); default: all in 2D "
        'and with bands = "grow", else 16 in 3D',
    )
    first_band: Positive | None = Field(default=None, description="k_0 of the first band, cycles; default 1")
    growth: Annotated[float, number(at_least=0.1, at_most=10)] | None = Field(
        default=None, description="a in k_n = 2^(a n) k_0 (figure 8); default 1.5, after Kolmogorov"
    )
    scaling: Annotated[float, number(at_least=0, at_most=6)] | None = Field(
        default=None,
        description="p: coefficients of the potential are taken to be of size 1/|k|^p; default 1.5 in 2D, 2 in 3D",
    )
