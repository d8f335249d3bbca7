"""What stays of a run: its frames and checkpoints, and the counts and the history that result.json has."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from keyfluid.boundary import Boundary
from keyfluid.controllers.shell import Checkpoint
from keyfluid.io.run.checkpoints import ShellMemory
from keyfluid.io.run.result_file import KeyScore, Result, Status
from keyfluid.io.run.run_folder import RunFolder
from keyfluid.io.run.stored_frame import FrameMeta, StoredFrame
from keyfluid.objectives.match import worst_by_key
from keyfluid.problem import FrameRecord
from keyfluid.problem.kept import Meta
from keyfluid.runs import metrics
from keyfluid.runs.frames import Frames, FrameStore, MemoryFrames
from keyfluid.runs.memory import peak_memory_mb
from keyfluid.runs.outflow import outflow
from keyfluid.runs.restoration import Resumption
from keyfluid.runs.upres import solved_scores
from keyfluid.runs.words import Verdict, verdict
from keyfluid.scenes.build.problem import BuiltScene
from keyfluid.threads import threads

_RESULT_INTERVAL = 0.5


class Recorder:
    """Keeps a run of `problem` in a folder, or its frames in memory. restored: where to go on, None: the start."""

    def __init__(self, problem: BuiltScene, folder: RunFolder | None = None) -> None:
        self.problem, self.folder = problem, folder
        self.store: FrameStore = folder.frames if folder is not None else MemoryFrames()
        self.frames = Frames(self.store, problem)
        self.metas: dict[int, FrameMeta] = {}
        self.errors: dict[str, float] = {}
        """How far the last frame is from each keyframe that comes next, by key path."""
        self.restored: Checkpoint | None = None
        self._logged: list[dict[str, Any]] = []
        self._iterations = self._evaluations = 0
        self._seconds_before, self._began = 0.0, time.perf_counter()
        self._result_written = 0.0
        self._keyframes: list[dict[str, Any]] = []
        self._others: dict[str, list[dict[str, Any]]] = {}
        self._solved: list[KeyScore] = []
        self._verdict = Verdict(None, [])

    def frame(self, record: FrameRecord) -> None:
        index, state = record.index, record.state
        grid = self.problem.grid
        values = {name: state[name].array for name in self.problem.densities}
        densities = self.problem.amounts(values, index / self.problem.fps)
        for name, field in state.items():
            field.require_finite(f"frame {index}: {name}")
        seconds = [seconds for seconds, _ in record.carriers]
        ahead = metrics.next_errors(self.problem, index, densities)
        self.errors = worst_by_key(ahead)
        meta: FrameMeta = {
            "index": index,
            "time": index / self.problem.fps,
            "mass": {n: float(np.sum(d, dtype=np.float64)) * grid.cell_volume for n, d in densities.items()},
            "emitted": dict(record.emitted),
            "divergence": metrics.worst_divergence(self.problem, record),
            "numbers": dict(record.numbers),
            "force_square": metrics.mean_square(record.force) if record.force is not None else 0.0,
            "error": float(np.mean([error for _, error in ahead])) if ahead else None,
            "step_seconds": seconds,
            "carrier_seconds": seconds if self.problem.keeps_carriers else [],
            "memory": dict(record.memory),
        }
        left = self._left(record, densities)
        if left is not None:
            meta["left"] = left
        self.store.put(StoredFrame.of(record, meta))
        self.metas[index] = meta
        if self.folder is not None:
            self.folder.has_begun()

    def _left(self, record: FrameRecord, densities: Mapping[str, np.ndarray]) -> dict[str, float] | None:
        """What left through open sides since the frame before, if there are some."""
        grid = self.problem.grid
        if Boundary.OPEN not in grid.boundary or not record.carriers or record.index - 1 not in self.metas:
            return None
        earlier = record.index - 1
        before = self.problem.amounts(self.frames.fields(earlier), earlier / self.problem.fps)
        return outflow(grid, before, densities, record.carriers)

    def has_frames(self, last: int) -> bool:
        return all(index in self.metas for index in range(last + 1))

    @property
    def last_frame(self) -> int:
        """-1 before the first."""
        return max(self.metas, default=-1)

    def checkpoint(
        self,
        arrays: Mapping[str, np.ndarray],
        meta: Meta,
        part: str | None = None,
        keep: Sequence[str] = (),
    ) -> None:
        if self.folder is None:
            return
        memory: ShellMemory = {
            "last_frame": self.last_frame,
            "logged": self._logged,
            "seconds": self.seconds,
            "iterations": self._iterations,
            "evaluations": self._evaluations,
        }
        self.folder.checkpoints.save(arrays, meta, memory, part, keep)
        self.folder.has_begun()
        if time.perf_counter() - self._result_written > _RESULT_INTERVAL:
            self.write_result("running")

    def log(self, **values: float) -> None:
        self._logged.append({name: _plain(value) for name, value in values.items()})

    def note(self, text: str, about: str = "") -> bool:
        """False where there is a note about that already."""
        if about and any(entry.get("about") == about for entry in self._logged):
            return False
        self._logged.append({"note": text, **({"about": about} if about else {})})
        return True

    def count(self, iterations: int = 0, evaluations: int = 0) -> None:
        self._iterations += iterations
        self._evaluations += evaluations

    @property
    def seconds(self) -> float:
        """Time spent so far, before an interruption too."""
        return round(self._seconds_before + time.perf_counter() - self._began, 3)

    @property
    def can_go_on(self) -> bool:
        """Whether there is something to resume: a frame, or an optimisation's checkpoint before its first film."""
        return bool(self.metas) or (self.folder is not None and self.folder.checkpoints.exist)

    def go_on(self, found: Resumption | None) -> None:
        """Continue the run in the folder; frames that are made again are dropped."""
        assert self.folder is not None
        frames = self.folder.frames
        if found is None:
            frames.drop_after(-1)
            return
        self.restored, memory = found.checkpoint, found.memory
        self._logged = list(memory.get("logged", []))
        self._iterations, self._evaluations = memory.get("iterations", 0), memory.get("evaluations", 0)
        self._seconds_before = memory.get("seconds", 0.0)
        frames.drop_after(found.last)
        self.metas = {index: frames.meta(index) for index in range(found.last + 1)}
        if found.from_frame is not None:
            self._logged = [entry for entry in self._logged if entry.get("frame", 0) <= found.from_frame]
            self.checkpoint(found.checkpoint.arrays, found.checkpoint.meta)

    def score(self) -> None:
        """The keyframes, with transported_iou, pictures and velocities, and the run in words; once, at the end."""
        last = max(self.metas, default=0)
        self._keyframes = metrics.score_keyframes(self.problem, self.frames, last)
        self._others = metrics.score_others(self.problem, self.frames, last)
        self._solved = solved_scores(self.problem)
        metas = [self.metas[index] for index in sorted(self.metas)]
        self._verdict = verdict(
            self.problem,
            cast(list[KeyScore], self._keyframes),
            lambda key: self.frames[key.frame].densities[key.field],
            metrics.mass_drift(metas),
            metrics.mass_left(metas).get("mass_left", 0.0),
            self._logged,
        )

    def result(self, status: Status) -> Result:
        """result.json: the fields that DESIGN.md names; `pictures`, `flows`, `liquid` and `mass_may_change`
        where a scene has them; `solved`: the keyframes of the run that a finer film follows."""
        metas = [self.metas[index] for index in sorted(self.metas)]
        result = {
            "method": self.problem.method,
            "status": status,
            **({"met": self._verdict.met, "words": self._verdict.words} if self._verdict.words else {}),
            "keyframes": self._keyframes,
            **({"solved": self._solved} if self._solved else {}),
            **self._others,
            "mass_drift": metrics.mass_drift(metas),
            **metrics.mass_left(metas),
            **({"mass_may_change": keys} if (keys := metrics.mass_may_change(self.problem)) else {}),
            **metrics.fluid_totals(self.problem, metas),
            **self._changes(),
            "max_divergence": max((meta["divergence"] for meta in metas), default=0.0),
            "force_norm": metrics.force_norm(metas),
            "iterations": self._iterations,
            "evaluations": self._evaluations,
            "seconds": self.seconds,
            "peak_memory_mb": peak_memory_mb(),
            "threads": threads(),
            "history": metrics.frame_history(metas, self._logged),
        }
        return cast(Result, _plain(result))

    def _changes(self) -> dict[str, list[str]]:
        """What was changed on the way, where `resume --accept-changes` took it."""
        fingerprint = self.folder.fingerprint if self.folder is not None else None
        changes = fingerprint.changes if fingerprint is not None else ()
        return {"accepted_changes": list(changes)} if changes else {}

    def write_result(self, status: Status) -> None:
        if self.folder is not None:
            self.write(self.result(status))

    def write(self, result: Result) -> None:
        """result.json, where the run has a folder."""
        if self.folder is not None:
            self.folder.write_result(result)
            self._result_written = time.perf_counter()


def _plain(value: Any) -> Any:
    """Numbers as JSON knows them, in dicts and lists too."""
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    return value.item() if isinstance(value, np.generic) else value
