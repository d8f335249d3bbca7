"""A run in words: whether its keyframes are met, what is missing where, why, and what to try.

frame 40 is not met: overlap with the target 0.53, error 0.67
41 % of the smoke of "FLUID KEY" is missing; nothing reached "KEY" (x 0.3, y 0.7)
try control.gamma = "blur"
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from keyfluid.controllers.stray import FAR
from keyfluid.io.run.result_file import KeyScore
from keyfluid.problem import Keyframe
from keyfluid.runs.findings import PARTLY, Finding, TargetPart, find
from keyfluid.runs.remedies import at_limit, remedies
from keyfluid.scenes.build.problem import BuiltScene
from keyfluid.scenes.build.sources import PlacedBody

_MOST_LOOKED_AT = 8
"""Keyframes whose parts are all looked at; of more, only the worst is."""

_NAMED = 4
_STRAY = 0.05
"""Share of the smoke that may lie away from a keyframe before it is worth a sentence."""


@dataclass(frozen=True)
class Verdict:
    """met: every keyframe is; None without keyframes. words: one sentence each."""

    met: bool | None
    words: list[str]


def verdict(
    problem: BuiltScene,
    scores: Sequence[KeyScore],
    reached: Callable[[Keyframe], np.ndarray],
    drift: float,
    left: float,
    history: Sequence[Mapping[str, Any]],
) -> Verdict:
    """The verdict on a run that has come to its end.

    scores: of the keyframes, in their order; reached: the field of a keyframe at its frame; drift, left: mass_drift and
    mass_left of result.json; history: what the method logged.
    """
    pairs = list(zip(problem.keyframes, scores))
    if not pairs:
        return Verdict(None, [])
    if len(pairs) > _MOST_LOOKED_AT:
        looked_at = [min(pairs, key=lambda pair: pair[1]["iou"])]
    else:
        looked_at = pairs
    findings = [find(problem.grid, key, reached(key), score) for key, score in looked_at]
    worst = min(findings, key=lambda found: (found.met, found.score["iou"]))
    missed = sum(not found.met for found in findings)
    if len(pairs) > len(findings):
        missed = max(missed, sum(_short(key, score) for key, score in pairs))
    lines = [_headline(problem, worst, missed, len(pairs))]
    if missed:
        lines += _whereabouts(problem, worst)
        lines += _mass(problem, worst, drift, left)
    lines += _stray(problem, pairs)
    lines += _bound(problem, worst)
    if missed:
        limit = at_limit(problem, history)
        if limit is not None:
            lines.append(f"the search used all of its {limit} iterations without converging")
        tries = remedies(problem, worst, history)
        lines += [f"try {', or '.join(map(str, tries))}"] if tries else []
    return Verdict(missed == 0, lines)


def _short(key: Keyframe, score: KeyScore) -> bool:
    """Whether a keyframe is missed by its numbers alone."""
    return not Finding(key, score, 0.0, 0.0, [], None).met


def _headline(problem: BuiltScene, worst: Finding, missed: int, count: int) -> str:
    score = worst.score
    field = f" of {score['field']}" if len(problem.densities) > 1 else ""
    numbers = f"overlap with the target {score['iou']:.2f}, error {score['relative_error']:.2f}"
    if count == 1:
        return f"frame {score['frame']}{field} is {'not ' * bool(missed)}met: {numbers}"
    head = f"{missed} of {count} keyframes are not met" if missed else f"all {count} keyframes are met"
    return f"{head}; the worst is frame {score['frame']}{field}: {numbers}"


def _whereabouts(problem: BuiltScene, worst: Finding) -> list[str]:
    """How much is missing, and where."""
    fluid, what = problem.fluid.name, _what(worst.key)
    sentence = []
    if worst.missing > 0.05:
        sentence.append(f"{100 * worst.missing:.0f} % of the {fluid} of {what} is missing")
    several = len(worst.parts) > 1
    if several and worst.empty_parts:
        sentence.append(f"nothing reached {_listed(worst.empty_parts)}")
    partly = [part for part in worst.parts if part not in worst.empty_parts and part.fill < PARTLY]
    if several and partly and len(partly) < len(worst.parts):
        sentence += [f"{_named(part)} is {100 * part.fill:.0f} % full" for part in partly[: _NAMED - 1]]
    if not several and worst.hole is not None and worst.missing > 0.05:
        sentence.append(f"most of it around {_place(worst.hole)}")
    if worst.outside > 0.1:
        sentence.append(f"{100 * worst.outside:.0f} % of the {fluid} is outside it")
    return ["; ".join(sentence)] if sentence else []


def _stray(problem: BuiltScene, pairs: Sequence[tuple[Keyframe, KeyScore]]) -> list[str]:
    """The keyframe that the most smoke has stayed away from."""
    key, score = max(pairs, key=lambda pair: pair[1].get("stray") or 0.0)
    share = score.get("stray") or 0.0
    if share <= _STRAY:
        return []
    field = f" of {score['field']}" if len(problem.densities) > 1 else ""
    return [
        f"{100 * share:.0f} % of the {problem.fluid.name}{field} lies away from {_what(key)} "
        f"at frame {score['frame']}, farther than {FAR} cells"
    ]


def _what(key: Keyframe) -> str:
    text = key.body.words if isinstance(key.body, PlacedBody) else None
    return f'"{_cut(text)}"' if text else "the target"


def _mass(problem: BuiltScene, worst: Finding, drift: float, left: float) -> list[str]:
    """Too much or too little fluid, and why."""
    ratio, fluid = worst.score["mass_ratio"], problem.fluid.name
    if worst.key.mask is not None or abs(ratio - 1) <= 0.1:
        return []
    why = []
    if left > 0.05:
        why.append(f"{100 * left:.0f} % of it left through open sides")
    if abs(drift) > 0.05:
        why.append(f"the simulation {'lost' if drift < 0 else 'gained'} {100 * abs(drift):.0f} %")
    if any(not source.exact and source.field == worst.key.field for source in problem.sources):
        why.append("a source that holds a density emits as much as the flow carries off (`rate` sets the amount)")
    amount = f"{100 * ratio:.0f} % of" if ratio < 1 else f"{ratio:.2g} times"
    return [f"there is {amount} the {fluid} that the target needs{': ' if why else ''}{', and '.join(why)}"]


def _bound(problem: BuiltScene, worst: Finding) -> list[str]:
    bound, error, fluid = worst.score["bound"], worst.score["relative_error"], problem.fluid.name
    if bound is None or bound <= 0.01:
        return []
    if error < bound:
        return [
            f"a rearrangement of the {fluid} can't get below an error of {bound:.2f}; this run did, through blur, "
            "sources or partly filled cells"
        ]
    if worst.bounded:
        return [f"a rearrangement of the {fluid} can't get below an error of {bound:.2f}: more control hardly helps"]
    return []


def _listed(parts: Sequence[TargetPart]) -> str:
    names = [_named(part) for part in parts[:_NAMED]]
    if len(parts) > _NAMED:
        names.append(f"{len(parts) - _NAMED} more")
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _named(part: TargetPart) -> str:
    return f'"{_cut(part.name)}" {_place(part.middle)}' if part.name else f"the part at {_place(part.middle)}"


def _place(middle: Sequence[float]) -> str:
    return f"({', '.join(f'{axis} {value:.2g}' for axis, value in zip('xyz', middle))})"


def _cut(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}..."
