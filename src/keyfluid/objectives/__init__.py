"""What is minimised: the distance to keyframes, pictures and velocities, and penalties on forces and shear."""

from keyfluid.objectives.density import DensityKey, DensityMatch
from keyfluid.objectives.force import ForcePenalty
from keyfluid.objectives.picture import PictureKey, PictureMatch
from keyfluid.objectives.shear import ShearPenalty
from keyfluid.objectives.sum import Scaled, SumOfObjectives
from keyfluid.objectives.surface import SurfaceKey, SurfaceMatch
from keyfluid.objectives.velocity import VelocityKey, VelocityMatch, root_mean_square

__all__ = [
    "DensityKey",
    "DensityMatch",
    "ForcePenalty",
    "PictureKey",
    "PictureMatch",
    "Scaled",
    "ShearPenalty",
    "SumOfObjectives",
    "SurfaceKey",
    "SurfaceMatch",
    "VelocityKey",
    "VelocityMatch",
    "root_mean_square",
]
