"""What a run will take, before it starts: memory and disk are counted, time is measured.

Both happen in a process of their own (`python -m keyfluid.studio.plans SCENE PREVIEW MEASURE`), so that the memory of
a large scene is not the server's.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from threading import Lock
from typing import Any

from keyfluid.errors import KeyfluidError, faults_of
from keyfluid.scenes import Scene, load_scene, preview
from keyfluid.studio.named_files import require_inside
from keyfluid.studio.workspace import Workspace

PATIENCE = 300.0
"""Seconds until a plan is given up; the first one compiles."""


class Plans:
    """One at a time; a newer request ends the one before."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def of(self, name: str, small: bool, measure: bool) -> dict[str, Any]:
        """As GET /api/plan answers it."""
        path = self._workspace.scene(name)
        try:
            require_inside(self._workspace, load_scene(path))
        except KeyfluidError as error:
            return without_plan(error)
        with tempfile.TemporaryFile() as output:
            with self._lock:
                self._stop()
                process = self._process = subprocess.Popen(
                    [sys.executable, "-P", "-m", "keyfluid.studio.plans", str(path), str(small), str(measure)],
                    stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.DEVNULL,
                )  # fmt: skip
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            output.seek(0)
            try:
                answer: dict[str, Any] = json.loads(output.read())
            except ValueError:
                return without_plan(KeyfluidError("there is no plan: another one was requested meanwhile"))
            return answer

    def end(self) -> None:
        with self._lock:
            self._stop()

    def _stop(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()


def planned(scene: Scene, measure: bool) -> dict[str, Any]:
    """Lines of the method, megabytes of memory and disk, warnings; seconds only if they are measured."""
    from keyfluid.runs.estimate import estimate
    from keyfluid.runs.expected import expected_seconds
    from keyfluid.runs.run import choose_threads, plan_run
    from keyfluid.scenes.build.problem import build

    problem = build(scene)
    choose_threads(problem, None)
    plan = plan_run(problem)
    seconds = None
    if measure:
        seconds = sum(expected_seconds(problem, plan_run(problem), lambda: False).values())
    expected = estimate(problem, plan, seconds or 0.0)
    return {
        "method": problem.method, "cells": list(problem.grid.cells), "frames": problem.frames,
        "lines": list(plan.lines), "memory_mb": expected.memory / 1e6, "disk_mb": expected.disk / 1e6,
        "seconds": seconds, "warnings": list(problem.warnings), "faults": [],
    }  # fmt: skip


def without_plan(error: KeyfluidError) -> dict[str, Any]:
    """The answer for a scene that can't be planned."""
    faults = faults_of(error) or [{"path": "", "message": str(error)}]
    return {"lines": [], "memory_mb": None, "disk_mb": None, "seconds": None, "warnings": [], "faults": faults}


def _print_plan(path: Path, small: bool, measure: bool) -> None:
    try:
        scene = load_scene(path)
        if small:  # as `keyfluid run --preview`
            scene = preview(scene, max(16, scene.domain.resolution // 2), draft=True)
        answer = planned(scene, measure)
    except KeyfluidError as error:
        answer = without_plan(error)
    print(json.dumps(answer))


if __name__ == "__main__":
    os.nice(5)
    _print_plan(Path(sys.argv[1]), sys.argv[2] == "True", sys.argv[3] == "True")
