"""A filmstrip: frames side by side with their labels, targets beside the frames they belong to."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from keyfluid.errors import KeyfluidError

if TYPE_CHECKING:
    from PIL.ImageFont import FreeTypeFont

PAPER = (16, 20, 27)
INK = (200, 206, 214)
ACCENT = (255, 180, 84)


def label_font(size: int) -> FreeTypeFont:
    """DejaVu Sans, which matplotlib ships; found without importing matplotlib."""
    from PIL import ImageFont

    found = importlib.util.find_spec("matplotlib")
    if found is None or found.origin is None:
        raise KeyfluidError("labels require DejaVu Sans from matplotlib, which is missing; install matplotlib")
    return ImageFont.truetype(Path(found.origin).parent / "mpl-data" / "fonts" / "ttf" / "DejaVuSans.ttf", size)


def filmstrip(
    images: Sequence[NDArray[np.uint8]],
    labels: Sequence[str],
    targets: Sequence[NDArray[np.uint8] | None] | None = None,
    columns: int = 6,
    tile: int = 256,
) -> NDArray[np.uint8]:
    """Frames in rows, each `tile` pixels wide with its label beneath; an orange box marks a target.

    `targets` holds a picture or None for each frame and is drawn to its right. Frame and target are never
    parted by the end of a row.
    """
    from PIL import Image, ImageDraw

    if not images or len(labels) != len(images) or (targets is not None and len(targets) != len(images)):
        raise KeyfluidError("a filmstrip needs at least one frame, and as many labels and targets as frames")
    groups: list[list[tuple[NDArray[np.uint8], str, bool]]] = []
    for index, (image, label) in enumerate(zip(images, labels)):
        target = None if targets is None else targets[index]
        groups.append([(image, label, False)] + ([(target, "target", True)] if target is not None else []))
    rows: list[list[tuple[NDArray[np.uint8], str, bool]]] = [[]]
    for group in groups:
        if rows[-1] and len(rows[-1]) + len(group) > max(columns, 1):
            rows.append([])
        rows[-1].extend(group)

    gap, text = max(4, tile // 32), max(11, tile // 16)
    height = max(1, round(tile * max(image.shape[0] / image.shape[1] for image in images)))
    pitch_x, pitch_y = tile + gap, height + gap + round(1.6 * text)
    sheet = Image.new("RGB", (gap + pitch_x * max(map(len, rows)), gap + pitch_y * len(rows)), PAPER)
    draw, font = ImageDraw.Draw(sheet), label_font(text)
    for row, cells in enumerate(rows):
        for column, (picture, label, is_target) in enumerate(cells):
            left, top = gap + column * pitch_x, gap + row * pitch_y
            size = (tile, max(1, round(tile * picture.shape[0] / picture.shape[1])))
            sheet.paste(Image.fromarray(picture).resize(size, Image.Resampling.LANCZOS), (left, top))
            if is_target:
                draw.rectangle(
                    (left, top, left + size[0] - 1, top + size[1] - 1),
                    outline=ACCENT,
                    width=max(1, tile // 128),
                )
            draw.text((left + 1, top + height + text // 4), label, ACCENT if is_target else INK, font=font)
    return np.asarray(sheet)
