"""Films and stills: GIF, WebP, MP4 (with the `video` extra) and PNG, each written whole or not at all.

A frame is an sRGB image, uint8 (height, width, 3). `frames` may be any iterable; a sequence that makes its
frames on demand keeps a long film out of memory.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import chain, pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from keyfluid.errors import KeyfluidError
from keyfluid.io.atomic import replacing
from keyfluid.render.colour import bayer

if TYPE_CHECKING:
    from PIL.Image import Image

Frame = NDArray[np.uint8]
PathLike = str | os.PathLike[str]

_PALETTE_PIXELS = 100_000
_LEVELS = 64  # colours are looked up in a cube of 64 levels a channel


def video_available() -> bool:
    """Whether MP4 can be written: PyAV comes with ``pip install keyfluid[video]``."""
    return importlib.util.find_spec("av") is not None


def save_png(path: PathLike, image: Frame) -> None:
    """Write a still, sRGB."""
    with replacing(path) as temporary:
        _image(image).save(temporary, "PNG")


def write_png_sequence(frames: Iterable[Frame], folder: PathLike, start: int = 0, name: str = "frame") -> int:
    """Write ``name.0000.png`` and so on, numbered from `start`; returns how many."""
    count = 0
    for count, frame in enumerate(frames, start=1):
        save_png(os.path.join(folder, f"{name}.{start + count - 1:04d}.png"), frame)
    return count


def durations(count: int, fps: float, tick: int) -> list[int]:
    """Milliseconds of each frame, multiples of `tick`; no frame begins more than half a tick off."""
    if not fps > 0:
        raise KeyfluidError(f"a film at {fps} frames per second can't be shown; give a number above 0")
    begins = [round(1000 * k / fps / tick) * tick for k in range(count + 1)]
    return [max(tick, later - sooner) for sooner, later in pairwise(begins)]


def write_gif(frames: Iterable[Frame], path: PathLike, fps: float) -> None:
    """An endless GIF: one palette for all frames and an ordered dither, so that nothing still flickers.

    GIF counts time in hundredths of a second; frames that repeat are stored once with their times added.
    Browsers slow down films above 50 frames a second.
    """
    film = _sequence(frames)
    palette = _palette(film)
    nearest = _nearest_colours(palette)
    pictures = (_indexed(frame, palette, nearest) for frame in _checked(film))
    first = next(pictures)
    with replacing(path) as temporary:
        first.save(
            temporary, "GIF", save_all=True, append_images=pictures, loop=0, optimize=False, disposal=1,
            duration=durations(len(film), fps, tick=10),
        )  # fmt: skip


def write_webp(frames: Iterable[Frame], path: PathLike, fps: float, quality: int = 88) -> None:
    """An endless WebP in true colour, a fraction of the GIF's size."""
    film = _sequence(frames)
    pictures = (_image(frame) for frame in _checked(film))
    first = next(pictures)
    with replacing(path) as temporary:
        first.save(
            temporary, "WEBP", save_all=True, append_images=pictures, loop=0, quality=quality, method=2,
            duration=durations(len(film), fps, tick=1),
        )  # fmt: skip


def write_mp4(frames: Iterable[Frame], path: PathLike, fps: float, quality: int = 18) -> None:
    """H.264 in an MP4 that any player supports: yuv420p, even sides (an odd one repeats its last row)."""
    if not video_available():
        raise KeyfluidError("MP4 requires PyAV; install it with pip install 'keyfluid[video]', or write a GIF or WebP")
    import av

    source = _checked(frames)
    first = next(source)
    with replacing(path) as temporary:
        try:
            with av.open(str(temporary), "w", format="mp4", options={"movflags": "faststart"}) as container:
                stream = container.add_stream("libx264", rate=Fraction(fps).limit_denominator(1001))
                stream.height, stream.width = (side + side % 2 for side in first.shape[:2])
                stream.pix_fmt = "yuv420p"
                tags = "colorprim=bt709:transfer=bt709:colormatrix=bt709"
                stream.options = {"crf": str(quality), "preset": "medium", "x264-params": tags}
                for frame in chain([first], source):
                    padding = [(0, frame.shape[0] % 2), (0, frame.shape[1] % 2), (0, 0)]
                    picture = av.VideoFrame.from_ndarray(np.pad(frame, padding, mode="edge"), format="rgb24")
                    container.mux(stream.encode(picture.reformat(format="yuv420p", dst_colorspace="ITU709")))
                container.mux(stream.encode())
        except av.error.FFmpegError as error:
            raise KeyfluidError(f"{path} can't be written ({error}); free some space or write a GIF or WebP") from error


def _sequence(frames: Iterable[Frame]) -> Sequence[Frame]:
    film = frames if isinstance(frames, Sequence) else list(frames)
    if not film:
        raise KeyfluidError("a film needs at least one frame")
    return film


def _checked(frames: Iterable[Frame]) -> Iterator[Frame]:
    """The frames, each checked to be an sRGB image of the first one's size."""
    shape: tuple[int, ...] | None = None
    for frame in frames:
        if frame.dtype != np.uint8 or frame.ndim != 3 or frame.shape[2] != 3:
            raise KeyfluidError(f"a frame is {frame.dtype} {frame.shape}; it must be uint8 (height, width, 3)")
        if shape not in (None, frame.shape):
            raise KeyfluidError(f"a film's frames differ in size: {shape} and {frame.shape}")
        shape = frame.shape
        yield frame
    if shape is None:
        raise KeyfluidError("a film needs at least one frame")


def _image(frame: Frame) -> Image:
    from PIL import Image

    return Image.fromarray(np.ascontiguousarray(frame))


def _palette(film: Sequence[Frame]) -> NDArray[np.uint8]:
    """Up to 256 colours (k, 3) for the whole film, from an even sample of its pixels."""
    from PIL import Image

    chosen = film if len(film) <= 48 else [film[i] for i in np.linspace(0, len(film) - 1, 48).astype(int)]
    pixels = sum(frame.shape[0] * frame.shape[1] for frame in _checked(chosen))
    stride = max(1, pixels // _PALETTE_PIXELS)
    sample = np.concatenate([frame.reshape(-1, 3)[::stride] for frame in chosen])
    strip = Image.fromarray(sample[None])
    colours = strip.quantize(256, method=Image.Quantize.MEDIANCUT, kmeans=2).getpalette() or []
    return np.unique(np.array(colours, np.uint8).reshape(-1, 3), axis=0)


def _nearest_colours(palette: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """For each of the 64^3 coarse colours the index of the nearest one of the palette."""
    from scipy.spatial import cKDTree

    centres = (np.indices((_LEVELS,) * 3).reshape(3, -1).T + 0.5) * (256 / _LEVELS)
    return cKDTree(palette.astype(np.float64)).query(centres)[1].astype(np.uint8)


def _indexed(frame: Frame, palette: NDArray[np.uint8], nearest: NDArray[np.uint8]) -> Image:
    """The frame in palette colours, dithered by a pattern that depends on the pixel alone."""
    from PIL import Image

    height, width = frame.shape[:2]
    spread = np.float32(256 / _LEVELS) * (bayer(height, width)[..., None] - np.float32(0.5))
    levels = (np.clip(frame + spread, 0, 255) * np.float32(_LEVELS / 256)).astype(np.int32)
    picture = Image.fromarray(nearest[(levels[..., 0] * _LEVELS + levels[..., 1]) * _LEVELS + levels[..., 2]])
    picture.putpalette(palette.tobytes())
    return picture
