"""[upres]: a finer film of the run, once it is solved."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from keyfluid.controllers.guided.settings import GuideNumbers
from keyfluid.scenes.schema.smoke import Rate
from keyfluid.tables import Number, whole


class Upres(GuideNumbers):
    """A finer film of the solved run, in its folder `upres`: the run's long waves, and free short ones.
    `keyfluid upres` makes one of a run without this table (docs/upres.md). vorticity, buoyancy and polish are for
    smoke, spray and near for liquids."""

    factor: Annotated[int, whole(1, 64)] = Field(default=4, description="cells per axis, times those of the run")
    steps: Annotated[int, whole(1, 10000)] | None = Field(
        default=None,
        description="of the film per frame; default: those of the run, times half the factor, rounded up; of a liquid "
        "times the factor",
    )
    vorticity: Rate | None = Field(
        default=None, description="smoke.vorticity of the film, such as 10; default: that of the run"
    )
    buoyancy: Number | None = Field(
        default=None,
        description="smoke.buoyancy of the film: it lifts what is shorter than the cutoff; default: that of the run",
    )
    polish: Annotated[int, whole(0, 1_000_000)] = Field(
        default=0,
        description="iterations of L-BFGS on the fine grid over the waves up to the cutoff, which begin with the run's "
        "air and bring the fine smoke to the keyframes; the film then has no turbulence of its own; 0: none",
    )
