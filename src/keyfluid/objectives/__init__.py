"""What is minimised: the distance to keyframes, pictures and velocities, and prices of forces and of shear."""

from keyfluid.objectives.density import DensityKey, DensityMatch
from keyfluid.objectives.force import ForcePrice
from keyfluid.objectives.picture import PictureKey, PictureMatch
from keyfluid.objectives.shear import ShearPrice
from keyfluid.objectives.sum import Scaled, SumOfObjectives
from keyfluid.objectives.surface import SurfaceKey, SurfaceMatch
from keyfluid.objectives.velocity import VelocityKey, VelocityMatch, root_mean_square

__all__ = [
    "DensityKey",
    "DensityMatch",
    "ForcePrice",
    "PictureKey",
    "PictureMatch",
    "Scaled",
    "ShearPrice",
    "SumOfObjectives",
    "SurfaceKey",
    "SurfaceMatch",
    "VelocityKey",
    "VelocityMatch",
    "root_mean_square",
]
