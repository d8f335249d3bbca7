"""Runs in notebooks: progress in one line that changes, and a result that shows its film.

    result = keyfluid.run(scene, progress=keyfluid.NotebookProgress())
    result                                     # the last line of a cell: film and scores

Everything is inside the HTML itself: it still shows where the notebook is opened without the run.
"""

from __future__ import annotations

import base64
import html
import io
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from keyfluid.io.run import layout
from keyfluid.io.run.result_file import Result
from keyfluid.render.film import durations
from keyfluid.runs.frames import Frames
from keyfluid.runs.pictures import Painter
from keyfluid.runs.progress import Progress
from keyfluid.scenes.build.problem import BuiltScene

_INTERVAL = 0.2
_FILM_SIZE = 256
_FILM_FRAMES = 48
_LARGEST_FILM = 8 << 20
_SCORES = {"relative_error": "relative error", "iou": "IoU", "mass_ratio": "mass ratio"}


class NotebookProgress:
    """A listener for `progress=`: a bar, the error and the time left, in place; outside a notebook a printed line."""

    def __init__(self) -> None:
        self._shown = 0.0
        self._show: Callable[[str, str], None] | None = None

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        if progress.note or progress.done == progress.total or now - self._shown > _INTERVAL:
            self._shown = now
            if self._show is None:
                self._show = _display() or _print
            text = progress_text(progress)
            share = 100 * progress.done / progress.total if progress.total else 0.0
            bar = f'<progress value="{share:.1f}" max="100" style="width:20em"></progress> '
            self._show(text, f"{bar if progress.total else ''}{html.escape(text)}")


def progress_text(progress: Progress) -> str:
    """One line."""
    if progress.note:
        return progress.note
    parts = [f"{progress.unit} {progress.done} of {progress.total}"]
    if progress.error is not None:
        parts.append(f"error {progress.error:.3f}")
    if progress.seconds_left is not None:
        parts.append(f"{progress.seconds_left:.0f} s left")
    return ", ".join(parts)


def result_html(metrics: Result, frames: Frames, problem: BuiltScene, folder: Path | None) -> str:
    """The film of a run, and a table of its keyframes."""
    title = f"<b>{html.escape(problem.scene.name)}</b>: {metrics['method']}, {metrics['status']}"
    title += f", {metrics['seconds']:.1f} s"
    return f"<div><p>{title}</p>{_film(frames, problem, folder)}{_scores(metrics)}</div>"


def _film(frames: Frames, problem: BuiltScene, folder: Path | None) -> str:
    for name in (layout.WEBP, layout.GIF) if folder is not None else ():
        path = Path(folder or "") / name
        if path.is_file() and path.stat().st_size <= _LARGEST_FILM:
            return _inline(path.read_bytes(), path.suffix[1:])
    return _inline(_drawn(frames, problem), "webp") if frames.store.indices() else ""


def _drawn(frames: Frames, problem: BuiltScene) -> bytes:
    """A small film of at most 48 frames."""
    from PIL import Image

    indices = frames.store.indices()
    places = np.linspace(0, len(indices) - 1, min(len(indices), _FILM_FRAMES)).round().astype(int)
    painter = Painter(problem, _FILM_SIZE)
    first, *others = [Image.fromarray(painter.frame(frames, indices[place])) for place in places]
    fps = problem.fps * len(places) / len(indices)
    buffer = io.BytesIO()
    times = durations(len(places), fps, tick=1)
    first.save(buffer, "WEBP", save_all=True, append_images=others, loop=0, quality=85, duration=times)
    return buffer.getvalue()


def _inline(content: bytes, kind: str) -> str:
    return f'<img alt="film of the run" src="data:image/{kind};base64,{base64.b64encode(content).decode()}">'


def _scores(metrics: Result) -> str:
    if not metrics["keyframes"]:
        return ""
    head = "".join(f"<th>{word}</th>" for word in ("frame", "field", *_SCORES.values()))
    rows = ""
    for key in metrics["keyframes"]:
        values: dict[str, Any] = dict(key)
        cells = [str(values["frame"]), html.escape(values["field"])]
        cells += ["" if values[name] is None else f"{values[name]:.3f}" for name in _SCORES]
        rows += "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
    return f"<table><tr>{head}</tr>{rows}</table>"


def _display() -> Callable[[str, str], None] | None:
    """What shows HTML in place in this notebook; None outside of one."""
    ipython: Any = sys.modules.get("IPython")
    shown: Any = sys.modules.get("IPython.display")
    if ipython is None or shown is None or ipython.get_ipython() is None:
        return None
    handle = shown.display(shown.HTML(""), display_id=True)
    return lambda text, markup: handle.update(shown.HTML(markup))


def _print(text: str, markup: str) -> None:
    print(text)
