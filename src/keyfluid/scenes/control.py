"""[control]: one model per method. A new method adds its class here and to `AnyControl`, nowhere else.

With a second method AnyControl becomes
    Annotated[NoControl | TargetControl, Field(discriminator="method")]
and the loader, the schema and the documentation follow.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from keyfluid.scenes.bodies import Table


class NoControl(Table):
    """Free simulation: nothing steers the smoke."""

    method: Literal["none"] = Field(default="none", description="how the smoke is brought to its keyframes")


AnyControl = NoControl
