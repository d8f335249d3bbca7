"""Which target acts when: each from the end of the one before until its own frame, and for its hold beyond.

The last one keeps acting to the end, or lets go after its hold (`release`). A keyframe's weight, up to 1, is
its blend.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from keyfluid.problem import Keyframe


@dataclass(frozen=True, eq=False)
class Turn:
    """A keyframe's time: frames first < f <= last."""

    key: Keyframe
    first: int
    last: int

    @property
    def frames(self) -> int:
        """How long the smoke has to get there."""
        return self.key.frame - self.first

    @property
    def blend(self) -> float:
        return min(self.key.weight, 1.0)


def turns(keys: Sequence[Keyframe], frames: int, release: bool) -> list[Turn]:
    """The turns of one field's keyframes, in order."""
    ordered = sorted(keys, key=lambda key: key.frame)
    result: list[Turn] = []
    begin = 0
    for index, key in enumerate(ordered):
        end = key.frame + key.hold
        if index + 1 < len(ordered):
            end = min(end, ordered[index + 1].frame - 1)
        elif not release:
            end = max(end, frames)
        result.append(Turn(key, begin, end))
        begin = end
    return result


def acting(plan: Sequence[Turn], frame: int) -> Turn | None:
    """The turn that steers towards `frame` from the frame before."""
    return next((turn for turn in plan if turn.first < frame <= turn.last), None)
