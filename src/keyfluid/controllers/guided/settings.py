"""[control] of `method = "guided"`, and what of it [upres] has too."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from keyfluid.tables import File, Flag, Positive, Table, number, whole

RESOLVED = {2: 0.25, 3: 0.4}
"""Waves per cell of the solved run that are followed, by dimension. Runs in 3D have few cells, and their flow is in
waves of three: ball to knot, 40^3 to 120^3, has an IoU of 0.907 with 0.25, of 0.927 with 0.4, of 0.925 with all waves;
letter F, 64^2 to 256^2, of 0.937 with 0.25, of 0.927 with all."""


class GuideNumbers(Table):
    """How a film follows a solved run, and what it has of its own."""

    cutoff: Positive | None = Field(
        default=None,
        description="waves along the longest side up to which the velocity follows the run; default: a quarter of the "
        "run's cells in 2D, four cells to a wave; 0.4 of them in 3D",
    )
    strength: Annotated[float, number(above=0, at_most=1)] = Field(
        default=1.0, description="share of a long wave's gap that is closed in each frame; 1: replaced, less: pulled"
    )
    release: Annotated[int, whole(0)] = Field(
        default=6,
        description="frames after the last keyframe and its hold over which guiding fades, before the fluid is free",
    )
    turbulence: Annotated[float, number(at_least=0, at_most=10)] = Field(
        default=0.1,
        description="eddies shorter than the cutoff that are stirred up in the fluid, where it moves; 0: none, "
        "0.1: frayed edges, 0.3: torn ones",
    )
    spray: Annotated[float, number(at_least=0, at_most=1)] = Field(
        default=0.0,
        description="only liquids: share of the guiding that the outermost liquid does without, so that sheets and "
        "drops fly off where the run turns; 0: none, 0.8: drops, which fly far if `near` lets them",
    )
    near: Annotated[float, number(at_least=0, at_most=100)] = Field(
        default=0.8,
        description="only liquids: cells of the run that the surface may be away from the one that it follows; what "
        "lies beyond is cut off or filled, and its volume given to the rest; 0: no limit",
    )


class GuidedSettings(GuideNumbers):
    """A finer film of a solved run [after Nielsen & Bridson 2011; Inglis et al. 2017]: its long waves, and free short
    ones; of a liquid its surface too. `keyfluid upres` writes such a scene."""

    method: Literal["guided"] = Field(
        ...,
        description="the long waves of the velocity are those of another run, up to its last keyframe; short waves, "
        "buoyancy, sources and bodies are simulated on this scene's grid",
    )
    run: File = Field(..., description="folder of the solved run: finished, of the same fluid, with keyframes")
    carriers: Flag = Field(
        default=False,
        description="frames keep the velocity of every step, which transported_iou needs, and a run that starts from "
        "this one; most of the disk space of a large film",
    )
