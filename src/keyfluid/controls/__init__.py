"""How a control vector becomes forces, with the adjoint: a basis in space, a plan in time."""

from keyfluid.controls.basis import Basis
from keyfluid.controls.basis_pair import BasisPair
from keyfluid.controls.control import Control, ControlForcing
from keyfluid.controls.dense import DenseForces, DensePotential
from keyfluid.controls.filtered import FilteredForces
from keyfluid.controls.gaussian import GaussianSources, GaussianVortices, GaussianWinds
from keyfluid.controls.lifted import LiftedForces
from keyfluid.controls.spectral import SpectralPotential
from keyfluid.controls.timing import Timing
from keyfluid.controls.upsampled import UpsampledPotential

__all__ = [
    "Basis",
    "BasisPair",
    "Control",
    "ControlForcing",
    "DenseForces",
    "DensePotential",
    "FilteredForces",
    "GaussianSources",
    "GaussianVortices",
    "GaussianWinds",
    "LiftedForces",
    "SpectralPotential",
    "Timing",
    "UpsampledPotential",
]
