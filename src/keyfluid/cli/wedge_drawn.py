"""What the sheet and the page of a wedge show of a run, drawn once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from keyfluid.cli.wedge import Order, Score
from keyfluid.io.run.result_file import Result
from keyfluid.render import save_png
from keyfluid.render.flipbook import flipbook
from keyfluid.render.player import PlayerFilm
from keyfluid.render.sheet import SheetTile, contact_sheet
from keyfluid.runs.pictures import Painter
from keyfluid.runs.report_content import thinned
from keyfluid.runs.run import RunResult
from keyfluid.runs.wedge import Wedge
from keyfluid.scenes.build.problem import BuiltScene

_SIDE, _MOST_FRAMES, _MOST_TARGETS = 256, 48, 3
_TILE, _EMPTY = 384, (24, 29, 38)
_WIDEST, _MOST_PIXELS = 8, 4096
"""Tiles beside each other for a single key, and the widest that a grid of two keys may become, pixels."""


@dataclass(frozen=True)
class Look:
    """How the runs of a wedge are drawn. frame: to compare; budget: bytes of a film."""

    frame: int | None
    order: Order
    budget: int

    def drawn(self, run: RunResult, place: Path) -> DrawnRun:
        """place: of the run, in the wedge's folder"""
        problem, shown = run.problem, shown_frame(run.problem, self.frame)
        return DrawnRun(
            place=place.as_posix(),
            metrics=run.metrics,
            score=Score.of(run.metrics, shown),
            number=self.order.number(run.metrics, shown),
            picture=Painter(problem, _TILE).frame(run.frames, shown),
            film=_film(run, shown, self.budget),
            steady=not (problem.solids.move or (problem.grid.dim == 3 and problem.scene.camera.orbit)),
            fps=problem.fps,
            last=problem.frames,
        )


@dataclass(frozen=True, eq=False)
class DrawnRun:
    """A finished run: its numbers, the frame that is compared, and its film, small.

    place: its folder, in that of the wedge
    number: the one that variants are sorted by
    steady: whether camera and obstacles stand still
    """

    place: str
    metrics: Result
    score: Score
    number: float | None
    picture: np.ndarray
    film: PlayerFilm
    steady: bool
    fps: float
    last: int

    def line(self, order: Order) -> str:
        """Its scores, and the number that it is sorted by where they do not include it."""
        if order.name in ("relative_error", "iou") or self.number is None:
            return self.score.line()
        return f"{self.score.line()} · {order.name} {self.number:.4g}"


def shown_frame(problem: BuiltScene, frame: int | None) -> int:
    """The frame to compare: the one requested, else the last keyframe's, else the last."""
    if frame is not None:
        return frame
    return max((key.frame for key in problem.keyframes), default=problem.frames)


def best_first(drawn: Mapping[str, DrawnRun], order: Order) -> dict[str, DrawnRun]:
    """Runs without the number come last, in the order of the values."""
    return dict(sorted(drawn.items(), key=lambda item: order.rank(item[1].number)))


def write_sheet(
    path: Path, wedge: Wedge, drawn: Mapping[str, DrawnRun], captions: Mapping[str, str], best: str | None
) -> None:
    """wedge.png: a column per value and, for several keys, a row per value of the others.

    captions: below each tile; variants that are not drawn have an empty one
    """
    shape = next((found.picture.shape for found in drawn.values()), (_TILE, _TILE, 3))
    empty = np.full(shape, _EMPTY, np.uint8)
    tiles = {
        label: SheetTile(drawn[label].picture if label in drawn else empty, captions[label], label == best)
        for label in wedge.variants
    }
    rows = [[tiles[label] for label in labels] for labels in wedge.grid()]
    heads, sides = [wedge.columns, *([[]] * (len(rows) - 1))], wedge.rows
    if len(rows) == 1 and len(wedge.columns) > _WIDEST:
        starts = range(0, len(wedge.columns), _WIDEST)
        heads = [wedge.columns[start : start + _WIDEST] for start in starts]
        rows, sides = [rows[0][start : start + _WIDEST] for start in starts], [""] * len(starts)
    size = max(96, min(320, _MOST_PIXELS // max(map(len, rows))))
    save_png(path, contact_sheet(rows, heads, sides, _title(drawn), size))


def _title(drawn: Mapping[str, DrawnRun]) -> str:
    frames = sorted({found.score.frame for found in drawn.values()})
    if not frames:
        return "no run has finished"
    title = f"frame {frames[0]}" if len(frames) == 1 else f"frames {frames[0]} to {frames[-1]}"
    return title + "; scores of the worst keyframe" * any(found.score.elsewhere for found in drawn.values())


def _film(run: RunResult, shown: int, budget: int) -> PlayerFilm:
    """Frames at even distances, the one of the sheet among them, drawn small; and some targets."""
    painter, there = Painter(run.problem, _SIDE), run.frames.store.indices()
    keys = thinned(sorted({key.frame for key in run.problem.keyframes}), _MOST_TARGETS)
    frames = sorted({*thinned(there, _MOST_FRAMES), shown, *keys} & set(there))
    targets = [(frame, target) for frame in keys if (target := painter.target(frame)) is not None]
    extras: Sequence[np.ndarray] = [*(target for _, target in targets), painter.empty(0)] if targets else []
    pictures = [painter.frame(run.frames, frame) for frame in frames]
    book = flipbook(pictures, frames, budget, _SIDE, keep=(shown, *keys), extras=extras)
    return PlayerFilm(book, tuple(frame for frame, _ in targets) if book.extras else ())
