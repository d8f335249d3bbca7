"""`keyfluid wedge`: how well each value of a wedge did, as a contact sheet and a table."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from keyfluid.io.atomic import write_whole
from keyfluid.io.run.result_file import Result
from keyfluid.render import save_png
from keyfluid.render.sheet import SheetTile, contact_sheet
from keyfluid.runs.pictures import Painter
from keyfluid.runs.run import RunResult
from keyfluid.runs.wedge import Wedge
from keyfluid.scenes.build.problem import BuiltScene

_WIDEST, _MOST_PIXELS = 8, 4096
"""Tiles beside each other for a single key, and the widest that a grid of two keys may become, pixels."""


@dataclass(frozen=True)
class Score:
    """How well the keyframes at the frame that is shown were met, at worst; of all keyframes where it has none."""

    frame: int
    error: float | None
    iou: float | None
    elsewhere: bool = False
    """Whether they are scores of other frames."""

    @classmethod
    def of(cls, metrics: Result, frame: int) -> Score:
        keys = [key for key in metrics["keyframes"] if math.isfinite(key["relative_error"])]
        here = [key for key in keys if key["frame"] == frame]
        if not keys:
            return cls(frame, None, None)
        error = max(key["relative_error"] for key in here or keys)
        return cls(frame, error, min(key["iou"] for key in here or keys), not here)

    def line(self) -> str:
        if self.error is None or self.iou is None:
            return f"frame {self.frame}"
        return f"error {self.error:.3f} · IoU {self.iou:.3f}"


def shown_frame(problem: BuiltScene, frame: int | None) -> int:
    """The frame to compare: the one requested, else the last keyframe's, else the last."""
    if frame is not None:
        return frame
    return max((key.frame for key in problem.keyframes), default=problem.frames)


def scores_of(results: Mapping[str, RunResult], frame: int | None) -> dict[str, Score]:
    """The runs' scores, best first; without keyframes in the order of the values."""
    found = {label: Score.of(run.metrics, shown_frame(run.problem, frame)) for label, run in results.items()}
    return dict(sorted(found.items(), key=lambda item: float("inf") if item[1].error is None else item[1].error))


def write_sheet(path: Path, wedge: Wedge, results: Mapping[str, RunResult], scores: Mapping[str, Score]) -> None:
    """wedge.png: a column per value and, for several keys, a row per value of the others."""
    first = next(iter(scores))
    tiles = {}
    for label, run in results.items():
        score = scores[label]
        picture = Painter(run.problem, 384).frame(run.frames, score.frame)
        tiles[label] = SheetTile(picture, score.line(), score.error is not None and label == first)
    rows = [[tiles[label] for label in labels] for labels in wedge.grid()]
    heads, sides = [wedge.columns, *([[]] * (len(rows) - 1))], wedge.rows
    if len(rows) == 1 and len(wedge.columns) > _WIDEST:
        starts = range(0, len(wedge.columns), _WIDEST)
        heads = [wedge.columns[start : start + _WIDEST] for start in starts]
        rows, sides = [rows[0][start : start + _WIDEST] for start in starts], [""] * len(starts)
    frames = sorted({score.frame for score in scores.values()})
    title = f"frame {frames[0]}" if len(frames) == 1 else f"frames {frames[0]} to {frames[-1]}"
    if any(score.elsewhere for score in scores.values()):
        title += "; scores of the worst keyframe"
    size = max(96, min(320, _MOST_PIXELS // max(map(len, rows))))
    save_png(path, contact_sheet(rows, heads, sides, title, size))


def write_table(path: Path, results: Mapping[str, RunResult], scores: Mapping[str, Score]) -> None:
    """wedge.json: the metrics of each run without their histories, best first."""
    table = {
        label: {name: value for name, value in results[label].metrics.items() if name != "history"} for label in scores
    }
    write_whole(path, lambda file: file.write(json.dumps(table, indent=2).encode()))
