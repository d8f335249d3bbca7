"""[control]: one model per method. A new method adds its class here, or in a file beside it, and to `AnyControl`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from keyfluid.scenes.bodies import Table
from keyfluid.scenes.control_optimised import AdjointControl, SpectralControl
from keyfluid.scenes.wants import Coefficient, Flag, Multiplier, Positive, number, whole


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
    reach: Annotated[float, number(at_least=0, at_most=1)] = Field(
        default=0.2,
        description="blur at the start of a keyframe's time as a fraction of L; it narrows to sigma within the first "
        "half of that time, so that far parts of the target get their share; 0: sigma throughout, as in the paper",
    )
    v_f: Coefficient | None = Field(
        default=None,
        description="force coefficient (eq. 4), m^2/s^2 per density; default 8 L^2 / (T^2 rho0) with T the seconds "
        "since the keyframe before or the start (1 s if below 0.25 s), rho0 the smoke's peak density",
    )
    v_d: Coefficient | None = Field(default=None, description="momentum attenuation (eq. 4), 1/s; default 24 / T")
    v_g: Coefficient | None = Field(
        default=None,
        description="gathering coefficient (eq. 5), m^2/s per density^2; default 0.024 L^2 / (T rho0^2)",
    )
    falloff: Positive | None = Field(
        default=None,
        description="metres from the target over which the force fades; default: it reaches everywhere",
    )
    hard: Flag = Field(default=False, description="the target is cut at half its maximum, so that it has no grey edge")
    release: Flag = Field(
        default=False, description="the smoke is free after the last keyframe and its hold; default: it is kept"
    )
    equalise: Multiplier = Field(
        default=0.0, description="rate at which the smoke's mass is scaled to the target's, 1/s"
    )
    turbulence: Coefficient = Field(
        default=0.0, description="acceleration of random eddies in smoke that is on its way, m/s^2"
    )
    advection: Literal["limited", "first-order", "smooth"] = Field(
        default="limited",
        description='"limited": sharp, conservative, sub-steps as needed; "first-order": the same without its '
        'second-order correction, blurry, for comparison (figure 2, row C); "smooth": the differentiable engine at '
        "time.steps_per_frame, without gathering, so that the saved forces repeat the run",
    )


class ParticlesControl(Table):
    """Control, target and vortex particles [Madill & Mould 2013]: windy smoke creatures at interactive rates."""

    method: Literal["particles"] = Field(
        ...,
        description="each keyframe acts from the one before until its frame and hold; an animated mesh moves "
        "meanwhile. Markers are the smoke",
    )
    preset: Literal["standard", "table2"] = Field(
        default="standard",
        description='"standard": 200 000 markers, 5 000 control particles and vortices, radii 0.02 L; "table2": those '
        "of the paper's table 2: 400 000, 10 000, 0.01 L",
    )
    markers: Annotated[int, whole(1, 100_000_000)] | None = Field(
        default=None, description="M: marker particles once all sources have acted; default: the preset's"
    )
    control_particles: Annotated[int, whole(1, 10_000_000)] | None = Field(
        default=None, description="N: control particles, and as many target particles; default: the preset's"
    )
    marker_radius: Positive | None = Field(
        default=None,
        description="r_m: of the blur that makes density of markers, metres, at least a cell; default: the preset's, "
        "at least 1.5 cells",
    )
    control_radius: Positive | None = Field(
        default=None,
        description="r_c: the same for control particles: less is a sharper shape; default as for markers",
    )
    velocity_radius: Positive | None = Field(
        default=None,
        description="r_v (eq. 2): how far a control particle moves the smoke, metres; default 2.5 distances between "
        "control particles",
    )
    velocity_cells: Annotated[int, whole(4, 1024)] | None = Field(
        default=None,
        description="cells of the velocity lattice along the longest side; default 48, in 2D 96",
    )
    strength: Coefficient | None = Field(
        default=None,
        description="S_a: attraction, m/s^2; too low is sluggish, too high outruns the turbulence; default 3 L per "
        "second^2, with L the longest side of the domain",
    )
    ramp: Positive | None = Field(
        default=None,
        description="1 / A_rho: metres from its target over which attraction grows to full; default 0.1 L",
    )
    slack: Coefficient = Field(default=0.0, description="A_phi: metres from its target where attraction begins")
    damping: Annotated[float, number(at_least=0, at_most=0.99)] = Field(
        default=0.3, description="d: share of a control particle's speed that is lost in 1/30 s"
    )
    follow: Flag = Field(
        default=True,
        description="damping is relative to a moving target's own velocity, so that the smoke does not lag behind; "
        "false: as in the paper",
    )
    swaps: Annotated[int, whole(0, 1_000_000_000)] | None = Field(
        default=None, description="C_opt: pairs of control particles tried per step (algorithm 1); default 5 N"
    )
    place: Literal["emission", "frame"] = Field(
        default="emission", description="when control particles are placed: as smoke comes in, or in every step"
    )
    ratio: Positive = Field(
        default=1.5,
        description="control over marker density, in units of N / M, below which a control particle is placed",
    )
    vortices: Annotated[int, whole(0, 10_000_000)] | None = Field(
        default=None, description="most vortex particles there are at a time; default: the preset's"
    )
    vortex_radius: Positive | None = Field(default=None, description="mean radius of vortices, metres; default 0.05 L")
    vortex_strength: Coefficient = Field(default=4.0, description="mean magnitude of omega, 1/s")
    vortex_energy: Coefficient | None = Field(
        default=None,
        description="turbulent energy below which vortices spawn, m^2/s^2; default 4 (vortex_strength vortex_radius)^2",
    )
    exchange: Coefficient = Field(default=0.1, description="nu (eq. 6): strength exchange, 1/s")
    exchange_radius: Positive | None = Field(
        default=None, description="d_max (eq. 7), metres; default half of vortex_radius"
    )
    redistributions: Annotated[int, whole(0, 1_000_000_000)] | None = Field(
        default=None,
        description="C_redist: markers looked at per step, and put back if they have strayed (algorithm 2); more is a "
        "sharper shape and less like smoke; default: the number of markers",
    )
    edge: Annotated[float, number(above=0, at_most=2)] = Field(
        default=0.5,
        description="epsilon: a marker has strayed where the control potential is below this share of its mean",
    )
    even: Flag = Field(
        default=True,
        description="strays are put where smoke is thin, so that the shape fills evenly; false: anywhere, as in the "
        "paper",
    )
    release: Flag = Field(
        default=False, description="the smoke is free after the last keyframe and its hold; default: it is kept"
    )
    project: Flag = Field(default=False, description="pressure projection of the control velocity (not in the paper)")
    contain: Coefficient = Field(
        default=0.0,
        description="1/s: speed back towards the target per metre outside of it (not in the paper)",
    )
    colour: Literal["field", "speed"] = Field(
        default="field", description="of markers in pictures: that of their smoke, or by speed"
    )
    ply: Flag = Field(default=False, description="the markers of every frame as PLY points: ply/NAME.1001.ply")


class SpacetimeControl(Table):
    """Spacetime control [Pan & Manocha 2017]: all steps optimised together by ADMM, then the forces replayed."""

    method: Literal["spacetime"] = Field(
        ...,
        description="keyframes are met by the least force; the smoke is free after the last. Walls or periodic sides; "
        'no obstacles, sources or buoyancy. steps_per_frame = "auto" is one step: steps are implicit',
    )
    r: Annotated[float, number(at_least=1e-3, at_most=1e9)] = Field(
        default=1e3,
        description="r (eq. 5): price of forces, the paper's number at 128 cells along the longest side and steps of "
        "0.025 s; more is freer and less exact. Its meaning does not change with resolution and step",
    )
    K: Annotated[float, number(at_least=100, at_most=1e6)] = Field(
        default=1e3,
        description="K (eq. 6): price of the gap between the velocities of the two subproblems, the paper's number; it "
        "changes the way, not the end. Times the largest weight of a keyframe",
    )
    beta: Annotated[float, number(above=0, at_most=1.618)] = Field(
        default=1.0, description="beta: step of the multipliers; beyond 1.618 ADMM diverges"
    )
    balance: Flag = Field(
        default=True, description="K is doubled or halved where the two residuals differ by more than ten"
    )
    duals: Literal["every", "settled"] = Field(
        default="every",
        description='multipliers move in every iteration, or ("settled", section 5) when the objective has settled',
    )
    iterations: Annotated[int, whole(at_least=1, at_most=1000)] = Field(
        default=50,
        description="most outer iterations of all keyframes together; as many again for each keyframe on the way there "
        "(approach), and in each window of a horizon",
    )
    tolerance: Annotated[float, number(above=0, at_most=1)] = Field(
        default=0.01, description="eps_ADMM: stops when no density changes by more, as a share of the peak"
    )
    advection_iterations: Annotated[int, whole(at_least=1, at_most=100)] = Field(
        default=2, description="iterations of eq. 8 in each outer one"
    )
    solver: Literal["gauss-newton", "fas"] = Field(
        default="gauss-newton",
        description="of the Navier-Stokes subproblem: projected Gauss-Newton-CG, or the paper's multigrid "
        "(algorithm 2; halved together, the sides must come to 12 cells or fewer on the longest and 4 or more on the "
        "shortest, as 32, 48, 64, 96 and 128 do)",
    )
    flow_tolerance: Annotated[float, number(above=0, at_most=1)] = Field(
        default=1e-5, description="eps_FAS: largest residual of that subproblem, in cells and steps"
    )
    transport: Literal["upwind", "semi-lagrangian"] = Field(
        default="upwind", description="how the smoke is carried: eq. 4, or as in figure 4"
    )
    free_start: Flag = Field(
        default=False, description="the initial velocity is optimised too (as eq. 10 has it), at no cost in forces"
    )
    approach: Flag | Literal["auto"] = Field(
        default="auto",
        description="true: several keyframes are first met one after the other, roughly, then all together from there; "
        'false: together from rest, as in the paper; "auto": one after the other where a keyframe covers less than a '
        "fifth of the next, which from rest may be missed. Not with a horizon",
    )
    horizon: Annotated[int, whole(at_least=2, at_most=100_000)] | None = Field(
        default=None,
        description="receding horizon (section 6): frames optimised together, at least up to the next keyframe; "
        "default: all",
    )


AnyControl = Annotated[
    NoControl | AdjointControl | ParticlesControl | SpectralControl | SpacetimeControl | TargetControl,
    Field(discriminator="method"),
]
