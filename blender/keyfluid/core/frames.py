# SPDX-License-Identifier: GPL-3.0-or-later
"""Frames: Blender's frame `first` is frame 0 of a run, and the number in the names of its files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class FrameRange:
    """The frames of a film, as Blender counts them."""

    first: int
    last: int

    @property
    def count(self) -> int:
        return self.last - self.first + 1

    def to_run(self, frame: int) -> int:
        """The run's number of a frame."""
        return frame - self.first

    def from_run(self, index: int) -> int:
        return self.first + index

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.first, self.last + 1))


def sequence(folder: Path, name: str, ending: str) -> list[tuple[int, Path]]:
    """The files NAME.0001.ENDING of a folder without gaps, from the first on."""
    wanted = re.compile(rf"{re.escape(name)}\.(\d+)\.{ending}")
    found = sorted((int(match[1]), path) for path in folder.glob("*") if (match := wanted.fullmatch(path.name)))
    return [item for place, item in enumerate(found) if item[0] == found[0][0] + place]
