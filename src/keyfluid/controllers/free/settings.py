"""[control] of `method = "none"`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from keyfluid.tables import Table


class FreeSettings(Table):
    """Free simulation: nothing steers the smoke."""

    method: Literal["none"] = Field(default="none", description="how the smoke is brought to its keyframes")
