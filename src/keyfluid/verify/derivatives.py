"""Three checks that catch different faults.

dot test      <J x, y> = <x, J^T y>            a wrong transpose
Taylor test   |f(x + h d) - f(x) - h J d| ~ h^2    a wrong derivative (both alike wrong pass the dot test)
observed order, exact solutions                    a wrong forward
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from keyfluid.operators.base import Fields, Operator


def random_like(fields: Fields, rng: np.random.Generator) -> Fields:
    """Independent normal values in fields of the same kind."""
    return tuple(f.like(rng.standard_normal(f.data.size).astype(f.dtype)) for f in fields)


def _norm(fields: Fields) -> float:
    return float(np.sqrt(sum(f.dot(f) for f in fields)))


def _dot(a: Fields, b: Fields) -> float:
    return sum(x.dot(y) for x, y in zip(a, b))


def dot_defect(operator: Operator, inputs: Fields, rng: np.random.Generator) -> float:
    """|<J x, y> - <x, J^T y>| / (|J x| |y|) for independent random x and y."""
    x = random_like(inputs, rng)
    tangent = operator.tangent(inputs, x)
    y = random_like(tangent, rng)
    pulled = operator.adjoint(inputs, y)
    scale = _norm(tangent) * _norm(y)
    return abs(_dot(tangent, y) - _dot(x, pulled)) / scale if scale > 0 else 0.0


@dataclass(frozen=True)
class TaylorResult:
    """Remainders over shrinking steps; `slope` is 2 for a right derivative, 1 for a wrong one."""

    steps: np.ndarray
    remainders: np.ndarray
    scale: float

    @property
    def slope(self) -> float:
        return observed_order(self.steps, self.remainders)

    @property
    def exact(self) -> bool:
        """The function is linear: the remainders are rounding."""
        return bool(np.all(self.remainders <= 1e-13 * self.scale))

    @property
    def passed(self) -> bool:
        """Slope 2 within 0.1, or exactly linear."""
        return self.exact or abs(self.slope - 2.0) <= 0.1


def taylor_test(
    function: Callable[[float], np.ndarray], derivative: np.ndarray, steps: Sequence[float]
) -> TaylorResult:
    """Remainders of h -> function(h) - function(0) - h derivative along one direction.

    `function(h)` evaluates at x + h d, `derivative` is J d. Use steps that are small enough to stay clear of
    kinks and large enough to stay clear of rounding.
    """
    start = function(0.0)
    remainders = [float(np.linalg.norm(function(h) - start - h * derivative)) for h in steps]
    return TaylorResult(np.array(steps), np.array(remainders), float(np.linalg.norm(start)) + 1e-300)


def observed_order(steps: Sequence[float] | np.ndarray, errors: Sequence[float] | np.ndarray) -> float:
    """Slope of log(error) against log(step) by least squares."""
    return float(np.polyfit(np.log(np.asarray(steps)), np.log(np.maximum(np.asarray(errors), 1e-300)), 1)[0])
