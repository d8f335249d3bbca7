"""A small line chart as inline SVG: round numbers, several curves, a logarithmic axis, bands behind the curves.

Colours are classes of page.css, so that they follow the reader's light or dark theme.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby

import numpy as np

Curve = tuple[Sequence[float], Sequence[float]]

COLOURS = 6
"""Classes c0 to c5 of page.css."""
_WIDTH, _HEIGHT = 480, 260
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 14, 22, 40
_MOST_POINTS = 400
_LETTER = 6.5
"""Width of a letter, about."""


@dataclass(frozen=True)
class Band:
    """A range of x with a name, such as a stage of a search."""

    start: float
    stop: float
    label: str


@dataclass(frozen=True)
class Chart:
    """Named curves with their axes in words.

    logarithmic  None chooses where values span a factor of 100
    breaks       values of x after which a curve starts anew, because it is about something else from there on
    """

    title: str
    curves: Mapping[str, Curve]
    x_label: str
    y_label: str
    logarithmic: bool | None = None
    bands: Sequence[Band] = ()
    breaks: Sequence[float] = ()


def round_ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten inside [low, high]."""
    raw = (high - low) / about
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * nice for nice in (1, 2, 5, 10) if power * nice >= raw * 0.999)
    return [k * step for k in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Round numbers inside [low, high] for a logarithmic axis: powers of ten, or closer where there are too few."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks: list[float] = []
    for digits in ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 7), (1, 1.1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 4, 6, 8)):
        ticks = [digit * 10.0**power for power in decades for digit in digits]
        ticks = [tick for tick in ticks if low * 0.999 <= tick <= high * 1.001]
        if len(ticks) >= 3:
            break
    return ticks[:: max(1, math.ceil(len(ticks) / 7))]


def line_chart(chart: Chart) -> str:
    """The chart as a ``<figure>``; values that are not finite, or beyond 1e150, are left out."""
    points = {name: _points(curve) for name, curve in chart.curves.items()}
    every = [point for line in points.values() for point in line]
    if not every:
        return f'<p class="empty">No values to plot for {escape(chart.title)}.</p>'
    xs, ys = np.array(every).T
    spread = bool(ys.min() > 0 and ys.max() > 100 * ys.min())
    logarithmic = spread if chart.logarithmic is None else chart.logarithmic and bool(ys.min() > 0)
    x_low, x_high = _widened(xs.min(), xs.max())
    if logarithmic:
        low, high = _widened(math.log10(ys.min()), math.log10(ys.max()))
        margin = 0.04 * (high - low)
        y_low, y_high = low - margin, high + margin
        ticks = [(math.log10(tick), f"{tick:.3g}") for tick in log_ticks(10.0**y_low, 10.0**y_high)]
    else:
        y_low, y_high = _widened(min(ys.min(), 0.0) if ys.min() < 0.5 * ys.max() else ys.min(), ys.max())
        ticks = [(tick, f"{tick:.6g}") for tick in round_ticks(y_low, y_high)]

    base, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT

    def across(x: float) -> float:
        return _LEFT + (x - x_low) / (x_high - x_low) * (right - _LEFT)

    def down(y: float) -> float:
        return base - (y - y_low) / (y_high - y_low) * (base - _TOP)

    parts = [f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(chart.title, quote=True)}">']
    for index, band in enumerate(chart.bands):
        left, width = across(max(band.start, x_low)), across(min(band.stop, x_high)) - across(max(band.start, x_low))
        parts.append(
            f'<rect class="band{index % 2}" x="{left:.1f}" y="{_TOP}" width="{width:.1f}" height="{base - _TOP}"/>'
        )
        if width > _LETTER * len(band.label):
            parts.append(f'<text class="name" x="{left + 4:.1f}" y="{_TOP - 6}">{escape(band.label)}</text>')
    for tick, text in ticks:
        parts.append(f'<path class="grid" d="M{_LEFT} {down(tick):.1f}H{right}"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{down(tick) + 4:.1f}" text-anchor="end">{text}</text>')
    for tick in round_ticks(x_low, x_high, 6):
        parts.append(f'<path class="grid" d="M{across(tick):.1f} {base}v4"/>')
        parts.append(f'<text x="{across(tick):.1f}" y="{base + 18}" text-anchor="middle">{tick:.6g}</text>')
    for index, line in enumerate(points.values()):
        colour = f"c{index % COLOURS}"
        for _, piece in groupby(line, lambda point: sum(point[0] > x for x in chart.breaks)):
            places = [(across(x), down(math.log10(y) if logarithmic else y)) for x, y in piece]
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
            parts.append(f'<polyline class="{colour}" points="{path}"/>')
            if len(places) == 1:
                parts.append(f'<circle class="{colour}" r="3" cx="{places[0][0]:.1f}" cy="{places[0][1]:.1f}"/>')
    parts.append(
        f'<text x="{(_LEFT + right) / 2}" y="{_HEIGHT - 5}" text-anchor="middle">{escape(chart.x_label)}</text>'
    )
    unit = f" <span>{escape(chart.y_label)}</span>" if chart.y_label else ""
    caption = f"<figcaption>{escape(chart.title)}{unit}</figcaption>"
    return f'<figure class="chart">{caption}{"".join(parts)}</svg>{_legend(list(points))}</figure>'


def _points(curve: Curve) -> list[tuple[float, float]]:
    """What can be plotted, thinned evenly where there are more points than pixels."""
    points = [(float(x), float(y)) for x, y in zip(*curve) if abs(x) < 1e150 and abs(y) < 1e150]
    if len(points) <= _MOST_POINTS:
        return points
    return [points[round(place)] for place in np.linspace(0, len(points) - 1, _MOST_POINTS)]


def _legend(names: Sequence[str]) -> str:
    """Only where there is something to tell apart."""
    if len(names) < 2:
        return ""
    spans = (f'<span><i class="c{index % COLOURS}"></i>{escape(name)}</span>' for index, name in enumerate(names))
    return f'<p class="legend">{"".join(spans)}</p>'


def _widened(low: float, high: float) -> tuple[float, float]:
    """The range, or one about a single value."""
    if high > low:
        return float(low), float(high)
    margin = abs(low) * 0.5 or 0.5
    return float(low) - margin, float(high) + margin
