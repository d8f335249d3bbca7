"""The numbers of a run in a few lines, as `run` and `show` print them."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from keyfluid.io.run.result_file import KeyScore, Result

MOST_DRIFT = 0.05
"""Share of the mass that may drift before a run warns."""

MOST_LINES = 6
"""Keyframes that get a line each; of more, the worst does, beside the medians."""


def summary(metrics: Result) -> list[str]:
    """The run in words, then its numbers, one line per topic."""
    frames = sum("mass" in entry for entry in metrics["history"])
    away = ", but not met" if metrics["status"] == "finished" and metrics.get("met") is False else ""
    lines = [
        f"{metrics['status']}{away}: method {metrics['method']}, {frames} frames, {metrics['seconds']:.1f} s, "
        f"{metrics['threads']} thread{'s' * (metrics['threads'] > 1)}, {metrics['peak_memory_mb']:.0f} MB",
        *metrics.get("words", []),
        f"mass drift {metrics['mass_drift']:.2%}, largest divergence {metrics['max_divergence']:.1e}, "
        f"force {metrics['force_norm']:.3g} m/s^2",
    ]
    lines += _mass_warning(metrics)
    lines += _keyframes(metrics["keyframes"])
    lines += [f"the solved run: {line}" for line in _keyframes(metrics.get("solved", []))]
    for name, keys in (("picture", metrics.get("pictures", [])), ("flow", metrics.get("flows", []))):
        lines += [f"{name} at {key['frame']}: error {key['relative_error']:.3f}" for key in keys]
    return lines


def _keyframes(keys: Sequence[KeyScore]) -> list[str]:
    if len(keys) <= MOST_LINES:
        return [_keyframe(key) for key in keys]
    masses = [key["mass_ratio"] for key in keys]
    return [
        f"{len(keys)} keyframes: error median {_median(keys, 'relative_error')}, IoU median {_median(keys, 'iou')}, "
        f"mass {min(masses):.3f} to {max(masses):.3f}{_most_stray(keys)}; result.json has all of them",
        f"worst: {_keyframe(max(keys, key=lambda key: key['relative_error']))}",
    ]


def _most_stray(keys: Sequence[KeyScore]) -> str:
    found = [share for key in keys if (share := key.get("stray")) is not None]
    return f", stray at most {max(found):.1%}" if found else ""


def _median(keys: Sequence[KeyScore], name: Literal["relative_error", "iou"]) -> str:
    return f"{median(key[name] for key in keys):.3f}"


def _keyframe(key: KeyScore) -> str:
    carried = "" if key["transported_iou"] is None else f", carried IoU {key['transported_iou']:.3f}"
    bound = "" if key["bound"] is None else f" (a rearrangement: at least {key['bound']:.3f})"
    share = key.get("stray")
    stray = "" if share is None else f", stray {share:.1%}"
    stray += f", gathered {key['gathered']:.1%}" if "gathered" in key else ""
    return (
        f"keyframe {key['frame']} of {key['field']}: error {key['relative_error']:.3f}{bound}, "
        f"IoU {key['iou']:.3f}{carried}, mass {key['mass_ratio']:.3f}{stray}"
    )


def _mass_warning(metrics: Result) -> list[str]:
    """Fluid that left, and a drift of mass beyond 5 %, in words: how much, and what helps."""
    drift, liquid = metrics["mass_drift"], "liquid" in metrics
    allowed, left = metrics.get("mass_may_change", []), metrics.get("mass_left")
    what, amount = ("liquid", "volume") if liquid else ("smoke", "mass")
    lines = (
        [f"{100 * left:.0f} % of the {what} left through open sides"] if left is not None and left > MOST_DRIFT else []
    )
    if abs(drift) <= MOST_DRIFT or "control.equalise" in allowed:
        return lines
    if "domain.boundary" in allowed and left is None and drift < 0:
        return [f"{-100 * drift:.0f} % of the {what} left through open sides or was lost"]
    long_steps = liquid or any(entry.get("about") == "step size" for entry in metrics["history"])
    remedy = "take more steps per frame (time.steps_per_frame)"
    if not long_steps:
        remedy = "a finer grid (domain.resolution) helps"
    return [
        *lines,
        f"warning: the {what} {'lost' if drift < 0 else 'gained'} {100 * abs(drift):.0f} % of its {amount}; {remedy}",
    ]
