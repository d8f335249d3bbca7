"""The colours of a picture: a palette found in it, names for its colours, and how much of each a pixel holds.

Distances are those of OKLab (B. Ottosson 2020, "A perceptual color space for image processing"), where 0.02 can just be
seen. Paper is no ink: where a picture is not transparent, most of its border has the paper's colour.

A pixel on an edge mixes two colours, as drawing programs do, in sRGB: of all pairs among the palette and the paper it
gets the mixture nearest to it. Colours are looked up in a cube of 64 levels a channel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.ndimage import maximum_filter, minimum_filter

from keyfluid.errors import KeyfluidError

MOST_FOUND = 6
"""Colours that are found in a picture, at most, where their number is not given."""

_BITS = 6
_CUBE = 1 << (3 * _BITS)
_FLAT = 0.06
_ON_EDGES = 0.02
_NEAR = 0.08
_LEFT_OVER = 0.02
_SAME_AS_PAPER = 0.06
_ON_THE_WAY = 0.035
_ROUNDS = 25
_MIXED = 0.015
"""What a mixture must be nearer than a pure colour."""
_PURE = 0.04
"""Share of a mixture that counts as none: levels of the cube are no finer."""

_NAMES = {
    "black": "#101010", "grey": "#808080", "white": "#f4f4f4", "red": "#d83030", "orange": "#f08a30",
    "yellow": "#f4d040", "olive": "#808030", "green": "#309848", "lime": "#90d048", "teal": "#208888",
    "cyan": "#48c8e0", "blue": "#3060d0", "navy": "#182860", "purple": "#7838a8", "violet": "#a080e0",
    "magenta": "#d040b0", "pink": "#f4a0b8", "brown": "#805030", "tan": "#d8b890",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class ColourPicture:
    """rgb[x, y, 3] in bytes, sRGB, y up; cover[x, y]: alpha from 0 to 1, all 1 where there is none."""

    rgb: np.ndarray
    cover: np.ndarray

    @property
    def paper(self) -> np.ndarray | None:
        """sRGB components of the paper; None where alpha says what is drawn, or the border has no one colour."""
        if np.ptp(self.cover) > 0:
            return None
        sides = [self.rgb[0], self.rgb[-1], self.rgb[:, 0], self.rgb[:, -1]]
        border = np.concatenate(sides).astype(float) / 255
        middle = np.median(border, axis=0)
        close = np.linalg.norm(to_oklab(border) - to_oklab(middle), axis=1) < _SAME_AS_PAPER
        return middle if np.mean(close) > 0.6 else None


def to_oklab(srgb: np.ndarray) -> np.ndarray:
    """OKLab of sRGB components in [0, 1], (..., 3)."""
    linear = np.where(srgb <= 0.04045, srgb / 12.92, ((np.maximum(srgb, 0.04045) + 0.055) / 1.055) ** 2.4)
    to_cones = np.array(
        [[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566],
         [0.0883024619, 0.2817188376, 0.6299787005]]
    )  # fmt: skip
    to_lab = np.array(
        [[0.2104542553, 0.7936177850, -0.0040720468], [1.9779984951, -2.4285922050, 0.4505937099],
         [0.0259040371, 0.7827717662, -0.8086757660]]
    )  # fmt: skip
    cones = np.cbrt(np.einsum("...j,ij->...i", linear, to_cones))
    return np.einsum("...j,ij->...i", cones, to_lab)


def srgb_of(colour: str | Sequence[float]) -> np.ndarray:
    """sRGB components of a colour's name, "#rrggbb" or three numbers."""
    if not isinstance(colour, str):
        return np.asarray(colour, dtype=float)
    from PIL import ImageColor

    try:
        return np.asarray(ImageColor.getrgb(colour)[:3], dtype=float) / 255
    except ValueError:
        raise KeyfluidError(f"{colour!r} is not a colour; give a name such as 'orange' or '#rrggbb'") from None


def colour_names(colours: Sequence[str | Sequence[float]]) -> list[str]:
    """A word for each colour, by the nearest of those known; the second of a kind is "red_2"."""
    known = to_oklab(np.stack([srgb_of(value) for value in _NAMES.values()]))
    taken: dict[str, int] = {}
    names = []
    for colour in colours:
        word = list(_NAMES)[int(np.linalg.norm(known - to_oklab(srgb_of(colour)), axis=1).argmin())]
        taken[word] = taken.get(word, 0) + 1
        names.append(word if taken[word] == 1 else f"{word}_{taken[word]}")
    return names


def find_palette(pictures: Sequence[ColourPicture], count: int | None = None) -> list[str]:
    """ "#rrggbb" of the colours that pictures are drawn in, those with most ink first; count: how many.

    k-means in OKLab over flat parts (pixels on edges hardly count), started at the colours that are farthest from those
    before, so it finds the same ones every time. Without a count there are as many as leave no more than 2 % of the ink
    farther than 0.08 from its colour.
    """
    colours, weights = _inks(pictures)
    lab = to_oklab(colours)
    for wanted in range(1, MOST_FOUND + 1) if count is None else [count]:
        owner, centres = _k_means(lab, weights, wanted)
        distance = np.linalg.norm(lab - centres[owner], axis=1)
        if count is None and weights[distance > _NEAR].sum() < _LEFT_OVER * weights.sum():
            break
    _, owner = np.unique(owner, return_inverse=True)
    share: np.ndarray = np.bincount(owner, weights)
    means = np.stack([np.bincount(owner, weights * part) for part in colours.T], axis=1) / share[:, None]
    order = [int(i) for i in np.argsort(-share, kind="stable")]
    if count is None:
        order = _without_mixtures(means, share, order, [paper for p in pictures if (paper := p.paper) is not None])
    return ["#" + "".join(f"{round(255 * part):02x}" for part in means[i]) for i in order]


