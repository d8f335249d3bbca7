"""What distances to keyframes have in common, whatever the fluid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from keyfluid.rollout.rollout import Objective


class WeightedKey(Protocol):
    """A keyframe of an objective."""

    @property
    def weight(self) -> float: ...


class KeyframeMatch(Objective, Protocol):
    """The distance to some keyframes, divided by `scale`, the weighted sum of their sizes.

    errors: relative error of each keyframe, by its place in `keys`, as of the last evaluation.
    """

    scale: float
    sizes: list[float]

    @property
    def keys(self) -> Sequence[WeightedKey]: ...
    @property
    def errors(self) -> Mapping[int, float]: ...
