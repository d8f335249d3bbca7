"""The numbers of a run in a few lines, as `run` and `show` print them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from keyfluid.io.run.result_file import Result

MOST_DRIFT = 0.05
"""Share of the mass that may drift before a run warns."""


def summary(metrics: Result) -> list[str]:
    """The numbers of a run, one line per topic."""
    frames = sum("mass" in entry for entry in metrics["history"])
    lines = [
        f"{metrics['status']}: method {metrics['method']}, {frames} frames, {metrics['seconds']:.1f} s, "
        f"{metrics['threads']} thread{'s' * (metrics['threads'] > 1)}, {metrics['peak_memory_mb']:.0f} MB",
        f"mass drift {metrics['mass_drift']:.2%}, largest divergence {metrics['max_divergence']:.1e}, "
        f"force {metrics['force_norm']:.3g} m/s^2",
    ]
    lines += _mass_warning(metrics)
    for key in metrics["keyframes"]:
        carried = "" if key["transported_iou"] is None else f", carried IoU {key['transported_iou']:.3f}"
        # Gathering, and a liquid's own volume, go below what carrying the smoke alone can reach.
        bounded = key["bound"] is not None and key["bound"] <= key["relative_error"]
        bound = f" (least possible {key['bound']:.3f})" if bounded else ""
        lines.append(
            f"keyframe {key['frame']} of {key['field']}: error {key['relative_error']:.3f}{bound}, "
            f"IoU {key['iou']:.3f}{carried}, mass {key['mass_ratio']:.3f}"
        )
    for name, keys in (("picture", metrics.get("pictures", [])), ("flow", metrics.get("flows", []))):
        lines += [f"{name} at {key['frame']}: error {key['relative_error']:.3f}" for key in keys]
    return lines


def _mass_warning(metrics: Result) -> list[str]:
    """A drift of mass beyond 5 % in words: how much, and what helps."""
    drift, liquid = metrics["mass_drift"], "liquid" in metrics
    allowed = metrics.get("mass_may_change", [])
    if abs(drift) <= MOST_DRIFT or "control.equalise" in allowed:
        return []
    what, amount = ("liquid", "volume") if liquid else ("smoke", "mass")
    if "domain.boundary" in allowed and drift < 0:
        return [f"{-drift:.0%} of the {what} left through open sides or was lost"]
    long_steps = liquid or any(entry.get("about") == "step size" for entry in metrics["history"])
    remedy = "take more steps per frame (time.steps_per_frame)"
    if not long_steps:
        remedy = "a finer grid (domain.resolution) helps"
    return [f"warning: the {what} {'lost' if drift < 0 else 'gained'} {abs(drift):.0%} of its {amount}; {remedy}"]