def shares_of(picture: ColourPicture, palette: Sequence[str | Sequence[float]]) -> np.ndarray:
    """(colour, x, y): how much of each colour of a palette every pixel holds, times its cover, in [0, 1]."""
    colours = np.stack([srgb_of(colour) for colour in palette])
    paper = picture.paper
    known = colours if paper is None else np.vstack([colours, paper])
    codes = _codes(picture.rgb)
    counted = np.bincount(codes.ravel(), minlength=_CUBE)
    used = np.flatnonzero(counted)
    means = _sums(picture.rgb, codes, None)[used] / counted[used, None]
    table = np.zeros((len(palette), _CUBE), np.float32)
    table[:, used] = _mixtures(means, known)[:, : len(palette)].T
    return np.stack([row[codes] * picture.cover for row in table])


def _mixtures(pixels: np.ndarray, known: np.ndarray) -> np.ndarray:
    """(pixel, colour): shares of the nearest pure colour or mixture of two."""
    lab = to_oklab(pixels)
    best = np.linalg.norm(lab[:, None] - to_oklab(known), axis=2)
    first, distance = best.argmin(axis=1), best.min(axis=1)
    second, part = first.copy(), np.zeros(len(pixels))
    for a, b in combinations(range(len(known)), 2):
        way = known[b] - known[a]
        along = np.clip((pixels - known[a]) @ way / max(way @ way, 1e-12), 0.0, 1.0)
        gap = np.linalg.norm(lab - to_oklab(known[a] + along[:, None] * way), axis=1) + _MIXED
        nearer = gap < distance
        first[nearer], second[nearer], part[nearer], distance[nearer] = a, b, along[nearer], gap[nearer]
    part = np.clip((part - _PURE) / (1 - 2 * _PURE), 0.0, 1.0)
    shares = np.zeros((len(pixels), len(known)))
    rows = np.arange(len(pixels))
    shares[rows, first] += 1 - part
    shares[rows, second] += part
    return shares


def _codes(rgb: np.ndarray) -> np.ndarray:
    levels = (rgb >> (8 - _BITS)).astype(np.int32)
    return (levels[..., 0] << (2 * _BITS)) | (levels[..., 1] << _BITS) | levels[..., 2]


def _sums(rgb: np.ndarray, codes: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """(code, 3): sRGB components of the pixels of each code, added up."""
    parts = [rgb[..., c] / 255.0 if weight is None else rgb[..., c] / 255.0 * weight for c in range(3)]
    return np.stack([np.bincount(codes.ravel(), part.ravel(), minlength=_CUBE) for part in parts], axis=1)


def _inks(pictures: Sequence[ColourPicture]) -> tuple[np.ndarray, np.ndarray]:
    """sRGB components and weights of the colours that are ink; every picture weighs the same."""
    total, sums = np.zeros(_CUBE), np.zeros((_CUBE, 3))
    for picture in pictures:
        rgb = picture.rgb.astype(np.float32) / 255
        spread = np.zeros(rgb.shape[:2], np.float32)
        for channel in np.moveaxis(rgb, 2, 0):
            np.maximum(spread, maximum_filter(channel, 3) - minimum_filter(channel, 3), out=spread)
        weight = np.where(spread < _FLAT, 1.0, _ON_EDGES) * picture.cover
        codes = _codes(picture.rgb)
        counted = np.bincount(codes.ravel(), weight.ravel(), minlength=_CUBE)
        added = _sums(picture.rgb, codes, weight)
        paper = picture.paper
        if paper is not None:
            used = np.flatnonzero(counted)
            means = added[used] / counted[used, None]
            near = used[np.linalg.norm(to_oklab(means) - to_oklab(paper), axis=1) < _SAME_AS_PAPER]
            counted[near], added[near] = 0.0, 0.0
        if counted.any():
            sums += added / counted.sum()
            total += counted / counted.sum()
    used = np.flatnonzero(total)
    if not len(used):
        raise KeyfluidError("has nothing drawn on its paper; every pixel has the border's colour")
    return sums[used] / total[used, None], total[used]


def _k_means(lab: np.ndarray, weights: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The centre each colour belongs to, and the centres."""
    centres = lab[[int(weights.argmax())]]
    while len(centres) < min(count, len(lab)):
        gap = ((lab[:, None] - centres) ** 2).sum(axis=2).min(axis=1)
        centres = np.vstack([centres, lab[int((weights * gap).argmax())]])
    for _ in range(_ROUNDS):
        owner = ((lab[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
        share = np.bincount(owner, weights, minlength=len(centres))
        sums = np.stack([np.bincount(owner, weights * part, minlength=len(centres)) for part in lab.T], axis=1)
        moved = np.where(share[:, None] > 0, sums / np.maximum(share, 1e-300)[:, None], centres)
        if np.array_equal(moved, centres):
            break
        centres = moved
    return owner, centres


def _without_mixtures(
    means: np.ndarray, share: np.ndarray, order: Sequence[int], papers: Sequence[np.ndarray]
) -> list[int]:
    """Colours from the strongest to the faintest, without those that only stand where two stronger ones meet."""
    kept: list[int] = []
    for i in order:
        ends = [*means[kept], *papers]
        for a, b in combinations(ends, 2):
            way = b - a
            along = np.clip((means[i] - a) @ way / max(way @ way, 1e-12), 0.0, 1.0)
            gap = np.linalg.norm(to_oklab(means[i]) - to_oklab(a + along * way))
            if gap < _ON_THE_WAY and share[i] < 0.05 * share.sum():
                break
        else:
            kept.append(i)
    return kept
