"""What a search for a fluid's forces takes where the scene leaves it open, and what it can't take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class SearchDefaults:
    """Keys of [control] that depend on the fluid, and how its objective behaves.

    spacing, blur        metres; blur_word: what a width of the blur is called in labels
    waves, cutoff        what "spectral" optimises; waves along the longest side up to which; None: all
    paths                of a cell along which it is carried at most; 0: by the grid
    coarse               halvings of the grid to begin with, at most
    coarse_share         of the iterations, on coarser grids
    own_gamma            the fluid has one gamma, whose widths are `blur`; other words of control.gamma are refused
    ahead                frames that a window of a sequence looks beyond its end
    sources, shooting    whether control.sources and schedule = "shooting" can be used
    guarded              whether a search refuses to begin with a speed that makes no sense
    patience             evaluations of the last stage that may lower the objective by less than a hundredth; 0: all
    trials, slack        of the line search; slack: by how much the objective may jump (optimise/lbfgs.py)
    """

    spacing: float
    waves: Literal["potential", "lifted"]
    cutoff: float | None
    time: Literal["step", "windows", "integrated"]
    tau: float
    iterations: int
    blur: tuple[float, ...]
    blur_word: str
    shear: float
    paths: int
    coarse: int
    coarse_share: float
    ahead: int
    own_gamma: bool
    sources: bool
    shooting: bool
    guarded: bool
    patience: int
    trials: int
    slack: float
