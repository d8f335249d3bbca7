"""Pictures: arrays in, sRGB images (height, width, 3) uint8 out; films, filmstrips and the report."""

from keyfluid.render.backdrop import Backdrop
from keyfluid.render.camera import Pinhole, default_camera, orbit
from keyfluid.render.field import ColouredField
from keyfluid.render.film import (
    save_png,
    video_available,
    write_gif,
    write_mp4,
    write_png_sequence,
    write_webp,
)
from keyfluid.render.lighting import KeyAndSky
from keyfluid.render.plane import render_plane, render_vectors
from keyfluid.render.report import RunReport, write_report
from keyfluid.render.strip import filmstrip
from keyfluid.render.view import View
from keyfluid.render.volume import render_volume

__all__ = [
    "Backdrop",
    "ColouredField",
    "KeyAndSky",
    "Pinhole",
    "RunReport",
    "View",
    "default_camera",
    "filmstrip",
    "orbit",
    "render_plane",
    "render_vectors",
    "render_volume",
    "save_png",
    "video_available",
    "write_gif",
    "write_mp4",
    "write_png_sequence",
    "write_report",
    "write_webp",
]
