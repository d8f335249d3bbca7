"""The numbers of result.json.

relative_error    |rho - rho*| / |rho*| in L2; where a keyframe has a mask, both norms inside it. A region that should
                  be empty is compared with the whole target, here and in mass_ratio
iou               cells above half the target's maximum in both, over cells above it in either
mass_ratio        mass of rho over mass of rho*
stray             mass of rho farther than 4 cells from where rho* exceeds 1 % of its maximum, over all mass of rho;
                  inside a mask (controllers/stray.py); None of liquids
gathered          share of rho that control.tidy has moved back to rho*; only there
pictures          of [[picture]]: |seen - wanted| / |wanted| in L2, by frame
flows             of [[flow]]: root mean square of v - v* in its region, over the target speed (for rest, over the
                  longest side in the time there), by frame
transported_iou   iou of the start carried through the stored velocities (flow_map.py)
mass_drift        (mass at the end + mass that left + mass dissipated - mass given) / mass given, of the field where it
                  is largest in size; given: at the start and by sources
mass_left         share of all smoke that left through open sides (runs/outflow.py)
mass_may_change   keys of the scene by which mass comes or goes without a fault: domain.boundary, control.equalise
max_divergence    max |div v| dx / max |v| over fluid cells, of every field that advected
force_norm        sqrt(mean over time and volume of |f|^2), m/s^2, of each frame's mean force
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from keyfluid.boundary import Boundary
from keyfluid.controllers.stray import away_from, stray_share
from keyfluid.fields import Field, density
from keyfluid.io.run.stored_frame import FrameMeta
from keyfluid.objectives.density import relative_error
from keyfluid.objectives.velocity import root_mean_square
from keyfluid.operators.project import relative_divergence
from keyfluid.problem import FrameRecord, Keyframe, Problem, dissipated_name, gathered_name
from keyfluid.runs.flow_map import Carried
from keyfluid.runs.frames import Frames
from keyfluid.threads import as_many_threads_as_processes

_TOGETHER = 256_000_000
"""Bytes for keyframes that are carried back together."""


def overlap(density: np.ndarray, key: Keyframe) -> float:
    """Intersection over union at half the target's maximum."""
    counts = np.ones(key.target.shape, bool) if key.mask is None else key.mask > 0.5
    level = 0.5 * float(np.max(key.target))
    reached, wanted = (density > level) & counts, (key.target > level) & counts
    either = np.count_nonzero(reached | wanted)
    return float(np.count_nonzero(reached & wanted) / either) if either else 1.0


def mass_ratio(density: np.ndarray, key: Keyframe) -> float:
    share = 1.0 if key.mask is None else key.mask
    wanted = np.sum(share * key.target, dtype=np.float64) or np.sum(key.target, dtype=np.float64)
    return float(np.sum(share * density, dtype=np.float64) / wanted)


def stray(problem: Problem, density: np.ndarray, key: Keyframe) -> float | None:
    """The share of the smoke that lies away from a keyframe; None of a liquid."""
    if problem.fluid.drawn_as != "density":
        return None
    return stray_share(density, away_from(problem.grid, key.target), key.mask)


def score_keyframes(problem: Problem, frames: Frames, until: int) -> list[dict[str, Any]]:
    """One entry for each keyframe up to frame `until`.

    Carrying the start takes time: of the frames of an animated target only the last has a transported_iou.
    """
    entries, keys = [], [key for key in problem.keyframes if key.frame <= until]
    last = {key.path: key.frame for key in keys}
    known = _last_carrier(frames, until)
    carriable = [key for key in keys if key.frame == last[key.path] and key.frame <= known]
    with as_many_threads_as_processes():
        carried = _transported(problem, frames, carriable)
    for key in keys:
        reached = frames.densities(key.frame)[key.field]
        ratio = mass_ratio(reached, key)
        entries.append(
            {
                "frame": key.frame,
                "field": key.field,
                "relative_error": relative_error(reached, key.target, key.mask),
                "iou": overlap(reached, key),
                "mass_ratio": ratio,
                **problem.fluid.score(key, ratio),
                "bound": key.bound,
                "transported_iou": carried.get(id(key)),
                "stray": stray(problem, reached, key),
                **_gathered(problem, frames, key),
            }
        )
    return entries


def _gathered(problem: Problem, frames: Frames, key: Keyframe) -> dict[str, float]:
    """What was taken back to a keyframe, where the run takes smoke back (control.tidy)."""
    share = frames.store.meta(key.frame).get("numbers", {}).get(gathered_name(problem.densities, key.field))
    return {} if share is None else {"gathered": share}


def score_others(problem: Problem, frames: Frames, until: int) -> dict[str, list[dict[str, Any]]]:
    """Errors of target pictures and velocities up to frame `until`; only the kinds that the scene has."""
    found: dict[str, list[dict[str, Any]]] = {}
    for picture in problem.pictures:
        if picture.frame <= until:
            smoke = density(problem.grid, frames.densities(picture.frame)[picture.field])
            miss = relative_error(picture.view.picture(smoke), picture.wanted)
            entry = {"frame": picture.frame, "field": picture.field, "relative_error": miss}
            found.setdefault("pictures", []).append(entry)
    for flow in problem.flows:
        if flow.frame <= until:
            off = root_mean_square(frames[flow.frame].velocity - flow.velocity, flow.mask)
            found.setdefault("flows", []).append({"frame": flow.frame, "relative_error": off / flow.speed})
    return found


