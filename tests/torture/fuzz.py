"""Mutated files for every reader: nothing but our own errors, no crash, no hang, no flood of memory.

Workers are forked, each with its own share of batches; a batch is one reader and a few hundred inputs, and what is in
it depends on the seed alone. A worker says in shared memory which input it reads, so that a crash, or a hang that no
signal ends, is pinned to its input, which lies on disk. Every eighth input is traced: one that reaches lines of
keyfluid that its batch has not seen is mutated further.

A failure is: another exception than KeyfluidError, one of several lines, a MemoryError inside (the limit of address
space is 3 GB beyond the start), more than 2.5 GB in use, more than 20 s, a signal.
"""

from __future__ import annotations

import gc
import json
import mmap
import os
import random
import resource
import signal
import struct
import sys
import time
import traceback
import warnings
from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import Any

from torture.attempt import MOST_MEMORY, attempt, limit_memory, smaller
from torture.memory import status_bytes
from torture.readers import READERS, Reader, prepare
from torture.report import Tally

PATIENCE = 27.0
"""Seconds until the parent kills a worker that no signal has interrupted."""
BATCH = 400
_TRACE_EVERY = 8
_POOL = 64
_FULL = 77
"""Exit code of a worker that has grown too large and wants to be replaced."""


def torture(count: int, seed: int, out: Path, scratch: Path, names: str = "", workers: int = 2) -> dict[str, Any]:
    """`count` inputs over the readers by weight, or over those named."""
    chosen = [READERS[name] for name in names.split(",") if name] or list(READERS.values())
    total = sum(reader.weight for reader in chosen)
    shares = {reader.name: round(count * reader.weight / total) for reader in chosen}
    batches = [
        (name, first, min(first + BATCH, share)) for name, share in shares.items() for first in range(0, share, BATCH)
    ]
    random.Random(seed).shuffle(batches)
    prepare(scratch / "run")
    tally = Tally("fuzz")
    crew = [Worker(batches[place::workers], seed, scratch / f"worker-{place}") for place in range(workers)]
    while any([worker.look() for worker in crew]):
        time.sleep(0.05)
    for worker in crew:
        worker.gather(tally, out)
    return tally.finish(inputs=sum(shares.values()), seed=seed, workers=workers)


