"""The queue: jobs in their order, some of them running (one, unless `--jobs` says more), each in a process of its own.

A thread follows the running ones and publishes what they print; it starts the next when one has ended. Nothing here
ends a running job when the server ends: `open` finds it again, by the lock on its folder (job_record.py).
"""

from __future__ import annotations

import os
import shutil
import time
from contextlib import suppress
from pathlib import Path
from threading import Event, RLock, Thread
from typing import Any

from keyfluid.errors import KeyfluidError
from keyfluid.io.run.owned import OwnedFolder
from keyfluid.io.run.record import Record
from keyfluid.studio.answers import Refused
from keyfluid.studio.events import Events
from keyfluid.studio.job_course import events_after
from keyfluid.studio.job_followed import ACTIVE, FollowedJob
from keyfluid.studio.job_record import JobRecord
from keyfluid.studio.job_request import JobRequest
from keyfluid.studio.workspace import OURS, RUNS, Workspace

MOST_QUEUED, MOST_ENDED = 100, 50
_JOBS = "jobs"
_BEAT = 0.2


class Jobs:
    """All jobs of a workspace, oldest first; at_once: how many may run."""

    def __init__(self, workspace: Workspace, events: Events, at_once: int = 1) -> None:
        self.workspace, self.at_once, self._events = workspace, at_once, events
        self._jobs: dict[str, FollowedJob] = {}
        self._lock, self._wake, self._ending = RLock(), Event(), False
        self._thread: Thread | None = None
        self._folder: OwnedFolder | None = None
        self._last_id = 0

    @property
    def folder(self) -> Path:
        return self.workspace.root / OURS / _JOBS

    def open(self) -> None:
        """Find the jobs that are there; raises if another studio looks after this workspace."""
        if self._folder is not None:
            return
        if self.folder.resolve() != self.folder:
            raise KeyfluidError(f"{self.folder}: is a link; the studio needs a folder there")
        self.folder.mkdir(parents=True, exist_ok=True)
        owned = OwnedFolder(self.folder, Record(self.folder, {}, {}))
        try:
            owned.lock()
        except KeyfluidError:
            name = self.workspace.root
            raise KeyfluidError(f"{name}: another keyfluid studio serves it; use that one, or end it") from None
        self._folder = owned
        for place in sorted(self.folder.iterdir()):
            record = JobRecord.read(place) if place.is_dir() and not place.is_symlink() else None
            if record is not None:
                self._jobs[record.id] = FollowedJob(place, record, self._events)
                self._last_id = max(self._last_id, int(record.id) if record.id.isdecimal() else 0)

    def start(self) -> None:
        """Follow and start jobs from now on."""
        self.open()
        self._thread = Thread(target=self._run, name="jobs", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """No thread is left; jobs that run go on."""
        self._ending = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join(10)
        if self._folder is not None:
            self._folder.unlock()

    def all(self) -> list[dict[str, Any]]:
        with self._lock:
            return [job.public() for job in self._jobs.values()]

    def add(self, request: JobRequest) -> dict[str, Any]:
        """Queue what was asked for; raises the faults of its scene."""
        with self._lock:
            if sum(job.state == "queued" for job in self._jobs.values()) >= MOST_QUEUED:
                raise Refused(429, f"{MOST_QUEUED} jobs are waiting; remove some of them first")
            if request.run is not None and self.is_writing(request.run):
                raise Refused(409, f"{request.run}: is being computed, or will be")
            run = request.run if request.run is not None else self._free(request.name)
            self._last_id = max(self._last_id + 1, time.time_ns() // 1000)
            record = JobRecord(
                str(self._last_id), request.kind, request.scene or self._scene_of(run), run, time.time(), request.set,
                request.wedge,
            )  # fmt: skip
            place = self.folder / record.id
            place.mkdir()
            record.write(place)
            job = self._jobs[record.id] = FollowedJob(place, record, self._events)
            self._prune()
            job.publish()
            self._wake.set()
            return job.public()

    def stop(self, identity: str) -> dict[str, Any]:
        """Ask a running job to save and stop, a second time to end at once; a queued one never starts."""
        with self._lock:
            job = self._found(identity)
            job.stop()
            self._wake.set()
            return job.public()

    def remove(self, identity: str) -> None:
        """Forget a job that is queued or has ended; its run stays."""
        with self._lock:
            job = self._found(identity)
            if job.state in ACTIVE:
                raise Refused(409, f"{job.record.run}: is running; stop it first")
            self._forget(job)

    def progress(self, identity: str, line: int, most: int) -> list[dict[str, Any]]:
        """What a job has printed, from a line on."""
        with self._lock:
            folder = self._found(identity).folder
        return events_after(folder, line, most)

    def is_writing(self, run: str) -> bool:
        """Whether a job writes to a run's folder, or to one inside or around it, or will when its turn comes."""
        with self._lock:
            taken = [job.record.run for job in self._jobs.values() if job.state in (*ACTIVE, "queued")]
        return any(f"{run}/".startswith(f"{one}/") or f"{one}/".startswith(f"{run}/") for one in taken)

    def _found(self, identity: str) -> FollowedJob:
        if identity not in self._jobs:
            raise Refused(404, "this job is not there any more")
        return self._jobs[identity]

    def _scene_of(self, run: str) -> str | None:
        """The scene that a run was started from, as far as its job is known."""
        return next((job.record.scene for job in self._jobs.values() if job.record.run == run), None)

    def _free(self, name: str) -> str:
        """A folder in runs/ that is neither there nor waited for."""
        for number in range(1, MOST_QUEUED + 2):
            path = self.workspace.free(RUNS, name if number == 1 else f"{name}-{number}")
            if not self.is_writing(self.workspace.name_of(path)):
                break
        return self.workspace.name_of(path)

    def _run(self) -> None:
        while not self._ending:
            with self._lock:
                self._beat()
                busy = any(job.state in ACTIVE for job in self._jobs.values())
            self._wake.wait(_BEAT if busy else None)
            self._wake.clear()

    def _beat(self) -> None:
        for job in self._jobs.values():
            if job.state in ACTIVE:
                with suppress(KeyfluidError, OSError):  # a disk that is full now: looked at again at the next beat
                    job.follow()
        for job in self._jobs.values():
            if sum(one.state in ACTIVE for one in self._jobs.values()) >= self.at_once:
                return
            if job.state == "queued":
                job.launch(self.workspace)

    def _prune(self) -> None:
        ended = [job for job in self._jobs.values() if job.state not in (*ACTIVE, "queued")]
        for job in ended[: max(0, len(ended) - MOST_ENDED)]:
            self._forget(job)

    def _forget(self, job: FollowedJob) -> None:
        del self._jobs[job.record.id]
        shutil.rmtree(job.folder, ignore_errors=True)
        if os.path.lexists(job.folder):
            raise Refused(507, "the job's folder can't be removed; check permissions")
        self._events.publish("job", job={"id": job.record.id, "state": "removed", "run": job.record.run})
