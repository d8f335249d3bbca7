# SPDX-License-Identifier: GPL-3.0-or-later
"""The job of this session, looked at by a timer: progress to the panel and the status bar, files to the viewport."""

from __future__ import annotations

import time
from pathlib import Path

import bpy

from .core.frames import FrameRange
from .core.job import Job
from .gather import folder_of, frames_of
from .show import show_liquid, show_volume

_LOOK, _SHOW = 0.25, 1.0
"""Seconds between two looks at a job, and at its files."""

job: Job | None = None
_domain_name = ""
_run: Path | None = None
_shown_at = 0.0


def begin(new: Job, domain: bpy.types.Object | None, run: Path | None) -> None:
    """Follow a job; domain, run: whose files appear, none while keyfluid is installed."""
    global job, _domain_name, _run, _shown_at
    job, _run, _shown_at = new, run, 0.0
    _domain_name = domain.name if domain is not None else ""
    if domain is not None:
        domain.keyfluid_domain.scores.clear()
        _note(domain, new.message, False)
    if not bpy.app.timers.is_registered(tick):
        bpy.app.timers.register(tick, first_interval=_LOOK)


def busy() -> bool:
    return job is not None and job.active


def tick() -> float | None:
    """Called by the timer; None ends it. Faults stay here: a timer that raises would end without a word."""
    if job is None:
        return None
    changed = job.look()
    domain = bpy.data.objects.get(_domain_name)
    if domain is not None:
        _take(domain, changed)
    _redraw()
    return _LOOK if job.active else None


def _take(domain: bpy.types.Object, changed: bool) -> None:
    global _shown_at
    assert job is not None
    if changed:
        _note(domain, job.message, job.state == "failed")
        _scores(domain)
    ended = not job.active
    if _run is not None and (ended or time.monotonic() - _shown_at > _SHOW):
        _shown_at = time.monotonic()
        try:
            show_volume(domain, _run)
            if job.state == "finished" and domain.keyfluid_domain.fluid == "liquid":
                show_liquid(domain, _run)
        except Exception as error:
            _note(domain, f"The run can't be shown: {error}", True)


def _scores(domain: bpy.types.Object) -> None:
    """The error of each keyframe: how far the film is while it grows, in the end how well each was met."""
    assert job is not None
    frames: FrameRange = frames_of(domain)
    if job.result is not None:
        found = [(each["frame"], each["relative_error"], each["iou"]) for each in job.result.get("keyframes", [])]
    else:
        found = [(-1, error, 0.0) for error in job.errors.values()]
    scores = domain.keyfluid_domain.scores
    scores.clear()
    for frame, error, overlap in found:
        score = scores.add()
        score.frame = frames.from_run(frame) if frame >= 0 else -1
        score.error, score.overlap = error, overlap


def _note(domain: bpy.types.Object, message: str, failed: bool) -> None:
    settings = domain.keyfluid_domain
    if settings.message != message or settings.failed != failed:
        settings.message, settings.failed = message, failed


def _redraw() -> None:
    for window in getattr(bpy.context.window_manager, "windows", ()):
        for area in window.screen.areas:
            if area.type in ("PROPERTIES", "VIEW_3D", "STATUSBAR"):
                area.tag_redraw()


@bpy.app.handlers.persistent
def reattach(*_ignored: object) -> None:
    """A run that was at work when Blender closed is followed again."""
    if busy():
        return
    for item in bpy.data.objects:
        settings = item.keyfluid_domain
        if item.keyfluid.role != "DOMAIN" or not settings.shown or not bpy.data.is_saved:
            continue
        folder = folder_of(item)
        found = Job(folder, settings.shown)
        if found.attach():
            begin(found, item, folder / settings.shown)
            return


def register() -> None:
    bpy.app.handlers.load_post.append(reattach)


def unregister() -> None:
    bpy.app.handlers.load_post.remove(reattach)
    if bpy.app.timers.is_registered(tick):
        bpy.app.timers.unregister(tick)
