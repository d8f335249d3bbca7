"""Names such as walk.####.obj, walk.%04d.obj or walk.*.obj, matched in time linear in the length of a name.

All states that the pattern can be in are followed at once, as the bits of a number: bit i means that the first i
parts of the pattern have matched. Nothing is tried twice, so no name can make a match slow.
"""

from __future__ import annotations

import re

from keyfluid.errors import KeyfluidError

LONGEST_NAME = 255
_PARTS = re.compile(r"(#+|%0?[0-9]*d|\*+)")
_DIGITS = "0123456789"


class FilePattern:
    """`#`s or a printf number stand for one digit or more, `*` for anything."""

    def __init__(self, name: str) -> None:
        if len(name) > LONGEST_NAME:
            raise KeyfluidError(f"the pattern {name[:40]!r}... is longer than a file name, {LONGEST_NAME} characters")
        self._letters: dict[str, int] = {}
        self._digits = self._stars = 0
        bit = 1
        for part in _PARTS.split(name):
            if part[:1] == "*":
                self._stars |= bit
                bit <<= 1
            elif _PARTS.fullmatch(part):
                self._digits |= bit
                bit <<= 1
            else:
                for letter in part:
                    self._letters[letter] = self._letters.get(letter, 0) | bit
                    bit <<= 1
        self._end = bit

    def matches(self, name: str) -> bool:
        """Does the whole name fit?"""
        states = self._past_stars(1)
        for letter in name:
            after = (states & self._letters.get(letter, 0)) << 1 | states & self._stars
            if letter in _DIGITS:
                after |= (states & self._digits) << 1 | states & (self._digits << 1)
            states = self._past_stars(after)
            if not states:
                return False
        return bool(states & self._end)

    def _past_stars(self, states: int) -> int:
        """A star may stand for nothing; two never stand side by side."""
        return states | (states & self._stars) << 1


def natural_order(name: str) -> list[tuple[int, str]]:
    """A key to sort names by: walk.9 before walk.10, whatever the padding."""
    parts = re.split(r"([0-9]+)", name)
    return [(int(part), "") if odd else (-1, part) for odd, part in zip([False, True] * len(parts), parts)]