def _last_carrier(frames: Frames, until: int) -> int:
    """The frame up to which velocities are known. An edited film may have none: the run it begins with had no keys."""
    found = (index for index in range(1, until + 1) if not frames.store.meta(index)["carrier_seconds"])
    return next(found, until + 1) - 1


def _transported(problem: Problem, frames: Frames, keys: Sequence[Keyframe]) -> dict[int, float]:
    """The transported_iou of keyframes, by identity. Each frame is read once for as many of them as memory allows."""
    found: dict[int, float] = {}
    together = max(1, _TOGETHER // (Carried.BYTES_PER_CELL * problem.grid.count))
    ordered = sorted(keys, key=lambda key: -key.frame)
    for first in range(0, len(ordered), together):
        waiting, under_way = ordered[first : first + together], []
        for index in range(waiting[0].frame, 0, -1):
            while waiting and waiting[0].frame == index:
                key = waiting.pop(0)
                under_way.append((key, Carried(problem, key.field)))
            frame = frames[index]
            time = frame.meta["time"]
            for seconds, velocity in reversed(frame.carriers):
                time -= seconds
                for _, carried in under_way:
                    carried.back(time, seconds, velocity)
        found |= {id(key): overlap(carried.density(), key) for key, carried in under_way}
    return found


def next_errors(problem: Problem, index: int, densities: Mapping[str, np.ndarray]) -> list[tuple[str, float]]:
    """Key path and relative error of the keyframes that come next; empty after the last."""
    ahead = [key for key in problem.keyframes if key.frame >= index]
    first = min((key.frame for key in ahead), default=None)
    return [
        (key.path, relative_error(densities[key.field], key.target, key.mask)) for key in ahead if key.frame == first
    ]


def worst_divergence(problem: Problem, record: FrameRecord) -> float:
    """The largest relative divergence of the fields that advected since the frame before."""
    if record.divergence is not None:
        return record.divergence
    worst, time = 0.0, (record.index - 1) / problem.fps
    for seconds, velocity in record.carriers:
        time += seconds
        worst = max(worst, relative_divergence(velocity, problem.solids(time)))
    return worst


def mean_square(force: Field) -> float:
    return force.dot(force) / force.grid.count


def mass_drift(metas: Sequence[FrameMeta]) -> float:
    if not metas:
        return 0.0
    drifts = [0.0]
    for name, start in metas[0]["mass"].items():
        given = start + sum(meta["emitted"].get(name, 0.0) for meta in metas)
        left = sum(meta.get("left", {}).get(name, 0.0) for meta in metas)
        gone = sum(meta.get("numbers", {}).get(dissipated_name(name), 0.0) for meta in metas)
        drifts.append((metas[-1]["mass"][name] + left + gone - given) / given if given > 0 else 0.0)
    return max(drifts, key=abs)


def mass_left(metas: Sequence[FrameMeta]) -> dict[str, float]:
    """The share of all smoke that left through open sides; nothing where there are none."""
    left = [sum(meta["left"].values()) for meta in metas if "left" in meta]
    given = sum(metas[0]["mass"].values()) + sum(sum(meta["emitted"].values()) for meta in metas) if metas else 0.0
    return {"mass_left": sum(left) / given} if left and given > 0 else {}


def mass_may_change(problem: Problem) -> list[str]:
    """The keys by which a scene lets smoke leave, or has it made and removed."""
    keys = ["domain.boundary"] if Boundary.OPEN in problem.grid.boundary else []
    return [*keys, "control.equalise"] if getattr(problem.control, "equalise", 0) else keys


def fluid_totals(problem: Problem, metas: Sequence[FrameMeta]) -> dict[str, dict[str, float]]:
    """What the fluid itself reports (problem.fluid.totals)."""
    masses = [sum(meta["mass"].values()) for meta in metas]
    given = sum(sum(meta["emitted"].values()) for meta in metas)
    names = {name: None for meta in metas for name in meta.get("numbers", {})}
    numbers = {name: sum(meta.get("numbers", {}).get(name, 0.0) for meta in metas) for name in names}
    return problem.fluid.totals(masses, given, numbers)


def force_norm(metas: Iterable[FrameMeta]) -> float:
    squares = [meta["force_square"] for meta in metas if meta["index"] > 0]
    return math.sqrt(sum(squares) / len(squares)) if squares else 0.0


def frame_history(metas: Sequence[FrameMeta], logged: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What the method logged, then one entry per frame; what it logged of a frame joins that entry."""
    by_frame: dict[int, dict[str, Any]] = {}
    for meta in metas:
        entry = {
            "frame": meta["index"],
            "mass": sum(meta["mass"].values()),
            "divergence": meta["divergence"],
            "steps": len(meta["step_seconds"]),
        }
        entry.update(meta.get("numbers", {}))
        if meta["error"] is not None:
            entry["error"] = meta["error"]
        if meta["force_square"] > 0:
            entry["force"] = math.sqrt(meta["force_square"])
        by_frame[meta["index"]] = entry
    others = []
    for values in logged:
        frame = values.get("frame")
        if frame in by_frame and "iteration" not in values:
            by_frame[frame].update(values)
        else:
            others.append(dict(values))
    return others + list(by_frame.values())
