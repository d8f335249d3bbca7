"""The history of result.json as charts: what belongs together in one, axes in words, constants left out."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from keyfluid.render.chart import Band, Chart, Curve

_CONSTANT = 5e-3
"""Change, over the largest value, below which nobody would see more than a straight line."""
_AXES = {"iteration": "iteration", "frame": "frame", "round": "round"}
_BOOKKEEPING = {
    *_AXES, "stage", "window", "closing", "together", "cells", "start", "converged", "advection_iterations",
    "flow_iterations", "divergence",
}  # fmt: skip
"""Numbers that place an entry, and the divergence, whose largest value stands among the numbers."""


@dataclass(frozen=True)
class _Kind:
    """A chart: names of the history and their words; a name followed by `_FIELD` is the same of one field."""

    axis: str
    title: str
    unit: str
    names: Mapping[str, str]
    logarithmic: bool | None = None


_KINDS = (
    _Kind("iteration", "Error", "relative, logarithmic", {"error": "error"}, True),
    _Kind(
        "iteration", "Objective", "logarithmic",
        {"objective": "objective", "match": "distance to the targets", "force": "penalty on the forces"}, True,
    ),
    _Kind(
        "iteration", "Convergence", "relative, logarithmic",
        {"gap": "gap of the two flows", "change": "change of density", "advection_residual": "advection's residual",
         "flow_residual": "flow's residual"}, True,
    ),
    _Kind(
        "round", "Jumps between windows", "relative, logarithmic",
        {"seam_density": "density", "seam_velocity": "velocity"}, True,
    ),
    _Kind(
        "frame", "Distance to the next keyframe", "relative error",
        {"error": "error", "engine_error": "the same forces in the engine"},
    ),
    _Kind("frame", "Amount of fluid", "density times {volume}", {"mass": "amount"}),
    _Kind("frame", "Control force", "m/s², root mean square", {"force": "force"}),
    _Kind("frame", "Gathered", "share of the smoke", {"gathered": "gathered"}),
    _Kind("frame", "Speed of the control particles", "m/s", {"mean_speed": "smoke", "control_speed": "control"}),
    _Kind("frame", "Energy of the match", "", {"energy": "energy"}),
    _Kind("frame", "Particles", "number", {"teleports": "teleported", "vortices": "vortices"}),
    _Kind("frame", "Volume from the control", "{volume}", {"sourced": "given", "churn": "turned over, share"}),
    _Kind("frame", "Steps per frame", "", {"steps": "steps"}),
)  # fmt: skip


def charts_of(
    history: Iterable[Mapping[str, Any]], keys: Collection[int], dimension: int
) -> tuple[list[Chart], list[str]]:
    """The charts of a history, and what is constant, with its value; `keys` are the frames of keyframes."""
    kept = list(history)
    entries = {axis: [entry for entry in kept if _axis(entry) == axis] for axis in _AXES}
    charts, constant = [], []
    for kind in _kinds(entries):
        rows = entries[kind.axis]
        every = {name: curve for name in _names(rows, kind) if (curve := _curve(rows, kind.axis, name))[0]}
        title, unit = kind.title, kind.unit.format(volume="m²" if dimension == 2 else "m³")
        curves = {_label(kind, name): curve for name, curve in every.items() if not _is_constant(curve)}
        if curves:
            bands = _bands(rows) if kind.axis == "iteration" else []
            # The error is about another target from the frame after a keyframe on.
            breaks = (
                sorted(key for key in keys if key + 1 not in keys) if kind.axis == "frame" and "error" in every else []
            )
            charts.append(Chart(title, curves, _AXES[kind.axis], unit, kind.logarithmic, bands, breaks))
        still = {name: curve for name, curve in every.items() if _is_constant(curve)}
        for name, (_, ys) in still.items():
            words = title.lower() if len(every) == 1 else f"{title.lower()}, {_label(kind, name)}"
            constant.append(f"{words} ({ys[-1]:.4g}{f' {unit}' if unit.startswith('m') else ''})")
    return charts, constant


def _axis(entry: Mapping[str, Any]) -> str | None:
    return next((axis for axis in _AXES if axis in entry), None)


def _kinds(entries: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[_Kind]:
    """The kinds above, and one for every other number that a method logs."""
    kinds = list(_KINDS)
    for axis, rows in entries.items():
        known = [kind for kind in kinds if kind.axis == axis]
        found = dict.fromkeys(name for row in rows for name, value in row.items() if isinstance(value, int | float))
        for name in found:
            if name not in _BOOKKEEPING and not any(_kind_has(kind, name) for kind in known):
                if axis == "iteration" and name == "steps":
                    continue
                kinds.append(_Kind(axis, name.replace("_", " ").capitalize(), "", {name: name.replace("_", " ")}))
    return kinds


def _names(rows: Sequence[Mapping[str, Any]], kind: _Kind) -> list[str]:
    found = dict.fromkeys(name for row in rows for name, value in row.items() if isinstance(value, int | float))
    return [name for name in found if _kind_has(kind, name) and name not in _BOOKKEEPING]


def _kind_has(kind: _Kind, name: str) -> bool:
    return name in kind.names or any(name.startswith(f"{known}_") for known in kind.names)


def _label(kind: _Kind, name: str) -> str:
    if name in kind.names:
        return kind.names[name]
    known = next(known for known in kind.names if name.startswith(f"{known}_"))
    field = name.removeprefix(f"{known}_")
    return field if len(kind.names) == 1 else f"{kind.names[known]}, {field}"


def _curve(rows: Sequence[Mapping[str, Any]], axis: str, name: str) -> Curve:
    points = [(row[axis], row[name]) for row in rows if isinstance(row.get(name), int | float)]
    # No steps lead to frame 0.
    points = [(x, y) for x, y in points if math.isfinite(y) and not (name == "steps" and x == 0)]
    return [x for x, _ in points], [y for _, y in points]


def _is_constant(curve: Curve) -> bool:
    values = curve[1]
    return max(values) - min(values) <= _CONSTANT * max(map(abs, values))


def _bands(rows: Sequence[Mapping[str, Any]]) -> list[Band]:
    """The stages of a search, one behind the other; none if there is only one."""
    groups = [(where, list(group)) for where, group in groupby(rows, _stage)]
    if len(groups) < 2:
        return []
    windows = {where[1] for where, _ in groups}
    bands = []
    for place, (where, group) in enumerate(groups):
        follower = groups[place + 1][1][0]["iteration"] if place + 1 < len(groups) else group[-1]["iteration"]
        bands.append(Band(group[0]["iteration"], follower, _stage_words(where, len(windows) > 1)))
    return bands


def _stage(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Round and window, stage, and the grid and window of a spacetime search."""
    return tuple(row.get(name) for name in ("round", "window", "stage", "cells", "start"))


def _stage_words(where: tuple[Any, ...], windows: bool) -> str:
    _, window, stage, cells, start = where
    if stage is not None:
        return f"window {window + 1}, stage {stage + 1}" if windows and window is not None else f"stage {stage + 1}"
    return f"{cells} cells" if not start else f"{cells} cells, from step {start}"
