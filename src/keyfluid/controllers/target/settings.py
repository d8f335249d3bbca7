"""[control] of `method = "target"`, and the paper's coefficients made of it.

With T the seconds a target has, rho0 the smoke's peak density, and L the longest side of the domain:

    sigma = smoothing x L                       m                     blur of equation 6; deviation sigma / sqrt 2
    v_f = strength  x  8 L^2 / (T^2 rho0)       m^2/s^2 per density   driving force
    v_d = damping   x 24 / T                    1/s                   momentum attenuation
    v_g = gathering x 0.024 L^2 / (T rho0^2)    m^2/s per density^2   gathering

sigma, v_f, v_d and v_g may also be given as they are; then strength, damping and gathering multiply those.

Beyond the paper, a target acts from coarse to fine. Up to a gradient, which pressure takes away, the force is
v_f blur(rho) grad log(blur(rho*) / blur(rho)): it levels out shares of smoke that differ within the blur. With
sigma throughout, the letters next to the start fill up and those further off starve, since nothing within 0.05 L
tells smoke in a full letter of an empty one. So a turn begins with the blur `reach` x L and narrows it by factors
of about sqrt 2 to sigma in the first half of the turn. While it is s,

    v_f (s / sigma)^2      the force's stiffness v_f / s^2 stays the same
    v_g (sigma / s)^4      what will be carried is not gathered

are at work. Each s has its own rest at the target; reach = 0 is the paper's method.

Where islands of the target are far from the smoke (controllers/islands.py), a word above another say, `way` metres
between their centres, and the scene gives no reach, the blur begins with max(0.2 L, way), stays so for a fifth of the
turn and is sigma only after four fifths, and strength is 3: what arrives late at a narrow blur, from a source say,
never sees past the nearest island.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from keyfluid.errors import SceneError
from keyfluid.tables import Coefficient, FieldName, Flag, Multiplier, Positive, Table, number

if TYPE_CHECKING:
    from keyfluid.models.pull import Coefficients
    from keyfluid.problem import Problem


Smoothing = Annotated[float, number(above=0, at_most=1)]
Reach = Annotated[float, number(at_least=0, at_most=1)]

FORCE, DAMPING, GATHERING = 8.0, 24.0, 0.024
DENSE_GAP = 0.25
DENSE_TIME = 1.0
"""Targets closer than DENSE_GAP seconds are an animation: coefficients are then those of DENSE_TIME seconds."""
NARROWING = (0.0, 0.5)
"""Shares of a turn between which the blur narrows from reach to sigma."""
FAR_NARROWING, FAR_STRENGTH = (0.2, 0.8), 3.0
"""The same, and strength, where islands of the target are far."""


class FieldSettings(Table):
    """What one kind of smoke has of its own: a thin target needs a narrower blur than a stout one."""

    name: FieldName = Field(..., description="of one of smoke.field")
    strength: Multiplier | None = Field(default=None, description="as control.strength")
    gathering: Multiplier | None = Field(default=None, description="as control.gathering")
    smoothing: Smoothing | None = Field(default=None, description="as control.smoothing")
    sigma: Positive | None = Field(default=None, description="as control.sigma")
    reach: Reach | None = Field(default=None, description="as control.reach")


class TargetSettings(Table):
    """Target-driven smoke [Fattal & Lischinski 2004]: in one pass each keyframe attracts the smoke in its turn."""

    method: Literal["target"] = Field(
        ...,
        description="each keyframe acts from the one before until its frame and hold; its weight, up to 1, is "
        "its blend, and 0 leaves the smoke free. A liquid has no gravity while a keyframe acts on it",
    )
    strength: Multiplier | None = Field(
        default=None,
        description="of the driving force: a multiplier of v_f; more arrives earlier; default 1, or 3 where neither "
        "reach nor v_f is given and connected parts of a target lie farther than L/8 from all smoke",
    )
    damping: Multiplier = Field(
        default=1.0, description="of momentum: a multiplier of v_d; more is calmer, less overshoots"
    )
    gathering: Multiplier = Field(
        default=1.0,
        description="of stray smoke into the target: a multiplier of v_g; more is sharper and less natural",
    )
    smoothing: Smoothing = Field(
        default=0.05,
        description="blur of the driving force as a fraction of L, the longest side of the domain; more is "
        "smoother, less is livelier",
    )
    sigma: Positive | None = Field(
        default=None, description="sigma (eq. 6) of that blur in metres, instead of smoothing; default 0.05 L"
    )
    reach: Reach | None = Field(
        default=None,
        description="blur at the start of a keyframe's time as a fraction of L; it narrows to sigma within the first "
        "half of that time, so that far parts of the target get their share; 0: sigma throughout, as in the paper; "
        "default 0.2, or, where connected parts of a target lie farther than L/8 from all smoke, the way there, and "
        "it narrows within the first four fifths",
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
    follow: Flag = Field(
        default=True,
        description="damping is relative to the motion of an animated mesh, so that smoke keeps up with it; false: "
        "relative to the air at rest, as in the paper",
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
    field: list[FieldSettings] = Field(default=[], description="what some kinds of smoke have of their own")


class TargetNumbers(TargetSettings):
    """[control] on a domain whose longest side L is `side` metres."""

    method: Literal["target"] = "target"
    strength: float = 1.0
    reach: float = 0.2
    narrowing: tuple[float, float] = NARROWING
    side: float = 1.0

    @classmethod
    def of(cls, problem: Problem) -> TargetNumbers:
        control = problem.control
        assert isinstance(control, TargetSettings)
        for index, own in enumerate(control.field):
            if own.name not in problem.densities or own.name in [other.name for other in control.field[:index]]:
                names = ", ".join(map(repr, problem.densities))
                raise SceneError(
                    f"control.field[{index}].name", f"{own.name!r} is not one of {names}, each once at most"
                )
        return cls(**control.model_dump(exclude_none=True), side=max(problem.grid.size))

    def of_field(self, name: str) -> TargetNumbers:
        """The same with what this kind of smoke has of its own."""
        own = next((field for field in self.field if field.name == name), None)
        if own is None:
            return self
        given = own.model_dump(exclude_none=True, exclude={"name"})
        if "smoothing" in given and "sigma" not in given:
            given["sigma"] = None
        return self.model_copy(update=given)

    def reaching(self, way: float) -> TargetNumbers:
        """The same for a target with islands that are far, `way` metres from the smoke; 0: none is."""
        if way <= 0 or "reach" in self.model_fields_set:
            return self
        given = "strength" in self.model_fields_set or self.v_f is not None
        return self.model_copy(
            update={
                "reach": min(1.0, max(self.reach, way / self.side)),
                "strength": self.strength if given else FAR_STRENGTH,
                "narrowing": FAR_NARROWING,
            }
        )

    @property
    def width(self) -> float:
        """The paper's sigma, in metres."""
        return self.sigma if self.sigma is not None else self.smoothing * self.side

    def width_at(self, share: float, seconds: float) -> float:
        """s, in metres, when a target that has `seconds` has used up this share of them."""
        widest = max(self.reach * self.side, self.width)
        stages = math.ceil(2 * math.log2(widest / self.width) - 1e-9)
        begin, end = self.narrowing
        passed = math.floor(stages * max(share - begin, 0.0) / (end - begin) + 1e-9)
        if passed >= stages or seconds <= DENSE_GAP:
            return self.width
        return self.width * (widest / self.width) ** (1 - passed / stages)

    def coefficients(self, seconds: float, peak: float, blend: float, width: float) -> Coefficients:
        """For a target that has `seconds`, at a blend from 0 (free) to 1, while the blur is `width`."""
        from keyfluid.models.pull import Coefficients

        coarse = (width / self.width) ** 2
        time = seconds if seconds > DENSE_GAP else DENSE_TIME
        v_f = self.v_f if self.v_f is not None else FORCE * self.side**2 / (time**2 * peak)
        v_d = self.v_d if self.v_d is not None else DAMPING / time
        v_g = self.v_g if self.v_g is not None else GATHERING * self.side**2 / (time * peak**2)
        return Coefficients(
            blend * self.strength * v_f * coarse, blend * self.damping * v_d, blend * self.gathering * v_g / coarse**2
        )
