"""What distances to keyframes have in common, whatever the fluid."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from keyfluid.rollout.rollout import Objective


class WeightedKey(Protocol):
    """A keyframe of an objective."""

    @property
    def weight(self) -> float: ...
    @property
    def path(self) -> str: ...


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


def worst_by_key(errors: Iterable[tuple[str, float]]) -> dict[str, float]:
    """The largest error of each keyframe entry, which may have several frames or fields."""
    worst: dict[str, float] = {}
    for path, error in errors:
        worst[path] = max(error, worst.get(path, 0.0))
    return worst
