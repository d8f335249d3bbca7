"""[control]: one model per method. A new method adds its class here and to `AnyControl`, nowhere else."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from keyfluid.scenes.bodies import Table
from keyfluid.scenes.wants import Flag, Positive, number

Multiplier = Annotated[float, number(at_least=0, at_most=1e4)]
Coefficient = Annotated[float, number(at_least=0, at_most=1e9)]


class NoControl(Table):
    """Free simulation: nothing steers the smoke."""

    method: Literal["none"] = Field(default="none", description="how the smoke is brought to its keyframes")


class TargetControl(Table):
    """Target-driven smoke [Fattal & Lischinski 2004]: in one pass each keyframe attracts the smoke in its turn."""

    method: Literal["target"] = Field(
        ...,
        description="each keyframe acts from the one before until its frame and hold; its weight, up to 1, is "
        "its blend, and 0 leaves the smoke free",
    )
    strength: Multiplier = Field(
        default=1.0, description="of the driving force: a multiplier of v_f; more arrives earlier"
    )
    damping: Multiplier = Field(
        default=1.0, description="of momentum: a multiplier of v_d; more is calmer, less overshoots"
    )
    gathering: Multiplier = Field(
        default=1.0,
        description="of stray smoke into the target: a multiplier of v_g; more is sharper and less natural",
    )
    smoothing: Annotated[float, number(above=0, at_most=1)] = Field(
        default=0.05,
        description="blur of the driving force as a fraction of L, the longest side of the domain; more is "
        "smoother, less is livelier",
    )
    sigma: Positive | None = Field(
        default=None, description="sigma (eq. 6) of that blur in metres, instead of smoothing; default 0.05 L"
    )
    v_f: Coefficient | None = Field(
        default=None,
        description="force coefficient (eq. 4), m^2/s^2 per density; default 8 L^2 / (T^2 rho0) with T the seconds "
        "since the keyframe before or the start (1 s if below 0.25 s), rho0 the smoke's peak density",
    )
    v_d: Coefficient | None = Field(
        default=None, description="momentum attenuation (eq. 4), 1/s; default 16 / T"
    )
    v_g: Coefficient | None = Field(
        default=None,
        description="gathering coefficient (eq. 5), m^2/s per density^2; default 0.004 L^2 / (T rho0^2)",
    )
    falloff: Positive | None = Field(
        default=None,
        description="metres from the target over which the force fades; default: it reaches everywhere",
    )
    hard: Flag = Field(
        default=False, description="the target is cut at half its maximum, so that it has no grey edge"
    )
    release: Flag = Field(
        default=False, description="the smoke is free after the last keyframe and its hold; default: it is kept"
    )
    equalise: Multiplier = Field(
        default=0.0, description="rate at which the smoke's mass is scaled to the target's, 1/s"
    )
    turbulence: Coefficient = Field(
        default=0.0, description="acceleration of random eddies in smoke that is on its way, m/s^2"
    )
    advection: Literal["limited", "smooth"] = Field(
        default="limited",
        description='"limited": sharp, conservative, sub-steps as needed; "smooth": the differentiable engine at '
        "time.steps_per_frame, without gathering, so that the saved forces repeat the run",
    )


AnyControl = Annotated[NoControl | TargetControl, Field(discriminator="method")]