class Worker:
    """A forked process that reads its batches, and is forked anew when it dies."""

    def __init__(self, batches: list[tuple[str, int, int]], seed: int, folder: Path) -> None:
        self._batches, self._seed, self._folder = batches, seed, folder
        folder.mkdir(parents=True)
        self._shared = mmap.mmap(-1, 24)
        self._deaths: list[dict[str, Any]] = []
        self._known: set[str] = set()
        self._pid: int | None = None
        self._fork(0, 0)

    def _fork(self, batch: int, index: int) -> None:
        self._shared[:24] = struct.pack("qqd", batch, index, time.monotonic())
        if batch >= len(self._batches):
            self._pid = None
            return
        sys.stdout.flush()
        self._pid = os.fork()
        if self._pid == 0:
            self._be(batch, index)

    def look(self) -> bool:
        """Whether it still works; deaths are noted, and the input after the fatal one is next."""
        if self._pid is None:
            return False
        batch, index, since = struct.unpack("qqd", self._shared[:24])
        slow = time.monotonic() - since > PATIENCE
        large = status_bytes(self._pid, "VmRSS") > MOST_MEMORY
        if slow or large:
            os.kill(self._pid, signal.SIGKILL)
        pid, status = os.waitpid(self._pid, 0 if slow or large else os.WNOHANG)
        if pid == 0:
            return True
        code = os.waitstatus_to_exitcode(status)
        batch, index, _ = struct.unpack("qqd", self._shared[:24])
        if code == 0:
            self._pid = None
            return False
        if code != _FULL:
            what = "hangs" if slow else "takes more than 2.5 GB" if large else f"ends the process with {code}"
            kept = (self._folder / "input").read_bytes()
            self._deaths.append({"reader": self._batches[batch][0], "what": what, "input": index, "content": kept})
        self._fork(*((batch, index + 1) if index + 1 < self._batches[batch][2] else (batch + 1, -1)))
        return self._pid is not None

    def _be(self, batch: int, index: int) -> None:
        """In the child: never returns."""
        try:
            log = (self._folder / "log").open("a")
            said = (self._folder / "said").open("a")
            os.dup2(said.fileno(), 2)  # libraries in C print there too
            warnings.simplefilter("ignore")
            begun = False
            for number in range(batch, len(self._batches)):
                name, first, last = self._batches[number]
                reader = READERS[name]
                _ = reader.seeds
                if not begun:
                    begun = True
                    limit_memory()
                start = index if number == batch and index > first else first
                for line in self._batch(reader, number, start, last):
                    log.write(json.dumps(line) + "\n")
                log.flush()
                gc.collect()  # matplotlib leaves the file of a broken font open until then
            os._exit(0)
        except BaseException:
            traceback.print_exc(file=sys.stdout)
            sys.stdout.flush()
            os._exit(70)

    def _batch(self, reader: Reader, number: int, first: int, last: int) -> Any:
        """Read inputs first to last; yields failures, and at last the counts."""
        pool, seen, found = list(reader.seeds), set[Any](), Counter[str]()
        place = self._folder / "files"
        for index in range(first, last):
            chance = random.Random(f"{self._seed}/{reader.name}/{index}")
            content = reader.mutation(chance, chance.choice(pool), reader.seeds)
            (self._folder / "input").write_bytes(content)
            self._shared[:24] = struct.pack("qqd", number, index, time.monotonic())
            traced = index % _TRACE_EVERY == 0
            known = len(seen)
            kind, fault = attempt(reader, content, place, seen if traced else None)
            found[kind] += 1
            if len(seen) > known and len(pool) < _POOL + len(reader.seeds):
                pool.append(content)
            if fault is not None:
                if fault["signature"] not in self._known:
                    self._known.add(fault["signature"])
                    content = smaller(reader, content, fault["signature"], place)
                yield {"failure": {**fault, "reader": reader.name, "input": index, "hex": content.hex()}}
            if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10 > MOST_MEMORY:
                yield {"reader": reader.name, "counts": found}
                os._exit(_FULL) if fault is None else None
        yield {"reader": reader.name, "counts": found}

    def gather(self, tally: Tally, out: Path) -> None:
        """Counts and failures of its log into the tally; each kind of failure is kept as a file, once."""
        lines = (self._folder / "log").read_text().splitlines() if (self._folder / "log").exists() else []
        entries = [json.loads(line) for line in lines]
        for entry in entries:
            if "counts" in entry:
                for kind, times in entry["counts"].items():
                    if kind in ("read", "clear line") and times:
                        tally.count(entry["reader"], kind, times=times)
        for death in self._deaths:
            path = keep(out, death["reader"], death["content"])
            tally.failure(death["reader"], death["what"], input=death["input"], signature=death["what"], kept=path)
        known = {(fault["where"], fault.get("signature")) for fault in tally.failures}
        for fault in (entry["failure"] for entry in entries if "failure" in entry):
            if (fault["reader"], fault["signature"]) in known:
                tally.rows[fault["reader"]]["failure"] += 1
                continue
            known.add((fault["reader"], fault["signature"]))
            path = keep(out, fault["reader"], bytes.fromhex(fault["hex"]))
            more = {"input": fault["input"], "signature": fault["signature"], "kept": path}
            tally.failure(fault["reader"], fault["what"], **more)


def keep(out: Path, reader: str, content: bytes) -> str:
    """A failing input as a file; copied into the corpus by hand once it is understood."""
    path = out / "finds" / reader / (sha256(content).hexdigest()[:10] + READERS[reader].suffix)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return str(path)
