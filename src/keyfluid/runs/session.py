"""A run in progress: the shell that a controller talks to (controllers/interface.py)."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from keyfluid.controllers import controller_for
from keyfluid.controllers.shell import Checkpoint, Stopped
from keyfluid.errors import KeyfluidError
from keyfluid.problem import FrameRecord
from keyfluid.runs import metrics
from keyfluid.runs.folder import RunFolder
from keyfluid.runs.frames import PARTICLES, Frames, FrameStore, MemoryFrames
from keyfluid.runs.memory import peak_memory_mb
from keyfluid.runs.outputs import Outputs
from keyfluid.runs.watch import Watch
from keyfluid.scenes.build.problem import BuiltScene
from keyfluid.scenes.build.report import Told
from keyfluid.threads import threads

_RESULT_INTERVAL = 0.5
_PATIENCE = 1.0
_SHOW_INTERVAL, _SHOW_PATIENCE = 30.0, 9
"""Seconds between previews where nothing else asks for one; how many times its own time one waits for the next."""


@dataclass(frozen=True)
class Progress:
    """How far a run is: `done` of `total` units; seconds_left is None until it can be told."""

    done: int
    total: int
    unit: str
    error: float | None = None
    note: str = ""
    seconds_left: float | None = None


Listener = Callable[[Progress], None]


def after_a_second(listener: Listener | None) -> Told:
    """Tells the listener what `build` draws once it has taken a second; most scenes are drawn before that."""
    began = time.monotonic()

    def told(what: str, number: int, count: int) -> None:
        if listener is not None and time.monotonic() - began > _PATIENCE:
            listener(Progress(number, count, what))

    return told


class Session:
    """Keeps frames, checkpoints and numbers, in a folder or in memory."""

    def __init__(
        self,
        problem: BuiltScene,
        method: str,
        folder: RunFolder | None = None,
        listener: Listener | None = None,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> None:
        self.problem, self.method, self.folder = problem, method, folder
        self._films = controller_for(method)
        self.store: FrameStore = folder.frames if folder is not None else MemoryFrames()
        self.frames = Frames(self.store, problem.grid, list(problem.densities), problem.amount)
        self.restored: Checkpoint | None = None
        self.metas: dict[int, Mapping[str, Any]] = {}
        self.watch: Watch | None = None
        self._listener, self._should_stop = listener, should_stop
        self._logged: list[dict[str, Any]] = []
        self._counts = {"iterations": 0, "evaluations": 0}
        self._seconds_before = 0.0
        self._began = time.perf_counter()
        self._first_progress: tuple[float, int, str] | None = None
        self._result_written = 0.0
        self._shown, self._show_seconds = self._began, 0.0
        self._keyframes: list[dict[str, Any]] = []
        self._others: dict[str, list[dict[str, Any]]] = {}

    # What the controller sees.

    @property
    def stop_requested(self) -> bool:
        return self._should_stop()

    def frame(self, record: FrameRecord) -> None:
        index, state = record.index, record.state
        arrays: dict[str, np.ndarray] = {name: field.data for name, field in state.items()}
        if record.force is not None:
            arrays["force"] = record.force.data
        kept = record.carriers if self.problem.keyframes else ()
        arrays.update({f"carrier.{i}": velocity.data for i, (_, velocity) in enumerate(kept)})
        arrays.update({PARTICLES + name: values for name, values in record.particles.items()})
        densities = {name: self.problem.amount(state[name].array) for name in self.problem.densities}
        volume = self.problem.grid.cell_volume
        for name, field in state.items():
            field.require_finite(f"frame {index}: {name}")
        meta = {
            "index": index,
            "time": index / self.problem.fps,
            "mass": {n: float(np.sum(d, dtype=np.float64)) * volume for n, d in densities.items()},
            "emitted": dict(record.emitted),
            "divergence": metrics.worst_divergence(self.problem, record),
            "numbers": dict(record.numbers),
            "force_square": metrics.mean_square(record.force) if record.force is not None else 0.0,
            "error": metrics.next_error(self.problem, index, densities),
            "step_seconds": [seconds for seconds, _ in record.carriers],
            "carrier_seconds": [seconds for seconds, _ in kept],
            "memory": dict(record.memory),
        }
        self.store.put(index, arrays, meta)
        self.metas[index] = meta
        if self.folder is not None:
            self.folder.has_begun()
        if self.watch is not None:
            self.watch.show(self.frames, index)

    def has_frames(self, last: int) -> bool:
        return all(index in self.metas for index in range(last + 1))

    def checkpoint(
        self,
        arrays: Mapping[str, np.ndarray],
        meta: Mapping[str, Any],
        part: str | None = None,
        keep: Sequence[str] = (),
    ) -> None:
        if self.folder is None:
            return
        shell = {
            "last_frame": max(self.metas, default=-1),
            "logged": self._logged,
            "seconds": self.seconds,
            **self._counts,
        }
        self.folder.checkpoints.save(arrays, meta, shell, part, keep)
        self.folder.has_begun()
        if time.perf_counter() - self._result_written > _RESULT_INTERVAL:
            self.write_result("running")

    def progress(self, done: int, total: int, unit: str = "frame", error: float | None = None, note: str = "") -> None:
        if self._listener is None:
            return
        now = time.perf_counter()
        if self._first_progress is None or self._first_progress[2] != unit:
            self._first_progress = (now, done, unit)
        began, first, _ = self._first_progress
        left = (now - began) / (done - first) * (total - done) if done > first else None
        if error is None and self.metas:
            error = self.metas[max(self.metas)]["error"]
        self._listener(Progress(done, total, unit, error, note, left))

    def control(self, current: Any) -> Any:
        return current if self.watch is None else self.watch.control(current, max(self.metas, default=0) + 1)

    def log(self, **values: float) -> None:
        self._logged.append({name: _plain(value) for name, value in values.items()})

    def show(self, since: float | None = None) -> None:
        """Strip and report of the frames so far; skipped where that would take more than a tenth of the time."""
        began = time.perf_counter() if since is None else since
        if self.folder is None or not self.metas or began - self._shown < _SHOW_PATIENCE * self._show_seconds:
            return
        outputs = Outputs(self.problem, self.frames, self.folder)
        outputs.write_strip()
        outputs.write_report(self.result("running"))
        self._shown = time.perf_counter()
        self._show_seconds = self._shown - began

    @property
    def show_due(self) -> bool:
        wait = max(_SHOW_INTERVAL, _SHOW_PATIENCE * self._show_seconds)
        return self.folder is not None and time.perf_counter() - self._shown > wait

    def note(self, text: str, about: str = "") -> None:
        if about and any(entry.get("about") == about for entry in self._logged):
            return
        self._logged.append({"note": text, **({"about": about} if about else {})})
        self._tell(text)

    def _tell(self, text: str) -> None:
        if self._listener is not None:
            self._listener(Progress(0, 0, "note", note=text))

    def count(self, iterations: int = 0, evaluations: int = 0) -> None:
        self._counts["iterations"] += iterations
        self._counts["evaluations"] += evaluations

    # What the run sees.

    @property
    def seconds(self) -> float:
        """Time spent so far, before an interruption too."""
        return round(self._seconds_before + time.perf_counter() - self._began, 3)

    @property
    def can_go_on(self) -> bool:
        """Whether there is something to resume: a frame, or an optimisation's checkpoint before its first film."""
        return bool(self.metas) or (self.folder is not None and self.folder.checkpoints.exist)

    def is_whole(self) -> bool:
        """Of a run that has ended: are its frames as they were written? If not, and if they can't be filmed again from
        the checkpoint, says so. Its checkpoint may be gone."""
        assert self.folder is not None
        try:
            self._check_frames(self.folder, self.problem.frames)
        except KeyfluidError:
            if not self._films.films_again or not self.folder.checkpoints.exist:
                raise
            return False
        return True

    def restore(self, from_frame: int | None = None) -> None:
        """Go on from the checkpoint, or from a frame: those after it are made again."""
        assert self.folder is not None
        folder, older = self.folder, None
        if from_frame is None:
            found = self._load_checkpoint(folder)
            if found is None:
                self._require_nothing_lost(folder)
                folder.frames.drop_after(-1)
                return
            self.restored, shell, older = found
            last = int(shell["last_frame"])
        else:
            last, shell = from_frame, self._shell_memory()
            self._require_frame(from_frame)
        try:
            self._check_frames(folder, last)
        except KeyfluidError:
            if not self._films.films_again:
                raise
            last = -1
        self._remember(shell)
        if from_frame is not None:
            arrays, meta = folder.frames.arrays(from_frame)
            names = [*self.problem.densities, "velocity"]
            state = {name: arrays[name] for name in names}
            particles = {n.removeprefix(PARTICLES): v for n, v in arrays.items() if n.startswith(PARTICLES)}
            self.restored = Checkpoint({**state, **particles}, {"frame": from_frame, **meta["memory"]})
            self._logged = [entry for entry in self._logged if entry.get("frame", 0) <= from_frame]
        folder.frames.drop_after(last)
        self.metas = {index: folder.frames.meta(index) for index in range(last + 1)}
        if from_frame is not None:
            self.checkpoint(self.restored.arrays, self.restored.meta)  # type: ignore[union-attr]
        if older is not None:
            self._tell(f"{older}; resumed from the checkpoint before it")

    def _load_checkpoint(self, folder: RunFolder) -> tuple[Checkpoint, dict[str, Any], str | None] | None:
        try:
            return folder.load_checkpoint()
        except KeyfluidError as error:
            whole = folder.frames.whole()
            raise KeyfluidError(f"{error}; {self._way_out(whole, 'continues from the last intact frame')}") from None

    def _require_nothing_lost(self, folder: RunFolder) -> None:
        """Without a checkpoint a run begins again; raise where that would give up frames that it could go on from."""
        whole = folder.frames.whole()
        if whole > 1 and self._films.begins_from_frames:
            raise KeyfluidError(
                f"{folder.path}: has {whole + 1} frames but no checkpoint; "
                f"{self._way_out(whole, 'continues from the last intact frame')}"
            )

    def _check_frames(self, folder: RunFolder, last: int) -> None:
        for index in range(last + 1):
            try:
                folder.frames.check(index)
            except KeyfluidError as error:
                raise KeyfluidError(f"{error}; {self._way_out(index - 1, 'recomputes it')}") from None

    def _way_out(self, whole: int, what: str) -> str:
        """Of damage: from the last frame that is whole, where a method can begin from one."""
        assert self.folder is not None
        if whole >= 0 and self._films.begins_from_frames:
            return f"keyfluid resume {self.folder.path} --from {whole} {what}"
        return "run the scene again with --overwrite"

    def _require_frame(self, index: int) -> None:
        found = self.store.indices()
        if index not in found:
            have = f"it has {found[0]} to {found[-1]}" if found else "it has none"
            raise KeyfluidError(f"--from {index}: this run has no such frame ({have})")

    def _shell_memory(self) -> dict[str, Any]:
        """Of the checkpoint, if it can be read: `--from` is also the way out of a damaged one."""
        assert self.folder is not None
        try:
            found = self.folder.checkpoints.load()
        except KeyfluidError:
            found = None
        return found.shell if found is not None else {}

    def _remember(self, shell: Mapping[str, Any]) -> None:
        self._logged = list(shell.get("logged", []))
        self._counts = {name: int(shell.get(name, 0)) for name in self._counts}
        self._seconds_before = float(shell.get("seconds", 0.0))

    def score(self) -> None:
        """The keyframes, with transported_iou, pictures and velocities; once, at the end."""
        last = max(self.metas, default=0)
        self._keyframes = metrics.score_keyframes(self.problem, self.frames, last, carried=True)
        self._others = metrics.score_others(self.problem, self.frames, last)

    def result(self, status: str) -> dict[str, Any]:
        """result.json: the fields that DESIGN.md names; `pictures`, `flows`, `liquid` and `mass_may_change`
        where a scene has them."""
        metas = [self.metas[index] for index in sorted(self.metas)]
        return {
            "method": self.method,
            "status": status,
            "keyframes": self._keyframes,
            **self._others,
            "mass_drift": metrics.mass_drift(metas),
            **({"mass_may_change": keys} if (keys := metrics.mass_may_change(self.problem)) else {}),
            **metrics.fluid_totals(self.problem, metas),
            **self._changes(),
            "max_divergence": max((meta["divergence"] for meta in metas), default=0.0),
            "force_norm": metrics.force_norm(metas),
            **self._counts,
            "seconds": self.seconds,
            "peak_memory_mb": peak_memory_mb(),
            "threads": threads(),
            "history": metrics.frame_history(metas, self._logged),
        }

    def _changes(self) -> dict[str, Any]:
        """What was changed on the way, where `resume --accept-changes` took it."""
        fingerprint = self.folder.fingerprint if self.folder is not None else None
        changes = fingerprint.changes if fingerprint is not None else ()
        return {"accepted_changes": list(changes)} if changes else {}

    def write_result(self, status: str) -> None:
        if self.folder is not None:
            self.folder.write_result(self.result(status))
            self._result_written = time.perf_counter()

    def check_stop(self) -> None:
        if self._should_stop():
            raise Stopped


def _plain(value: Any) -> Any:
    """A number as JSON knows it."""
    return value.item() if isinstance(value, np.generic) else value
