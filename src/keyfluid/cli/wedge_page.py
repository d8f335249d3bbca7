"""The page of a wedge: all films in step, by value or sorted by their scores, and a table, best first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from urllib.parse import quote

import numpy as np

from keyfluid.cli.wedge import Score
from keyfluid.io.run.layout import REPORT
from keyfluid.render.flipbook import flipbook
from keyfluid.render.page import page, section
from keyfluid.render.player import SCRIPT, PlayerFilm, player
from keyfluid.render.report import ScoreTable, exact, table
from keyfluid.runs.pictures import Painter
from keyfluid.runs.report_content import duration, percent, plain, thinned
from keyfluid.runs.run import RunResult
from keyfluid.runs.wedge import Wedge

_MOST_BYTES, _MOST_OF_ONE = 6_000_000, 1_000_000
_SIDE, _MOST_FRAMES, _MOST_TARGETS = 256, 48, 3


def wedge_page(title: str, wedge: Wedge, results: Mapping[str, RunResult], scores: Mapping[str, Score]) -> str:
    """The page as HTML; a run's name leads to its report."""
    budget = min(_MOST_OF_ONE, _MOST_BYTES // len(results))
    films = [_film(run, scores[label].frame, budget) for label, run in results.items()]
    problems = [run.problem for run in results.values()]
    steady = not any(
        problem.solids.move or (problem.grid.dim == 3 and problem.scene.camera.orbit) for problem in problems
    )
    first = next(iter(scores))
    words = {label: wedge.words(label) for label in results}

    def arranged(screens: list[str]) -> str:
        cells = {
            label: _tile(label, words[label], screen, scores[label], label == first)
            for label, screen in zip(results, screens)
        }
        heads = "".join(f'<div class="head">{escape(head)}</div>' for head in ("", *wedge.columns))
        rows = (
            f'<div class="head side">{escape(side)}</div>{"".join(cells[label] for label in labels)}'
            for side, labels in zip(wedge.rows, wedge.grid())
        )
        return f'<div class="sheet grid" id="sheet">{heads}{"".join(rows)}</div>'

    last = max(problem.frames for problem in problems)
    body = (
        f"<header><h1>{escape(title)}</h1>"
        f'<p class="subtitle">{len(results)} runs: {escape(", ".join(_keys(wedge)))}</p></header>'
        + (_SORT if scores[first].error is not None else "")
        + player(films, problems[0].fps, last, scores[first].frame, steady, arranged)
        + section("Best first", table(_table(wedge, results, scores)))
    )
    return page(
        title, f'<main class="wide">{body}</main>', (SCRIPT, "sort.js"), f".sheet{{--columns:{len(wedge.columns)}}}"
    )


_SORT = (
    '<p class="sort"><label>Order <select id="sort"><option value="value">by value</option>'
    '<option value="error">by error, best first</option><option value="overlap">by overlap, best first</option>'
    "</select></label></p>"
)


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


def _tile(label: str, words: str, screen: str, score: Score, best: bool) -> str:
    numbers = ""
    if score.error is not None and score.iou is not None:
        numbers = f' data-error="{exact(score.error)}" data-overlap="{exact(score.iou)}"'
    marked = " best" if best and score.error is not None else ""
    text = f'<span class="values">{escape(words)}</span><span class="open">report</span>'
    link = f'<a href="{quote(label)}/{REPORT}" title="{escape(words, quote=True)}">{text}</a>'
    return (
        f'<div class="tile{marked}"{numbers}>{screen}<p class="name">{link}</p>'
        f'<p class="score">{escape(score.line())}</p></div>'
    )


def _keys(wedge: Wedge) -> list[str]:
    """The keys that differ."""
    return [change.partition("=")[0] for change in next(iter(wedge.variants.values()))]


def _table(wedge: Wedge, results: Mapping[str, RunResult], scores: Mapping[str, Score]) -> ScoreTable:
    rows = []
    for label, score in scores.items():
        metrics = results[label].metrics
        amounts = [key["mass_ratio"] for key in metrics["keyframes"] if key["frame"] == score.frame]
        amount = percent(amounts[0]) if len(amounts) == 1 else None
        rows.append([wedge.words(label), plain(score.error), plain(score.iou), amount, duration(metrics["seconds"])])
    return ScoreTable(["Run", "Error", "Overlap", "Amount", "Time"], rows)
