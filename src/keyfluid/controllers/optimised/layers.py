"""Two schedules of short windows that overlap by half: layered multiple shooting [Treuille et al. 2003, section 5].

    layer 0    |-------|-------|-------|-------|
    layer 1    |---|-------|-------|-------|---|

Windows are cut at frames where every kind of smoke has a keyframe without a mask: there the smoke is known nearly,
before anything is solved, and the first layer begins from it, at rest.
"""

from __future__ import annotations

from collections.abc import Sequence

from keyfluid.controllers.optimised.windows import Window, plan_windows
from keyfluid.errors import SceneError
from keyfluid.fields import Field, density
from keyfluid.grid import Kind
from keyfluid.models.air import TEMPERATURE
from keyfluid.models.state import State
from keyfluid.problem import Problem


def plan_layers(problem: Problem, span: int | None) -> tuple[list[Window], list[Window]]:
    """The windows of both layers; span: their length in frames, None: two keyframes' worth."""
    (whole,) = plan_windows(problem, "all")
    frames = _known_frames(problem, whole)
    if len(frames) < 2:
        raise SceneError(
            "control.schedule",
            '"shooting" cuts where every kind of smoke has a keyframe without a mask, and needs two such frames before '
            f'the last; there are {len(frames)}: use "sequence" or "all"',
        )
    length = whole.last - whole.first
    span = span or max(2, round(2 * length / (len(frames) + 1)))
    if span >= length:
        raise SceneError(
            "control.span",
            f'{span} frames are as long as the {length} that are controlled, or longer; shorten it, or use "all"',
        )
    even = _nearest(frames, [whole.first + k * span for k in range(1, -(-length // span))])
    others = [frame for frame in frames if frame not in even]
    odd = _nearest(others, [whole.first + k * span + span / 2 for k in range(-(-length // span))])
    if not even or not odd:
        raise SceneError("control.span", f"{span} frames leave no place to cut two layers; use a smaller number")
    return _between(whole, even), _between(whole, odd)


def keyframes_at_rest(problem: Problem, frame: int) -> State:
    """The keyframes of a frame, and air at rest that nothing has warmed."""
    state: dict[str, Field] = {
        key.field: density(problem.grid, key.target, problem.dtype) for key in problem.keyframes if key.frame == frame
    }
    ordered: dict[str, Field] = {name: state[name] for name in problem.densities}
    if problem.temperature is not None:
        ordered[TEMPERATURE] = problem.temperature.zeros_like()
    ordered["velocity"] = Field.zeros(problem.grid, Kind.FACES, problem.dtype)
    return ordered


def _known_frames(problem: Problem, whole: Window) -> list[int]:
    found: dict[int, set[str]] = {}
    for key in problem.keyframes:
        if key.mask is None and whole.first < key.frame < whole.last:
            found.setdefault(key.frame, set()).add(key.field)
    return sorted(frame for frame, fields in found.items() if fields == set(problem.densities))


def _nearest(frames: Sequence[int], places: Sequence[float]) -> list[int]:
    return sorted({min(frames, key=lambda frame: abs(frame - place)) for place in places}) if frames else []


def _between(whole: Window, cuts: Sequence[int]) -> list[Window]:
    ends = [*cuts, whole.last]
    return [Window(first, last) for first, last in zip([whole.first, *cuts], ends)]
