"""The player of a page: one film or several in step, with play, step, scrub, target overlay and difference.

player.js does the work; this file writes its elements and the data it reads.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

from keyfluid.render.flipbook import Flipbook
from keyfluid.render.page import data_block, data_uri

SCRIPT = "player.js"

_ICONS = {
    "back": ("Previous frame", "M5 3v10M12 3 7 8l5 5"),
    "play": ("Play or pause", "M5 3l8 5-8 5z"),
    "on": ("Next frame", "M11 3v10M4 3l5 5-5 5"),
}
_VIEWS = {"film": "Film", "overlay": "Target over film", "difference": "Difference"}
_MOST_JUMPS = 8


@dataclass(frozen=True)
class PlayerFilm:
    """Pictures for the player. The book's extras are the targets of the frames `targets`, then the empty scene."""

    book: Flipbook
    targets: tuple[int, ...] = ()

    def data(self) -> dict[str, object]:
        *targets, empty = self.book.extras or (None,)
        return {
            "frames": self.book.frames,
            "pictures": [_base64(picture) for picture in self.book.pictures],
            "targets": [[frame, _base64(picture)] for frame, picture in zip(self.targets, targets)],
            "empty": _base64(empty) if empty is not None else None,
        }


def player(
    films: Sequence[PlayerFilm],
    fps: float,
    last: int,
    start: int,
    steady: bool,
    arranged: Callable[[list[str]], str] = "".join,
) -> str:
    """The player's elements, and its data.

    fps, last  frames per second and the last frame of the run
    start      frame shown first
    steady     whether camera and obstacles stand still, so that a target can be compared with frames before its own
    arranged   puts the films' canvases into the page
    """
    screens = [_screen(index, film) for index, film in enumerate(films)]
    stops = sorted({frame for film in films for frame in film.book.frames})
    targets = sorted({frame for film in films for frame in film.targets})
    data = {"fps": fps, "last": last, "start": start, "steady": steady, "films": [film.data() for film in films]}
    return (
        f'<figure class="player" id="player"><div class="screens">{arranged(screens)}</div>'
        + _bar(stops, start)
        + (_views() if targets else "")
        + (_jumps(targets) if targets else "")
        + f"<figcaption>Space plays, the arrow keys step.{_left_out(films, last)}</figcaption></figure>"
        + data_block("player-data", data)
    )


def _screen(index: int, film: PlayerFilm) -> str:
    width, height = film.book.size
    shown = film.book.pictures[-1]
    return (
        f'<canvas data-film="{index}" width="{width}" height="{height}" role="img" aria-label="film"></canvas>'
        f'<noscript><img alt="last frame" src="{data_uri("image/webp", shown)}"></noscript>'
    )


def _bar(stops: Sequence[int], start: int) -> str:
    buttons = "".join(
        f'<button type="button" data-do="{name}" aria-label="{title}" title="{title}">'
        f'<svg viewBox="0 0 16 16" aria-hidden="true"><path d="{path}"/></svg></button>'
        for name, (title, path) in _ICONS.items()
    )
    place = max((place for place, frame in enumerate(stops) if frame <= start), default=0)
    speeds = "".join(
        f'<option value="{speed}">{text}</option>' for speed, text in ((1, "1×"), (0.5, "½×"), (0.25, "¼×"))
    )
    return (
        f'<div class="bar"><span class="buttons">{buttons}</span>'
        f'<input type="range" data-do="scrub" min="0" max="{len(stops) - 1}" value="{place}" aria-label="Frame">'
        f'<select data-do="speed" aria-label="Speed">{speeds}</select></div>'
        '<p class="where"><output data-show="frame"></output></p>'
    )


def _views() -> str:
    choices = "".join(
        f'<label><input type="radio" name="view" value="{value}"{" checked" * (value == "film")}>{text}</label>'
        for value, text in _VIEWS.items()
    )
    return (
        f'<fieldset class="views"><legend>View</legend>{choices}</fieldset>'
        '<p class="option" data-for="overlay" hidden><label>Target\'s opacity '
        '<input type="range" data-do="opacity" min="0" max="100" value="50"></label></p>'
        '<p class="option legend" data-for="difference" hidden>'
        '<span><i class="missing"></i>missing: in the target only</span>'
        '<span><i class="extra"></i>too much: in the film only</span>'
        '<span><i class="other"></i>another colour</span></p>'
    )


def _jumps(targets: Sequence[int]) -> str:
    shown = targets if len(targets) <= _MOST_JUMPS else [targets[0], targets[-1]]
    links = "".join(f'<button type="button" data-jump="{frame}">{frame}</button>' for frame in shown)
    return f'<p class="jumps">Keyframes at {links}</p>'


def _left_out(films: Sequence[PlayerFilm], last: int) -> str:
    """What the page does not show of the film, and where it is."""
    shown, there = max(len(film.book.frames) for film in films), last + 1
    if shown >= there:
        return ""
    return escape(f" {shown} of {there} frames are embedded here, to keep this page small.")


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
