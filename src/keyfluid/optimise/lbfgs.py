"""L-BFGS with a diagonal metric and a weak Wolfe line search, one iteration at a time.

    d = -H g,  H from the last m pairs s = x1 - x0, y = g1 - g0 by the two-loop recursion [Nocedal 1980],
    H_0 = gamma M,   gamma = s.y / y.M y                          M = diag(metric): the scale of each variable squared
    weak Wolfe: f(x + t d) <= f + c1 t g.d   and   g(x + t d).d >= c2 g.d     [Tang 2021, 5.1: 25 trial steps, m = 10]

A metric M is the same as L-BFGS in the variables z with x = sqrt(M) z, without changing the variables.

Between two iterations everything is in a `Minimisation`, which can be saved and continued bit for bit: sums
are taken in a fixed order (keyfluid/kernels/vectors.py), and a pair is the difference of two stored iterates, so that
the last m + 1 iterates and gradients are all that a checkpoint needs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from keyfluid.errors import KeyfluidError
from keyfluid.kernels.vectors import add_scaled, dot

Function = Callable[[np.ndarray], tuple[float, np.ndarray | Callable[[], np.ndarray]]]
"""Value and gradient at a point, or what computes the gradient, which is called only where the value is low enough; a
value that is not finite marks a point that can't be used."""

_ARMIJO, _CURVATURE = 1e-4, 0.9
_LEAST_CURVATURE = 1e-10
"""A pair is kept if s.y exceeds this share of |s| |y|: it must describe a convex parabola."""
_TILT = 0.1
"""The same where the objective jumps: y is tilted towards s until it does."""
_FALL = 0.01
"""The share of the lowest value that it must fall by to count as progress."""


@dataclass(frozen=True)
class Iterate:
    """A point, and the value and gradient there."""

    x: np.ndarray
    value: float
    gradient: np.ndarray


@dataclass(frozen=True, eq=False)
class Pair:
    """A step and the change of the gradient over it."""

    s: np.ndarray
    y: np.ndarray
    sy: float


@dataclass(frozen=True, eq=False)
class Minimisation:
    """Where a minimisation stands.

    now         where it stands
    best        the lowest point so far, and `lowest` its iteration: `now`, unless there is slack
    decrease    (f0 - f1) / f0 of the last iteration: the paper's stop rule looks at it
    stalled     "" while it goes on; otherwise why no step could be found
    iterates    the iterations whose points `pairs` joins, oldest first, `iteration` last
    mark        evaluations and value when the lowest value had last fallen by a hundredth
    """

    now: Iterate
    best: Iterate
    lowest: int = 0
    pairs: tuple[Pair, ...] = ()
    iteration: int = 0
    evaluations: int = 1
    decrease: float = np.inf
    stalled: str = ""
    iterates: tuple[int, ...] = (0,)
    mark: tuple[int, float] = (1, np.inf)

    @property
    def idle(self) -> int:
        """Evaluations since the lowest value had last fallen by a hundredth."""
        return self.evaluations - self.mark[0]


