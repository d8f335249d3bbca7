"""Makes the coloured drawings of the gallery: `python benchmarks/results/_gallery_drawings.py` rewrites
drawing_fish.png and drawing_boat.png there, on white paper, and prints how much of each is in which colour.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

GALLERY = Path(__file__).resolve().parents[2] / "src" / "keyfluid" / "gallery"
SIZE = (240, 180)
FINE = 8
PAPER, ORANGE, TEAL, NAVY = "#ffffff", "#f0852c", "#1f9a94", "#26306e"


def fish(draw: ImageDraw.ImageDraw) -> None:
    """Orange body, teal tail and fins, navy eye and stripes."""
    polygon(draw, TEAL, (56, 90), (6, 30), (20, 90), (6, 150))
    polygon(draw, TEAL, (74, 56), (118, 6), (172, 56))
    polygon(draw, TEAL, (96, 128), (112, 174), (156, 124))
    ellipse(draw, ORANGE, (130, 90), (92, 44))
    polygon(draw, NAVY, (92, 51), (106, 49), (100, 90), (106, 131), (92, 129), (84, 90))
    polygon(draw, NAVY, (132, 46), (147, 47), (141, 90), (147, 133), (132, 134), (125, 90))
    ellipse(draw, NAVY, (188, 80), (9, 9))


def boat(draw: ImageDraw.ImageDraw) -> None:
    """Orange sails, teal hull, navy mast, flag and band."""
    polygon(draw, ORANGE, (124, 14), (124, 122), (222, 122))
    polygon(draw, ORANGE, (112, 24), (112, 122), (24, 122))
    polygon(draw, TEAL, (20, 130), (220, 130), (190, 166), (54, 166))
    polygon(draw, NAVY, (115, 4), (121, 4), (121, 128), (115, 128))
    polygon(draw, NAVY, (115, 4), (115, 24), (78, 14))
    polygon(draw, NAVY, (27, 138), (213, 138), (207, 146), (35, 146))


def polygon(draw: ImageDraw.ImageDraw, colour: str, *points: tuple[float, float]) -> None:
    draw.polygon([(FINE * x, FINE * y) for x, y in points], fill=colour)


def ellipse(draw: ImageDraw.ImageDraw, colour: str, center: tuple[float, float], half: tuple[float, float]) -> None:
    corners = [center[0] - half[0], center[1] - half[1], center[0] + half[0], center[1] + half[1]]
    draw.ellipse([FINE * corner for corner in corners], fill=colour)


DRAWINGS = {"drawing_fish.png": fish, "drawing_boat.png": boat}


def large(drawing: Callable[[ImageDraw.ImageDraw], None]) -> Image.Image:
    """Without mixed pixels."""
    image = Image.new("RGB", (FINE * SIZE[0], FINE * SIZE[1]), PAPER)
    drawing(ImageDraw.Draw(image))
    return image


def picture(drawing: Callable[[ImageDraw.ImageDraw], None]) -> Image.Image:
    return large(drawing).resize(SIZE, Image.Resampling.BOX)


if __name__ == "__main__":
    for name, drawing in DRAWINGS.items():
        pixels = np.asarray(large(drawing)).reshape(-1, 3)
        for colour in (ORANGE, TEAL, NAVY):
            wanted = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
            print(f"{name} {colour} {100 * np.mean(np.all(pixels == wanted, axis=1)):.2f} %")
        picture(drawing).save(GALLERY / name, optimize=True)
