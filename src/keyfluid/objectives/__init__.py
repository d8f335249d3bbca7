"""What is minimised: the distance of densities to their keyframes, and prices of forces and of shear."""

from keyfluid.objectives.density import DensityKey, DensityMatch
from keyfluid.objectives.force import ForcePrice
from keyfluid.objectives.picture import PictureKey, PictureMatch
from keyfluid.objectives.shear import ShearPrice
from keyfluid.objectives.sum import SumOfObjectives

__all__ = ["DensityKey", "DensityMatch", "ForcePrice", "PictureKey", "PictureMatch", "ShearPrice", "SumOfObjectives"]
