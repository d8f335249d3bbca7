"""What draws driven smoke: a prepared target and its strength."""

from __future__ import annotations

from dataclasses import dataclass

from keyfluid.fields import Field
from keyfluid.operators.blur import Blur


@dataclass(frozen=True, eq=False)
class DrivenGoal:
    """A target of one field, in run precision; b is the blurred target      [Fattal & Lischinski 2004, equation 6]."""

    target: Field
    blurred: Field
    slope: Field
    """D(b) / A(b) on faces, 1/m [section 4.3]."""
    weight: Field
    """A(b) on faces that smoke may pass [equation 10]."""
    mass: float


@dataclass(frozen=True)
class Coefficients:
    """v_f, v_d, v_g for one field and one target."""

    force: float
    damping: float
    gathering: float


@dataclass(frozen=True, eq=False)
class Pull:
    """A goal at work on its field."""

    goal: DrivenGoal
    coefficients: Coefficients
    width: float
    """The paper's sigma at this time, in metres."""
    blur: Blur
    motion: Field | None = None
    """Velocity of the target itself on faces, m/s, which damping leaves alone; None: it stands still."""