class Lbfgs:
    """The method; see the module docstring.

    metric: scale squared of each variable, a vector as long as x or None; first_step: length of the first step,
    sqrt(sum s^2 / metric). slack: for objectives with small jumps, as liquids have where cells become wet: a step may
    end above the point it began at, up to this much above the least value so far. Without it a search ends at the first
    jump, on its edge, where every step goes up. With it the first point that is low enough is taken.
    """

    def __init__(
        self,
        metric: np.ndarray | None = None,
        first_step: float = 1.0,
        history: int = 10,
        trials: int = 25,
        slack: float = 0.0,
    ) -> None:
        if history < 1 or trials < 1:
            raise KeyfluidError(f"optimiser: history {history} and trials {trials} must be at least 1")
        if metric is not None and not (np.all(np.isfinite(metric)) and metric.min() >= 0):
            raise KeyfluidError("optimiser: the metric must be finite and not negative")
        self.metric = metric
        self.first_step = first_step
        self.history = history
        self.trials = trials
        self.slack = slack

    def start(self, x: np.ndarray, function: Function) -> Minimisation:
        """Evaluate the starting point."""
        value, gradient = function(x)
        if not np.isfinite(value):
            raise KeyfluidError("optimiser: the objective is not finite at the start; shorten the step or the forces")
        here = Iterate(x, value, _array(gradient))
        return Minimisation(here, here, mark=(1, value))

    def advance(self, state: Minimisation, function: Function) -> Minimisation:
        """One iteration: a direction, a line search, a new pair."""
        if state.stalled:
            return state
        now = state.now
        direction, slope = self._direction(state)
        if slope == 0:
            return replace(state, stalled="the gradient is zero")
        first = 1.0 if state.pairs else self.first_step / np.sqrt(-slope)
        bar = max(now.value, state.best.value + self.slack) if self.slack > 0 else now.value
        found, evaluations = self._line_search(now, direction, slope, float(first), function, bar)
        evaluations += state.evaluations
        if found is None:
            if state.pairs:
                forgotten = replace(state, pairs=(), evaluations=evaluations, iterates=(state.iteration,))
                return self.advance(forgotten, function)
            return replace(state, evaluations=evaluations, stalled="no step lowers the objective")
        iteration = state.iteration + 1
        pairs, iterates = self._remember(state, found, iteration)
        decrease = (now.value - found.value) / abs(now.value) if now.value != 0 else 0.0
        best, lowest = (found, iteration) if found.value < state.best.value else (state.best, state.lowest)
        mark = (evaluations, best.value) if best.value < (1 - _FALL) * state.mark[1] else state.mark
        return Minimisation(found, best, lowest, pairs, iteration, evaluations, decrease, "", iterates, mark)

    def restore(
        self,
        trail: Mapping[int, Iterate],
        evaluations: int,
        decrease: float,
        best: tuple[int, Iterate] | None = None,
        mark: tuple[int, float] = (1, np.inf),
    ) -> Minimisation:
        """A minimisation as `advance` left it, from the points that its `iterates` and `lowest` named."""
        iterates = tuple(sorted(trail))
        pairs = tuple(self._pair(trail[a], trail[b]) for a, b in pairwise(iterates))
        last = iterates[-1]
        lowest, point = best or (last, trail[last])
        return Minimisation(trail[last], point, lowest, pairs, last, evaluations, decrease, "", iterates, mark)

    def _remember(
        self, state: Minimisation, found: Iterate, iteration: int
    ) -> tuple[tuple[Pair, ...], tuple[int, ...]]:
        pair = self._pair(state.now, found)
        if pair.sy <= _LEAST_CURVATURE * np.sqrt(dot(pair.s, pair.s) * dot(pair.y, pair.y)):
            return (), (iteration,)
        pairs = (*state.pairs, pair)[-self.history :]
        return pairs, (*state.iterates, iteration)[-len(pairs) - 1 :]

    def _pair(self, before: Iterate, after: Iterate) -> Pair:
        """Step and change of gradient; across a jump y may point anywhere, and is tilted until s . y is positive."""
        pair = _pair(before, after)
        if self.slack > 0:
            size = dot(pair.s, pair.s)
            least = _TILT * np.sqrt(size * dot(pair.y, pair.y))
            if size > 0 and pair.sy < least:
                y = pair.y.copy()
                add_scaled((least - pair.sy) / size, pair.s, y)
                return Pair(pair.s, y, dot(pair.s, y))
        return pair

    def _direction(self, state: Minimisation) -> tuple[np.ndarray, float]:
        """-H g and its slope."""
        gradient = state.now.gradient
        q = gradient.copy()
        weights = []
        for pair in reversed(state.pairs):
            weight = dot(pair.s, q) / pair.sy
            add_scaled(-weight, pair.y, q)
            weights.append(weight)
        if state.pairs:
            last = state.pairs[-1]
            measured = last.y if self.metric is None else last.y * self.metric
            q *= q.dtype.type(last.sy / dot(last.y, measured))
        if self.metric is not None:
            q *= self.metric
        for pair, weight in zip(state.pairs, reversed(weights)):
            add_scaled(weight - dot(pair.y, q) / pair.sy, pair.s, q)
        np.negative(q, out=q)
        return q, min(dot(q, gradient), 0.0)

    def _line_search(
        self, now: Iterate, direction: np.ndarray, slope: float, step: float, function: Function, bar: float
    ) -> tuple[Iterate | None, int]:
        """A point that meets the weak Wolfe conditions, or the lowest that only lacks curvature, or None.

        Bracketing [Lewis & Overton 2013]: the upper end violates sufficient decrease, the lower end curvature. A
        new trial inside the bracket is the minimiser of the parabola through value and slope at 0, kept away
        from the ends.
        """
        low, high = 0.0, np.inf
        best: Iterate | None = None
        for trial in range(1, self.trials + 1):
            x = now.x.copy()
            add_scaled(step, direction, x)
            value, gradient = function(x)
            if not np.isfinite(value) or value > bar + _ARMIJO * step * slope:
                high = step
                del gradient  # and what it was to be computed from
            else:
                here = Iterate(x, value, _array(gradient))
                if best is None or value < best.value:
                    best = here
                if self.slack > 0 or dot(here.gradient, direction) >= _CURVATURE * slope:
                    return here, trial
                low = step
            if high == np.inf:
                step = 2.0 * low
                continue
            step = 0.5 * (low + high)
            if low == 0.0 and np.isfinite(value):
                parabola = -slope * high * high / (2.0 * (value - now.value - slope * high))
                step = min(max(parabola, 0.1 * high), 0.5 * high)
        return best, self.trials


def _array(gradient: np.ndarray | Callable[[], np.ndarray]) -> np.ndarray:
    return gradient() if callable(gradient) else gradient


def _pair(before: Iterate, after: Iterate) -> Pair:
    s, y = after.x - before.x, after.gradient - before.gradient
    return Pair(s, y, dot(s, y))
