"""A contact sheet: pictures in rows and columns with their values above and beside them, scores below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from keyfluid.errors import KeyfluidError
from keyfluid.render.strip import ACCENT, INK, PAPER, label_font

_SOFT = (140, 150, 163)


@dataclass(frozen=True, eq=False)
class SheetTile:
    """A picture and the line below it; the best one is marked."""

    picture: NDArray[np.uint8]
    caption: str
    best: bool = False


def contact_sheet(
    rows: Sequence[Sequence[SheetTile]],
    heads: Sequence[Sequence[str]],
    sides: Sequence[str],
    title: str = "",
    tile: int = 320,
) -> NDArray[np.uint8]:
    """The tiles as an image; heads[r] stand above row r (none: an empty list), sides[r] on its left."""
    from PIL import Image, ImageDraw

    if not rows or not all(rows) or len(heads) != len(rows) or len(sides) != len(rows):
        raise KeyfluidError("a contact sheet needs a tile in every row, and heads and sides for each")
    text, gap = max(11, tile // 16), max(6, tile // 24)
    font, line = label_font(text), round(1.7 * text)
    left = gap + max((round(font.getlength(side)) + gap for side in sides if side), default=0)
    tallest = max(cell.picture.shape[0] / cell.picture.shape[1] for row in rows for cell in row)
    height = max(1, round(tile * tallest))
    width = left + max(map(len, rows)) * (tile + gap)
    width = max(width, 2 * gap + round(font.getlength(title)))
    top = gap + (line if title else 0)
    heights = [(line if above else 0) + height + line + gap for above in heads]
    image = Image.new("RGB", (width, top + sum(heights)), PAPER)
    draw = ImageDraw.Draw(image)
    draw.text((gap, gap // 2), title, _SOFT, font=font)
    for row, above, side, tall in zip(rows, heads, sides, heights):
        first = top + (line if above else 0)
        draw.text((left - gap, first + height // 2), side, INK, font=font, anchor="rm")
        for column, cell in enumerate(row):
            x = left + column * (tile + gap)
            if above:
                draw.text((x + tile // 2, top + line // 2), above[column], INK, font=font, anchor="mm")
            size = (tile, max(1, round(tile * cell.picture.shape[0] / cell.picture.shape[1])))
            image.paste(Image.fromarray(cell.picture).resize(size, Image.Resampling.LANCZOS), (x, first))
            colour = ACCENT if cell.best else _SOFT
            if cell.best:
                draw.rectangle(
                    (x, first, x + size[0] - 1, first + size[1] - 1), outline=ACCENT, width=max(2, tile // 96)
                )
            draw.text((x + tile // 2, first + height + line // 2), cell.caption, colour, font=font, anchor="mm")
        top += tall
    return np.asarray(image)
