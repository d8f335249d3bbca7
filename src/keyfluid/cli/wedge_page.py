"""The page of a wedge: all films in step, by value or sorted by their scores, and a table, best first."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from urllib.parse import quote

from keyfluid.cli.wedge import Order
from keyfluid.cli.wedge_drawn import DrawnRun, best_first
from keyfluid.io.run.layout import REPORT
from keyfluid.render.page import page, section
from keyfluid.render.player import SCRIPT, player
from keyfluid.render.report import Cell, ScoreTable, exact, table
from keyfluid.runs.report_content import duration, percent, plain
from keyfluid.runs.wedge import Wedge

_MOST_BYTES, _MOST_OF_ONE = 6_000_000, 1_000_000
_SHOWN = ("relative_error", "iou", "seconds")
"""Numbers that have a column anyway."""


def film_budget(runs: int) -> int:
    """Bytes of each film on the page."""
    return min(_MOST_OF_ONE, _MOST_BYTES // runs)


def wedge_page(
    title: str, wedge: Wedge, drawn: Mapping[str, DrawnRun], captions: Mapping[str, str], order: Order
) -> str:
    """The page as HTML; a run's name leads to its report. captions: a line for each variant."""
    ranked = best_first(drawn, order)
    best = next((label for label, found in ranked.items() if found.number is not None), None)
    shown = [label for label in wedge.variants if label in drawn]

    def arranged(screens: list[str]) -> str:
        filmed = dict(zip(shown, screens))
        cells = {
            label: _tile(wedge, label, filmed.get(label, ""), drawn.get(label), captions[label], label == best)
            for label in wedge.variants
        }
        heads = "".join(f'<div class="head">{escape(head)}</div>' for head in ("", *wedge.columns))
        rows = (
            f'<div class="head side">{escape(side)}</div>{"".join(cells[label] for label in labels)}'
            for side, labels in zip(wedge.rows, wedge.grid())
        )
        return f'<div class="sheet grid" id="sheet">{heads}{"".join(rows)}</div>'

    count = f"{len(wedge.variants)} runs"
    if len(drawn) < len(wedge.variants):
        count += f", {len(drawn)} finished"
    body = (
        f"<header><h1>{escape(title)}</h1>"
        f'<p class="subtitle">{count}: {escape(", ".join(_keys(wedge)))}</p></header>'
        + (_SORT if any(found.score.error is not None for found in drawn.values()) else "")
        + (_films([drawn[label] for label in shown], ranked, arranged) if shown else arranged([]))
        + section("Best first", table(_table(wedge, ranked, order)) + _others(wedge, ranked, captions))
    )
    return page(
        title, f'<main class="wide">{body}</main>', (SCRIPT, "sort.js"), f".sheet{{--columns:{len(wedge.columns)}}}"
    )


_SORT = (
    '<p class="sort"><label>Order <select id="sort"><option value="value">by value</option>'
    '<option value="error">by error, best first</option><option value="overlap">by overlap, best first</option>'
    "</select></label></p>"
)


def _films(found: list[DrawnRun], ranked: Mapping[str, DrawnRun], arranged) -> str:  # type: ignore[no-untyped-def]
    last, start = max(run.last for run in found), next(iter(ranked.values())).score.frame
    return player([run.film for run in found], found[0].fps, last, start, all(run.steady for run in found), arranged)


def _tile(wedge: Wedge, label: str, screen: str, run: DrawnRun | None, caption: str, best: bool) -> str:
    words = wedge.words(label)
    if run is None:
        return f'<div class="tile"><p class="name">{escape(words)}</p><p class="score">{escape(caption)}</p></div>'
    numbers, score = "", run.score
    if score.error is not None and score.iou is not None:
        numbers = f' data-error="{exact(score.error)}" data-overlap="{exact(score.iou)}"'
    text = f'<span class="values">{escape(words)}</span><span class="open">report</span>'
    link = f'<a href="{quote(run.place)}/{REPORT}" title="{escape(words, quote=True)}">{text}</a>'
    return (
        f'<div class="tile{" best" * best}"{numbers}>{screen}<p class="name">{link}</p>'
        f'<p class="score">{escape(caption)}</p></div>'
    )


def _keys(wedge: Wedge) -> list[str]:
    """The keys that differ."""
    return [change.partition("=")[0] for change in next(iter(wedge.variants.values()))]


def _others(wedge: Wedge, ranked: Mapping[str, DrawnRun], captions: Mapping[str, str]) -> str:
    """Runs that have not finished, each with what became of it; their lines are too long for the table."""
    lines = "".join(
        f"<li>{place}: {escape(wedge.words(label))}: {escape(captions[label])}</li>"
        for place, label in enumerate(wedge.variants)
        if label not in ranked
    )
    return f"<ul>{lines}</ul>" if lines else ""


def _table(wedge: Wedge, ranked: Mapping[str, DrawnRun], order: Order) -> ScoreTable:
    """The finished runs, best first."""
    heads, places = ["Number", "Run", "Error", "Overlap", "Amount", "Time"], list(wedge.variants)
    more = order.name not in _SHOWN
    rows: list[list[Cell]] = []
    for label, run in ranked.items():
        metrics, score = run.metrics, run.score
        amounts = [key["mass_ratio"] for key in metrics["keyframes"] if key["frame"] == score.frame]
        amount = percent(amounts[0]) if len(amounts) == 1 else None
        row: list[Cell] = [str(places.index(label)), wedge.words(label), plain(score.error), plain(score.iou)]
        row += [amount, duration(metrics["seconds"])]
        rows.append([*row, plain(run.number)] if more else row)
    return ScoreTable([*heads, *([order.name] if more else [])], rows)
