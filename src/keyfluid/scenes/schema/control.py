"""[control]: the settings of all methods, each declared by the method itself, in one union."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from keyfluid.controllers.free.settings import FreeSettings
from keyfluid.controllers.guided.settings import GuidedSettings
from keyfluid.controllers.optimised.settings import AdjointSettings, SpectralSettings
from keyfluid.controllers.particles.settings import ParticleSettings
from keyfluid.controllers.spacetime.settings import SpacetimeSettings
from keyfluid.controllers.target.settings import TargetSettings

AnyControl = Annotated[
    FreeSettings
    | AdjointSettings
    | GuidedSettings
    | ParticleSettings
    | SpectralSettings
    | SpacetimeSettings
    | TargetSettings,
    Field(discriminator="method"),
]
