"""Pictures as density: the alpha channel if it varies, otherwise brightness.

In pictures of smoke, rendered or painted, only brightness counts: transparent pixels are black.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from keyfluid.errors import KeyfluidError
from keyfluid.io.budget import Budget, enough_memory
from keyfluid.shapes.extrude import Drawing, Extrusion
from keyfluid.shapes.palette import ColourPicture, shares_of, srgb_of
from keyfluid.shapes.placement import Hull, Transform
from keyfluid.shapes.resample import resample

MOST_PIXELS = 1 << 25
# PostScript and other formats that start helpers or need plug-ins stay out.
_FORMATS = ("PNG", "JPEG", "TIFF", "BMP", "GIF", "WEBP", "TGA", "PPM")
_INK = 0.02
# Decoded, turned upright and converted (4 each), two channels in bytes and float32 (5 each), density and its copies.
_BYTES_PER_PIXEL = 40


@dataclass(frozen=True, eq=False)
class ImageDrawing(Drawing):
    """Density pixels[x, y] in [0, 1], y up; the ink box is what `fit` and `center` refer to.

    whole: the drawing that this is one colour of, whose ink box and mass count for all of its colours.
    """

    pixels: np.ndarray
    extrusion: Extrusion = field(default_factory=Extrusion)
    whole: ImageDrawing | None = None

    @cached_property
    def _outline(self) -> np.ndarray:
        if self.whole is not None:
            return self.whole._outline
        inked = self.pixels > _INK
        points = []
        for axis in range(2):
            columns = np.flatnonzero(inked.any(axis=1 - axis))
            lines = np.moveaxis(inked, axis, 0)[columns]
            first, last = lines.argmax(axis=1), lines.shape[1] - lines[:, ::-1].argmax(axis=1)
            for side in (columns, columns + 1):
                for end in (first, last):
                    pair = np.stack([side, end], axis=1)
                    points.append(pair if axis == 0 else pair[:, ::-1])
        return np.concatenate(points).astype(float)

    def ink(self) -> Hull:
        return Hull(self._outline)

    def draw(self, shape: tuple[int, int], spacing: float, transform: Transform) -> np.ndarray:
        return np.clip(resample(self.pixels, shape, spacing, transform), 0.0, 1.0)


def load_brightness(path: Path) -> np.ndarray:
    """pixels[x, y] in [0, 1], y up, of a picture of smoke."""
    return _load(path, lit=True)


def load_image(path: Path, invert: bool = False, extrusion: Extrusion | None = None) -> ImageDrawing:
    """Read a picture; row 0 of the file is the top. `invert` swaps ink and paper (for black on white)."""
    pixels = _load(path, lit=False)
    return ImageDrawing(np.ascontiguousarray(1.0 - pixels if invert else pixels), extrusion or Extrusion())


def load_ink(
    path: Path,
    palette: Sequence[str | Sequence[float]],
    ink: str | Sequence[float],
    extrusion: Extrusion | None = None,
) -> ImageDrawing:
    """One colour of a picture drawn in a palette, in its place within the whole drawing."""
    picture = load_colours(path)
    Budget().require(4 * (len(palette) + 4) * picture.cover.size, f"the shares of {len(palette)} colours")
    shares = shares_of(picture, palette)
    own = next(i for i, colour in enumerate(palette) if np.array_equal(srgb_of(colour), srgb_of(ink)))
    whole = ImageDrawing(np.ascontiguousarray(shares.sum(axis=0)), extrusion or Extrusion())
    if shares[own].max() < _INK:
        raise KeyfluidError(f"image {path} has nothing of the colour {ink}; remove this body or change its palette")
    return ImageDrawing(np.ascontiguousarray(shares[own]), whole.extrusion, whole)


def load_colours(path: Path) -> ColourPicture:
    """A picture with its colours; grey ones have three equal channels."""
    rgb, alpha = _read(path, _rgb_channels)
    cover = np.ones(rgb.shape[:2], np.float32) if alpha is None else alpha
    if not np.any(cover):
        raise KeyfluidError(f"image {path} is fully transparent; it has no content to become smoke")
    upright = [np.ascontiguousarray(values.swapaxes(0, 1)[:, ::-1]) for values in (rgb, cover)]
    return ColourPicture(*upright)


def _load(path: Path, lit: bool) -> np.ndarray:
    grey, alpha = _read(path, _channels)
    if alpha is not None and not np.any(alpha):
        raise KeyfluidError(f"image {path} is fully transparent; it has no content to become smoke")
    if lit:
        density = grey if alpha is None else grey * alpha
    else:
        density = alpha if alpha is not None and np.ptp(alpha) > 0 else grey
    if not np.all(np.isfinite(density)):
        raise KeyfluidError(f"image {path} holds NaN or infinite pixels; fix the file")
    if density.min() < 0 or density.max() > 1:
        low, high = density.min(), density.max()
        raise KeyfluidError(f"image {path} has pixels from {low:.3g} to {high:.3g}; scale them to 0..1")
    if np.ptp(density) < _INK:
        raise KeyfluidError(f"image {path} has no content: all of its pixels have the same value")
    return np.ascontiguousarray(density.T[:, ::-1])


def _read(
    path: Path, channels: Callable[[Any], tuple[np.ndarray, np.ndarray | None]]
) -> tuple[np.ndarray, np.ndarray | None]:
    """Values by `channels` and alpha in [0, 1] of the first frame."""
    from PIL import Image, ImageOps

    if not path.is_file():
        raise KeyfluidError(f"image {path} does not exist")
    with enough_memory(f"image {path}"):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                # From memory: a file would allocate the declared length of a chunk, up to 4 GiB, before reading it.
                with Image.open(io.BytesIO(_content(path)), formats=_FORMATS) as image:
                    _check_size(image, path)
                    image.load()
                    return channels(ImageOps.exif_transpose(image))
        except Image.DecompressionBombError:
            raise KeyfluidError(f"image {path} claims more than {MOST_PIXELS} pixels; make it smaller") from None
        except KeyfluidError as error:
            raise KeyfluidError(str(error) if str(path) in str(error) else f"image {path}: {error}") from None
        except MemoryError:
            raise
        except Exception as error:  # Pillow's decoders raise almost anything for a damaged file
            reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
            raise KeyfluidError(f"image {path} can't be read ({reason}); is it a whole picture?") from None


def _content(path: Path) -> bytes:
    Budget().require(path.stat().st_size, "its content")
    return path.read_bytes()


def _check_size(image: Any, path: Path) -> None:
    """Check, before decoding, the number of pixels and the memory that they and their conversions take."""
    width, height = image.size
    if not 0 < width * height <= MOST_PIXELS:
        raise KeyfluidError(f"image {path} is {width} x {height}; make it smaller, at most {MOST_PIXELS} pixels")
    Budget().require(_BYTES_PER_PIXEL * width * height, f"a picture of {width} x {height}")


def _rgb_channels(image: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """Bytes (h, w, 3)."""
    if image.mode.startswith(("I", "F")):
        grey = _channels(image)[0]
        levels = (np.clip(np.nan_to_num(grey), 0, 1) * 255).astype(np.uint8)
        return np.repeat(levels[..., None], 3, axis=2), None
    pixels = np.asarray(image.convert("RGBA"))
    opaque = bool((pixels[..., 3] == 255).all())
    return pixels[..., :3], None if opaque else pixels[..., 3].astype(np.float32) / 255.0


def _channels(image: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """Grey values, in [0, 1] for integer pixels."""
    if image.mode.startswith("I;16"):
        return np.asarray(image, dtype=np.float32) / 65535.0, None
    if image.mode in ("I", "F"):
        values = np.asarray(image, dtype=np.float32)
        return (values / 65535.0 if image.mode == "I" else values), None
    if image.mode in ("LA", "La", "PA", "RGBA", "RGBa") or "transparency" in image.info:
        image = image.convert("RGBA")
        alpha = np.asarray(image.getchannel("A"), dtype=np.float32) / 255.0
        return np.asarray(image.convert("L"), dtype=np.float32) / 255.0, alpha
    return np.asarray(image.convert("L"), dtype=np.float32) / 255.0, None
