"""Guiding: the long waves of a velocity are replaced by given ones, or drawn towards them; short waves are left alone.

Locations   v on faces
Discrete    v1 = v + s E (c - A v)    A: coefficients of the waves up to the cutoff, each times its weight;
            E: the velocity made of coefficients (long_waves.py); c: the coefficients to reach, weighted alike;
            s: strength, 1 replaces, less pulls [after Nielsen & Bridson 2011; Inglis et al. 2017, whose guiding is
            the minimum of |v1 - v|^2 + weight |long waves of v1 - c|^2 among velocities without divergence]
Adjoint     v_bar = v1_bar - s A^T E^T v1_bar; c and s are given and are not differentiated
Deviations  both papers guide towards a blurred velocity; here waves are cut sharply unless bodies or open sides break
            them, and the projection that follows removes what divergence remains, instead of a primal-dual iteration
"""

from __future__ import annotations

from keyfluid.errors import KeyfluidError
from keyfluid.fields import Field
from keyfluid.operators.base import Fields, LinearOperator
from keyfluid.operators.long_waves import Coefficients, LongWaves


class Guide(LinearOperator):
    """forward(velocity) -> (velocity,); towards: weighted coefficients as `waves.of` gives them; strength: 0 to 1."""

    def __init__(self, waves: LongWaves, towards: Coefficients, strength: float = 1.0) -> None:
        if not 0 <= strength <= 1:
            raise KeyfluidError(f"guide: strength {strength} must be between 0 and 1")
        self.waves, self.towards, self.strength = waves, towards, strength

    def forward(self, *inputs: Field) -> Fields:
        (v,) = inputs
        strength, result = v.dtype.type(self.strength), v.copy()
        gap = tuple(strength * (goal - now) for goal, now in zip(self.towards, self.waves.of(v)))
        self.waves.add_field(gap, result)
        return (result,)

    def apply(self, *inputs: Field) -> Fields:
        (v,) = inputs
        return (v.add_scaled(-self.strength, self.waves.field(self.waves.of(v))),)

    def transpose(self, *outputs_bar: Field) -> Fields:
        (bar,) = outputs_bar
        return (bar.add_scaled(-self.strength, self.waves.transposed(bar)),)
