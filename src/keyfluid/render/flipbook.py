"""A film as single WebP pictures that a page can hold and jump between, within a number of bytes."""

from __future__ import annotations

import io
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Image8 = NDArray[np.uint8]

_LADDER = ((1.0, 82), (1.0, 68), (0.8, 72), (0.67, 66), (0.54, 60))
"""(share of the longer side, WebP quality), from best to smallest; what is still too big loses frames."""
_SAMPLE = 6


@dataclass(frozen=True)
class Flipbook:
    """`pictures[i]` is the WebP file of frame `frames[i]`, `extras` the files of other pictures, drawn alike.

    of: how many frames the film had before some were left out.
    """

    frames: tuple[int, ...]
    pictures: tuple[bytes, ...]
    extras: tuple[bytes, ...]
    of: int

    @property
    def nbytes(self) -> int:
        return sum(map(len, self.pictures)) + sum(map(len, self.extras))

    @property
    def size(self) -> tuple[int, int]:
        """Width and height, pixels."""
        from PIL import Image

        return Image.open(io.BytesIO(self.pictures[0])).size


def flipbook(
    film: Sequence[Image8],
    frames: Sequence[int],
    budget: int,
    side: int = 480,
    keep: Collection[int] = (),
    extras: Sequence[Image8] = (),
) -> Flipbook:
    """The film in at most `budget` bytes: all frames if smaller or coarser pictures allow it, else every n-th.

    film[i] is frame frames[i]; `keep` are frames that stay, with the first and the last, which are left where even two
    frames are too much; `side` is the longer side's most pixels.
    """
    stride = 1
    while True:
        chosen = _every(frames, stride, keep)
        for share, quality in _LADDER:
            least = len(chosen) <= 2 and (share, quality) == _LADDER[-1]
            longest = max(1, round(share * side))
            sample = [chosen[k] for k in np.linspace(0, len(chosen) - 1, min(_SAMPLE, len(chosen))).astype(int)]
            tried = [len(webp(film[place], longest, quality)) for place in sample]
            if not least and sum(tried) / len(tried) * (len(chosen) + len(extras)) > 1.1 * budget:
                continue
            pictures = tuple(webp(film[place], longest, quality) for place in chosen)
            others = tuple(webp(picture, longest, quality) for picture in extras)
            book = Flipbook(tuple(frames[place] for place in chosen), pictures, others, len(frames))
            if least or book.nbytes <= budget:
                return book
        stride += 1 + stride // 3


def webp(picture: Image8, side: int, quality: int) -> bytes:
    """A WebP file of the picture, its longer side at most `side` pixels."""
    from PIL import Image

    image = Image.fromarray(np.ascontiguousarray(picture))
    shrink = side / max(image.size)
    if shrink < 1:
        width, height = (max(1, round(shrink * pixels)) for pixels in image.size)
        image = image.resize((width, height), Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    image.save(buffer, "WEBP", quality=quality, method=2)
    return buffer.getvalue()


def _every(frames: Sequence[int], stride: int, keep: Collection[int]) -> list[int]:
    """Places of every stride-th frame, of the first and the last, and of those to keep while they are few."""
    kept = (
        {place for place, frame in enumerate(frames) if frame in keep} if len(keep) * stride <= len(frames) else set()
    )
    return sorted({*range(0, len(frames), stride), len(frames) - 1} | (kept if stride > 1 else set()))
