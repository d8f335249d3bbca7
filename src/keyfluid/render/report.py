"""The report: one HTML file that holds everything it shows and needs nothing from outside.

Pictures are data URIs, plots are inline SVG, there is no script. All text is escaped.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keyfluid.errors import KeyfluidError
from keyfluid.io.atomic import replacing
from keyfluid.render.chart import Curve, line_chart

Picture = bytes | str | os.PathLike[str] | NDArray[np.uint8]
"""An encoded file's bytes, its path, or an sRGB image."""

_KINDS = (
    (b"\x89PNG\r\n\x1a\n", 0, "image/png"),
    (b"GIF8", 0, "image/gif"),
    (b"WEBP", 8, "image/webp"),
    (b"\xff\xd8\xff", 0, "image/jpeg"),
    (b"ftyp", 4, "video/mp4"),
)

_STYLE = """
:root { color-scheme: light dark; --ink: #1c232d; --soft: #5c6675; --line: #dde2e9; --paper: #fbfcfd;
  --card: #fff; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #dfe4ea; --soft: #98a3b3; --line: #2b3440; --paper: #12161d; --card: #191f28; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 60rem; background: var(--paper); color:
  var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", sans-serif; }
h1 { font-size: 1.7rem; font-weight: 650; margin: 0 0 1.2rem; } h2 { font-size: 1.1rem; margin: 2.4rem 0
  .7rem; }
h3 { font-size: .95rem; font-weight: 600; color: var(--soft); margin: 1.2rem 0 .3rem; }
img, video { display: block; max-width: 100%; height: auto; border-radius: 8px; }
figure { margin: 0 0 1rem; } figcaption { color: var(--soft); font-size: .85rem; margin-top: .35rem; }
.gallery { display: grid; grid-template-columns: repeat(auto-fill, minmax(15rem, 1fr)); gap: 1rem; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums;
  font-size: .92rem; }
th, td { text-align: left; padding: .35rem 1.1rem .35rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; }
th { color: var(--soft); font-weight: 600; white-space: nowrap; }
pre { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 1rem; overflow-x:
  auto;
  font: 13px/1.5 ui-monospace, SFMono-Regular, Consolas, monospace; }
.chart { width: 100%; max-width: 42rem; height: auto; } .chart text { fill: var(--soft); font-size: 11px; }
.chart .grid { stroke: var(--line); fill: none; } .legend { margin: .1rem 0 1rem; font-size: .85rem; color:
  var(--soft); }
.legend span { margin-right: 1.2rem; } .legend i { display: inline-block; width: .8rem; height: .2rem;
  margin-right: .4rem;
  vertical-align: middle; } .empty { color: var(--soft); }
"""


@dataclass(frozen=True, eq=False)
class RunReport:
    """What the report of a run shows.

    metrics    a table of names and values, or a list of rows
    keyframes  a list of rows
    curves     a chart each: (x, y), or several named curves
    plots      pictures with captions, such as force maps
    """

    title: str
    metrics: Mapping[str, Any] | Sequence[Mapping[str, Any]]
    film: Picture | None = None
    strip: Picture | None = None
    curves: Mapping[str, Curve | Mapping[str, Curve]] | None = None
    scene_text: str = ""
    versions: Mapping[str, str] | None = None
    keyframes: Sequence[Mapping[str, Any]] = ()
    plots: Mapping[str, Picture] | None = None


def write_report(path: str | os.PathLike[str], report: RunReport) -> None:
    """Write the report of a run, whole or not at all."""
    parts = [f"<h1>{escape(report.title)}</h1>"]
    if report.film is not None:
        parts.append(f"<figure>{_embedded(report.film, 'film of the run')}</figure>")
    parts.append(_section("Keyframes", _table(report.keyframes)) if report.keyframes else "")
    parts.append(_section("Metrics", _table(report.metrics)) if report.metrics else "")
    if report.strip is not None:
        parts.append(_section("Frames", f"<figure>{_embedded(report.strip, 'frames and targets')}</figure>"))
    if report.curves:
        parts.append(_section("Curves", "".join(_chart(name, curve) for name, curve in report.curves.items())))
    if report.plots:
        figures = "".join(
            f"<figure>{_embedded(picture, name)}<figcaption>{escape(name)}</figcaption></figure>"
            for name, picture in report.plots.items()
        )
        parts.append(_section("Forces", f'<div class="gallery">{figures}</div>'))
    parts.append(_section("Scene", f"<pre>{escape(report.scene_text)}</pre>") if report.scene_text else "")
    parts.append(_section("Versions", _table(report.versions)) if report.versions else "")
    page = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(report.title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(part for part in parts if part)
        + "\n</body>\n</html>\n"
    )
    with replacing(path) as temporary:
        temporary.write_text(page, encoding="utf-8")


def _section(heading: str, body: str) -> str:
    return f"<section><h2>{escape(heading)}</h2>{body}</section>"


def _chart(name: str, curve: Curve | Mapping[str, Curve]) -> str:
    lines = curve if isinstance(curve, Mapping) else {name: curve}
    return f"<h3>{escape(name)}</h3>{line_chart(lines, 'frame', name)}"


def _table(rows: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> str:
    """Names beside values, or rows under the names that any of them has."""
    if isinstance(rows, Mapping):
        body = "".join(f"<tr><th>{escape(str(name))}</th><td>{_value(value)}</td></tr>" for name, value in rows.items())
        return f'<div class="scroll"><table>{body}</table></div>'
    names = list(dict.fromkeys(name for row in rows for name in row))
    head = "".join(f"<th>{escape(str(name))}</th>" for name in names)
    body = "".join("<tr>" + "".join(f"<td>{_value(row.get(name))}</td>" for name in names) + "</tr>" for row in rows)
    return f'<div class="scroll"><table><tr>{head}</tr>{body}</table></div>'


def _value(value: Any) -> str:
    """Numbers to four digits, missing values as a dash, anything else as text."""
    if value is None:
        return "–"
    if isinstance(value, float | np.floating):
        return f"{float(value):.4g}"
    return escape(str(value))


def _embedded(picture: Picture, description: str) -> str:
    """An ``<img>`` or ``<video>`` that carries its data."""
    data = _encoded(picture)
    kind = next((kind for mark, place, kind in _KINDS if data[place : place + len(mark)] == mark), None)
    if kind is None:
        raise KeyfluidError("the report shows PNG, GIF, WebP, JPEG and MP4; this picture is none of them")
    address = f"data:{kind};base64,{base64.b64encode(data).decode('ascii')}"
    if kind == "video/mp4":
        return f'<video controls autoplay loop muted playsinline src="{address}"></video>'
    return f'<img alt="{escape(description, quote=True)}" src="{address}">'


def _encoded(picture: Picture) -> bytes:
    if isinstance(picture, bytes):
        return picture
    if isinstance(picture, np.ndarray):
        from io import BytesIO

        from PIL import Image

        buffer = BytesIO()
        Image.fromarray(picture).save(buffer, "PNG")
        return buffer.getvalue()
    try:
        return Path(picture).read_bytes()
    except OSError as error:
        raise KeyfluidError(f"{picture} can't be read for the report ({error.strerror}); render it first") from error
