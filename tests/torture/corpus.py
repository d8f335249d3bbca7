"""What once failed, kept in corpus/READER/ and read again: one forked child for each reader, watched like a worker."""

from __future__ import annotations

import gzip
import os
import signal
import time
from pathlib import Path
from typing import Any

from torture.attempt import MOST_MEMORY, attempt, limit_memory
from torture.fuzz import PATIENCE
from torture.memory import status_bytes
from torture.readers import READERS, prepare
from torture.report import Tally

FOLDER = Path(__file__).parent / "corpus"


def torture(count: int, seed: int, out: Path, scratch: Path, scenes: str = "") -> dict[str, Any]:
    """All of it, once."""
    tally = Tally("corpus")
    files = [path for path in sorted(FOLDER.glob("*/*")) if path.parent.name in READERS]
    log = scratch / "log"
    log.touch()
    prepare(scratch / "run")
    while True:
        entries = [line.split("\t") for line in log.read_text().splitlines()]
        begun = [entry[1] for entry in entries if entry[0] == "begin"]
        left = files[len(begun) :]
        if not left:
            break
        death = _replay(left, log, scratch)
        if death:
            with log.open("a") as file:
                file.write(f"failure\t{death}\n")
    name = ""
    for kind, text in entries:
        if kind == "begin":
            name = text
        elif kind == "failure":
            tally.failure(name.split("/")[0], f"{name}: {text}")
        else:
            tally.count(name.split("/")[0], kind)
    return tally.finish(files=len(files), bytes=sum(path.stat().st_size for path in files))


def content_of(path: Path) -> bytes:
    """A kept input; large ones are packed."""
    content = path.read_bytes()
    return gzip.decompress(content) if path.suffix == ".gz" else content


def _replay(files: list[Path], log: Path, scratch: Path) -> str:
    """In a child; says how it died, if it did."""
    pid = os.fork()
    if pid == 0:
        with log.open("a", buffering=1) as file:
            limit_memory()
            for path in files:
                file.write(f"begin\t{path.parent.name}/{path.name}\n")
                kind, fault = attempt(READERS[path.parent.name], content_of(path), scratch / "files")
                file.write(f"{kind}\t{fault['what'] if fault else ''}\n")
        os._exit(0)
    size, since = 0, time.monotonic()
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            return "" if code == 0 else f"ends the process with {code}"
        now = log.stat().st_size
        size, since = (size, since) if now == size else (now, time.monotonic())
        large = status_bytes(pid, "VmRSS") > MOST_MEMORY
        if large or time.monotonic() - since > PATIENCE:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return "takes more than 2.5 GB" if large else "hangs"
        time.sleep(0.01)
