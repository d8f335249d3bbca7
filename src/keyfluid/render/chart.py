"""A small line chart as inline SVG: round numbers, several curves, a logarithmic axis where it helps."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

import numpy as np

Curve = tuple[Sequence[float], Sequence[float]]

_WIDTH, _HEIGHT = 640, 280
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 14, 12, 40
_COLOURS = ("#2f7ed8", "#e8743b", "#19a979", "#945ecf", "#d6a21e", "#d64570")


def round_ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten inside [low, high]."""
    raw = (high - low) / about
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * nice for nice in (1, 2, 5, 10) if power * nice >= raw * 0.999)
    return [k * step for k in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def line_chart(curves: Mapping[str, Curve], x_label: str = "", y_label: str = "") -> str:
    """An ``<svg>`` of the named curves (x, y); values that are not finite, or beyond 1e150, are left out.

    The y axis is logarithmic where all values are above 0 and span more than a factor of 100.
    """
    points = {
        name: [(float(a), float(b)) for a, b in zip(x, y) if abs(a) < 1e150 and abs(b) < 1e150]
        for name, (x, y) in curves.items()
    }
    every = [point for line in points.values() for point in line]
    if not every:
        return f'<p class="empty">No values to plot for {escape(", ".join(curves))}.</p>'
    xs, ys = np.array(every).T
    logarithmic = bool(ys.min() > 0 and ys.max() > 100 * ys.min())
    x_low, x_high = _widened(xs.min(), xs.max())
    if logarithmic:
        y_low, y_high = _widened(math.log10(ys.min()), math.log10(ys.max()))
        y_ticks = [float(k) for k in range(math.ceil(y_low), math.floor(y_high) + 1)]
        y_ticks = y_ticks[:: max(1, len(y_ticks) // 6)]
    else:
        y_low, y_high = _widened(min(ys.min(), 0.0) if ys.min() < 0.5 * ys.max() else ys.min(), ys.max())
        y_ticks = round_ticks(y_low, y_high)

    base = _HEIGHT - _BOTTOM

    def across(x: float) -> float:
        return _LEFT + (x - x_low) / (x_high - x_low) * (_WIDTH - _LEFT - _RIGHT)

    def down(y: float) -> float:
        return base - (y - y_low) / (y_high - y_low) * (_HEIGHT - _TOP - _BOTTOM)

    parts = [f'<svg class="chart" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(y_label)}">']
    for tick in y_ticks:
        text = f"{10.0**tick:.3g}" if logarithmic else f"{tick:.6g}"
        parts.append(f'<path class="grid" d="M{_LEFT} {down(tick):.1f}H{_WIDTH - _RIGHT}"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{down(tick) + 4:.1f}" text-anchor="end">{text}</text>')
    for tick in round_ticks(x_low, x_high, 8):
        parts.append(f'<path class="grid" d="M{across(tick):.1f} {_TOP}V{base}"/>')
        parts.append(f'<text x="{across(tick):.1f}" y="{base + 16}" text-anchor="middle">{tick:.6g}</text>')
    for index, line in enumerate(points.values()):
        colour = _COLOURS[index % len(_COLOURS)]
        path = " ".join(f"{across(x):.1f},{down(math.log10(y) if logarithmic else y):.1f}" for x, y in line)
        parts.append(f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="{path}"/>')
        if len(line) == 1:
            parts.append(f'<circle fill="{colour}" r="3" cx="{path.split(",")[0]}" cy="{path.split(",")[1]}"/>')
    parts.append(f'<text x="{_WIDTH / 2}" y="{_HEIGHT - 6}" text-anchor="middle">{escape(x_label)}</text></svg>')
    legend = "".join(
        f'<span><i style="background:{_COLOURS[index % len(_COLOURS)]}"></i>{escape(name)}</span>'
        for index, name in enumerate(points)
    )
    return "".join(parts) + f'<p class="legend">{legend}</p>'


def _widened(low: float, high: float) -> tuple[float, float]:
    """The range, or one about a single value."""
    if high > low:
        return float(low), float(high)
    margin = abs(low) * 0.5 or 0.5
    return float(low) - margin, float(high) + margin
