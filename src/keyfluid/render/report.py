"""The report: one HTML file that holds everything it shows and needs nothing from outside (render/page.py).

Plots are inline SVG, films single pictures for the player. All text is escaped.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import NDArray

from keyfluid.io.atomic import replacing
from keyfluid.render.chart import Chart, line_chart
from keyfluid.render.flipbook import webp
from keyfluid.render.page import data_uri, page, section
from keyfluid.render.player import SCRIPT

MOST_BYTES = 3_000_000
"""A report is no larger; its film gets FILM_BYTES, and pictures grow by a third as text."""
FILM_BYTES = 1_800_000
_MOST_SCENE = 60_000
_MAP_SIDE = 360


@dataclass(frozen=True)
class Number:
    """A number of result.json, and how people read it: value 167.696, text "2 min 48 s"."""

    value: float
    text: str


Cell = str | Number | None


@dataclass(frozen=True)
class ScoreTable:
    """Columns with their heads, rows of cells (None: a dash); `more` rows are folded away under `more_title`."""

    heads: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    more: Sequence[Sequence[Cell]] = ()
    more_title: str = ""


@dataclass(frozen=True, eq=False)
class RunReport:
    """What the report of a run shows.

    words      sentences for people, shown first
    tiles      the few numbers that matter: name, number, remark
    player     the film (render/player.py)
    facts      names beside values
    notes      what the run had to say on its way
    constant   what is not plotted because it does not change
    plots      pictures with captions, such as force maps
    """

    title: str
    subtitle: str = ""
    words: Sequence[str] = ()
    tiles: Sequence[tuple[str, Cell, str]] = ()
    player: str = ""
    keyframes: ScoreTable | None = None
    charts: Sequence[Chart] = ()
    constant: Sequence[str] = ()
    facts: Mapping[str, Cell] | None = None
    notes: Sequence[str] = ()
    plots: Mapping[str, NDArray[np.uint8]] | None = None
    scene_text: str = ""
    versions: Mapping[str, str] | None = None


def write_report(path: str | os.PathLike[str], report: RunReport) -> None:
    """Write the report of a run, whole or not at all."""
    text = page(report.title, _body(report), (SCRIPT,) if report.player else ())
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _body(report: RunReport) -> str:
    parts = [f'<header><h1>{escape(report.title)}</h1><p class="subtitle">{escape(report.subtitle)}</p></header>']
    parts.append(_words(report.words))
    aside = _tiles(report.tiles)
    if report.keyframes is not None and report.keyframes.rows:
        aside += section("Keyframes", table(report.keyframes))
    columns = [f"<div>{column}</div>" for column in (report.player, aside) if column]
    parts.append(f'<div class="lead{" two" * (len(columns) == 2)}">{"".join(columns)}</div>')
    if report.charts or report.constant:
        charts = f'<div class="charts">{"".join(line_chart(chart) for chart in report.charts)}</div>'
        parts.append(section("Course of the run", charts + _constant(report.constant)))
    if report.plots:
        parts.append(
            section("Forces", f'<div class="gallery">{"".join(map(_plot, *zip(*report.plots.items())))}</div>')
        )
    if report.notes:
        parts.append(
            section("Notes", f'<ul class="notes">{"".join(f"<li>{escape(n)}</li>" for n in report.notes)}</ul>')
        )
    tables = {"Numbers": report.facts, "Versions": report.versions}
    columns = [section(name, _facts(content)) for name, content in tables.items() if content]
    parts.append(f'<div class="lead{" two" * (len(columns) == 2)}">{"".join(columns)}</div>')
    if report.scene_text:
        parts.append(section("Scene", f"<details><summary>scene.toml</summary>{_scene(report.scene_text)}</details>"))
    return "\n".join(parts)


def _words(words: Sequence[str]) -> str:
    lines = "".join(f"<p>{escape(sentence)}</p>" for sentence in words)
    return f'<section class="words"><h2>In words</h2>{lines}</section>' if lines else ""


def _tiles(tiles: Sequence[tuple[str, Cell, str]]) -> str:
    boxes = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{cell(value)}<small>{escape(remark)}</small></dd></div>"
        for name, value, remark in tiles
    )
    return f'<dl class="tiles">{boxes}</dl>' if boxes else ""


def table(content: ScoreTable) -> str:
    """The table, its note, and the rows that are folded away."""
    heads = "".join(f"<th>{escape(head)}</th>" for head in content.heads)
    parts = [_rows(heads, content.rows)]
    if content.note:
        parts.append(f'<p class="note">{escape(content.note)}</p>')
    if content.more:
        summary = f"<summary>{escape(content.more_title)}</summary>"
        parts.append(f"<details>{summary}{_rows(heads, content.more)}</details>")
    return "".join(parts)


def _rows(heads: str, rows: Sequence[Sequence[Cell]]) -> str:
    body = "".join(
        "<tr>" + "".join(f'<td class="number">{cell(value)}</td>' for value in row) + "</tr>" for row in rows
    )
    return f'<div class="scroll"><table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>'


def _facts(facts: Mapping[str, Cell]) -> str:
    body = "".join(f"<tr><th>{escape(name)}</th><td>{cell(value)}</td></tr>" for name, value in facts.items())
    return f'<div class="scroll"><table>{body}</table></div>'


def cell(value: Cell) -> str:
    """A number with its exact value for machines, a text, or a dash for what is missing."""
    if value is None:
        return "–"
    if isinstance(value, Number):
        return f'<data value="{exact(value.value)}">{escape(value.text)}</data>'
    return escape(value)


def exact(value: float) -> str:
    """All digits, whether Python or numpy computed it."""
    return repr(value.item() if isinstance(value, np.generic) else value)


def _constant(names: Sequence[str]) -> str:
    return f'<p class="note">Constant, so not plotted: {escape("; ".join(names))}.</p>' if names else ""


def _plot(name: str, picture: NDArray[np.uint8]) -> str:
    address = data_uri("image/webp", webp(picture, _MAP_SIDE, 75))
    caption = f"<figcaption>{escape(name)}</figcaption>"
    return f'<figure><img alt="{escape(name, quote=True)}" src="{address}">{caption}</figure>'


def _scene(text: str) -> str:
    shown = text if len(text) <= _MOST_SCENE else text[:_MOST_SCENE] + "\n... (scene.toml has the rest)"
    return f"<pre>{escape(shown)}</pre>"
