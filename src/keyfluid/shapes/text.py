"""Text from font outlines: exact areas at any size, so that a word can be resized smoothly to a mass."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from keyfluid.errors import KeyfluidError
from keyfluid.io.budget import enough_memory
from keyfluid.shapes.extrude import Drawing, Extrusion
from keyfluid.shapes.placement import Hull, Transform
from keyfluid.shapes.polygon import polygon_coverage

_LINE_HEIGHT = 1.2
_FLATTENING = 4096  # units per em in which curves are cut into straight pieces, to about a tenth of a unit
_LONGEST = 2000
_LARGEST_FONT = 128 << 20
_MOST_POINTS = 1 << 20  # of all outlines of a text; two thousand Chinese characters have a third of it


@dataclass(frozen=True)
class Text(Drawing):
    """A word or several lines, in em; the ink box is what `fit` and `center` refer to.

    font: path of a TrueType or OpenType file; None takes DejaVu Sans Bold, which matplotlib carries.
    align: "left", "center" or "right", for lines of different length.
    """

    text: str
    font: Path | None = None
    align: str = "center"
    extrusion: Extrusion = field(default_factory=Extrusion)

    def __post_init__(self) -> None:
        if self.align not in ("left", "center", "right"):
            raise KeyfluidError(f"align {self.align!r} must be left, center or right")
        if len(self.text) > _LONGEST:
            raise KeyfluidError(f"text has {len(self.text)} characters, at most {_LONGEST} are allowed; shorten it")
        _ = self.outlines

    @cached_property
    def outlines(self) -> list[np.ndarray]:
        """Closed outlines of all glyphs, local points (n, 2) with the y axis up."""
        path = self.font if self.font is not None else _default_font()
        with enough_memory(f"font {path}"):
            return self._outlines(path)

    def _outlines(self, path: Path) -> list[np.ndarray]:
        properties = _checked_font(path, self.text)
        lines = [_line_outlines(line.expandtabs(4), properties, path) for line in self.text.splitlines()]
        placed: list[np.ndarray] = []
        for row, line in enumerate(lines):
            if not line:
                continue
            ink = np.concatenate(line)
            left, right = ink[:, 0].min(), ink[:, 0].max()
            anchor = {"left": left, "right": right, "center": 0.5 * (left + right)}[self.align]
            placed += [outline - (anchor, row * _LINE_HEIGHT) for outline in line]
        if not placed:
            raise KeyfluidError(f"text {self.text!r} has nothing visible; give at least one letter")
        return placed

    def ink(self) -> Hull:
        return Hull(np.concatenate(self.outlines))

    def draw(self, shape: tuple[int, int], spacing: float, transform: Transform) -> np.ndarray:
        return polygon_coverage([transform.to_world(outline) for outline in self.outlines], shape, spacing)

    def parts(self) -> list[tuple[str, TextPart]]:
        """Its words, or of a single word its letters, each drawn where it stands in the whole."""
        path = self.font if self.font is not None else _default_font()
        properties = _checked_font(path, self.text)
        names = r"\S+" if len(self.text.split()) > 1 else r"\S"
        found, before = [], 0
        for line in self.text.splitlines():
            plain = line.expandtabs(4)
            for match in re.finditer(names, plain):
                first, last = (
                    before + len(_line_outlines(plain[:end], properties, path)) for end in (match.start(), match.end())
                )
                if last > first:
                    found.append((match[0], TextPart(self, self.outlines[first:last], self.extrusion)))
            before += len(_line_outlines(plain, properties, path))
        return found


@dataclass(frozen=True, eq=False)
class TextPart(Drawing):
    """Some outlines of a text, placed as all of it is."""

    whole: Text
    own: list[np.ndarray]
    extrusion: Extrusion

    def ink(self) -> Hull:
        return self.whole.ink()

    def draw(self, shape: tuple[int, int], spacing: float, transform: Transform) -> np.ndarray:
        return polygon_coverage([transform.to_world(outline) for outline in self.own], shape, spacing)


def _default_font() -> Path:
    import matplotlib

    return Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans-Bold.ttf"


def _checked_font(path: Path, text: str) -> Any:
    """Font properties for `path`, after checking that it is a font and has a glyph for every character."""
    from matplotlib.font_manager import FontProperties, get_font

    if not path.is_file():
        raise KeyfluidError(f"font {path} does not exist")
    if path.stat().st_size > _LARGEST_FONT:
        raise KeyfluidError(f"font {path} is larger than {_LARGEST_FONT >> 20} MiB; choose another one")
    try:
        font = get_font(str(path))
        known = font.get_charmap()
    except MemoryError:
        raise
    except Exception as error:  # FreeType's faults come as several kinds of exception
        raise KeyfluidError(f"font {path} can't be read as a TrueType or OpenType font: {_line(error)}") from None
    missing = [c for c in dict.fromkeys(text) if ord(c) not in known and c not in "\t" and c.splitlines() != [""]]
    if missing:
        names = ", ".join(f"{character!r} (U+{ord(character):04X})" for character in missing[:8])
        raise KeyfluidError(f"font {path.name} has no glyph for {names}; choose another `font` or other text")
    _check_outlines(font, [c for c in text if ord(c) in known], path)
    return FontProperties(fname=str(path))


def _check_outlines(font: Any, characters: list[str], path: Path) -> None:
    """Count the points of every glyph before whole lines are drawn: a glyph may have 32,767 of them."""
    points = 0
    try:
        for character, times in Counter(characters).items():
            font.load_char(ord(character))
            points += times * len(font.get_path()[0])
    except MemoryError:
        raise
    except Exception as error:
        raise KeyfluidError(f"font {path} can't draw {character!r}: {_line(error)}") from None
    if points > _MOST_POINTS:
        raise KeyfluidError(
            f"font {path} draws this text with {points} points, at most {_MOST_POINTS} fit; choose a plainer font"
        )


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]


def _line_outlines(line: str, properties: Any, path: Path) -> list[np.ndarray]:
    """Outlines of one line in em, its baseline at y = 0."""
    from matplotlib.path import Path as Outline
    from matplotlib.textpath import text_to_path
    from matplotlib.transforms import Affine2D

    if not line.strip():
        return []
    try:
        vertices, codes = text_to_path.get_text_path(properties, line, ismath=False)
    except MemoryError:
        raise
    except Exception as error:
        raise KeyfluidError(f"font {path} can't draw {line[:40]!r}: {_line(error)}") from None
    enlarge = Affine2D().scale(_FLATTENING / text_to_path.FONT_SCALE)
    polygons = [np.asarray(p, dtype=float) for p in Outline(vertices, codes).to_polygons(enlarge)]
    return [polygon / _FLATTENING for polygon in polygons if len(polygon) > 2]
