"""What is told to the person who waits while a scene is read and drawn."""

from __future__ import annotations

from collections.abc import Callable

Told = Callable[[str, int, int], None]
"""Called with what is being done, such as "drawing keyframe", the number of the one at hand, and how many there are."""


def say_nothing(what: str, number: int, count: int) -> None:
    """For those who do not wait."""
