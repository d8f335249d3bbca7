"""Minimisation of smooth functions of many variables."""

from keyfluid.optimise.lbfgs import Lbfgs, Minimisation

__all__ = ["Lbfgs", "Minimisation"]
