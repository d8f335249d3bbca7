"""Progress while a scene is read and drawn."""

from __future__ import annotations

from collections.abc import Callable

Told = Callable[[str, int, int], None]
"""Called with what is being done, such as "drawing keyframe", its number, and the total."""


def say_nothing(what: str, number: int, count: int) -> None:
    """Report no progress."""
