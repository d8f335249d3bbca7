"""Makes the bundled pictures of method "spacetime": `python benchmarks/results/_gallery_pictures.py` rewrites
spacetime_bunny.png and spacetime_two_disks.png in the gallery, from the shapes in _spacetime_shapes.py.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from _spacetime_shapes import BUNNY, TWO_DISKS, Distance, drawn
from PIL import Image

GALLERY = Path(__file__).resolve().parents[2] / "src" / "keyfluid" / "gallery"
CELLS = 192
PICTURES = {"spacetime_bunny.png": BUNNY, "spacetime_two_disks.png": TWO_DISKS}


def picture(shape: Distance) -> np.ndarray:
    """Coverage in 256 grey levels, top row first, cut to what is not black."""
    grey = np.round(255 * drawn(shape, (CELLS, CELLS))).astype(np.uint8).T[::-1]
    rows, columns = np.nonzero(grey)
    return grey[rows.min() : rows.max() + 1, columns.min() : columns.max() + 1]


if __name__ == "__main__":
    for name, shape in PICTURES.items():
        Image.fromarray(picture(shape)).save(GALLERY / name, optimize=True)
