"""What a thumbnail is made of, as the server says it to the process that draws."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Thumb:
    """A run's folder, or a scene's text whose files lie in `folder`; the picture is written to `target`."""

    folder: Path
    text: str | None
    target: Path
