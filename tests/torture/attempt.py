"""One input read once: what comes of it, and how small it can be made and still fail."""

from __future__ import annotations

import os
import resource
import signal
import sys
import time
import traceback
from functools import cache
from pathlib import Path
from typing import Any

from torture.memory import status_bytes
from torture.readers import Reader

LONGEST = 20.0
MOST_MEMORY = int(2.5 * 2**30)
_MOST_SPACE = 3 * 2**30
"""Of address space beyond the start, which is more than is in use."""
_TRIES = 150
_SOURCES = f"{os.sep}keyfluid{os.sep}"
_OUTSIDE = ("etc/hostname", "secret")
"""Of the files that mutations name (mutate.HOSTILE) outside of the folder that a file lies in."""
_opened: list[str] = []


class TooLong(BaseException):
    """Raised by the alarm; not an Exception, so that no blanket `except` swallows it."""


def limit_memory() -> None:
    """For the rest of this process."""
    limit = status_bytes("self", "VmSize") + _MOST_SPACE
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def attempt(
    reader: Reader, content: bytes, folder: Path, seen: set[Any] | None = None
) -> tuple[str, dict[str, str] | None]:
    """Read one input within 20 s: "read", "clear line" or "failure", and what failed.

    Lines of keyfluid that it ran go to `seen`."""
    from keyfluid.errors import KeyfluidError, SceneErrors

    folder.mkdir(exist_ok=True)
    _watch_opens()
    _opened.clear()
    kind, fault = "read", None
    began = time.monotonic()
    before = signal.signal(signal.SIGALRM, _alarm)
    signal.setitimer(signal.ITIMER_REAL, LONGEST)
    try:
        if seen is not None:
            sys.settrace(_tracer(seen))
        reader.call(content, folder)
    except KeyfluidError as error:
        kind = "clear line"
        if _has_memory_error(error):
            fault = _fault(error, "hides a MemoryError")
        elif not isinstance(error, SceneErrors) and len(str(error).splitlines()) > 1:
            fault = _fault(error, "says more than one line")
    except BaseException as error:
        fault = _fault(error, "raises")
    finally:
        sys.settrace(None)
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    if fault is None and time.monotonic() - began > LONGEST:
        fault = {"what": f"takes {time.monotonic() - began:.0f} s", "signature": "slow"}
    if fault is None and _opened and not reader.roams:
        fault = {"what": f"opens {_opened[0]}, outside of its folder", "signature": "opens"}
    if fault is not None:
        kind = "failure"
    return kind, fault


def smaller(reader: Reader, content: bytes, signature: str, folder: Path) -> bytes:
    """The same failure from fewer bytes: pieces are left out, large ones first, as long as it stays."""
    began, size = time.monotonic(), max(1, len(content) // 2)
    for _ in range(_TRIES):
        at = 0
        while at < len(content) and time.monotonic() - began < LONGEST / 4:
            shorter = content[:at] + content[at + size :]
            _, fault = attempt(reader, shorter, folder)
            if fault is not None and fault["signature"] == signature:
                content = shorter
            else:
                at += size
        if size == 1 or time.monotonic() - began > LONGEST / 4:
            break
        size //= 2
    return content


def _fault(error: BaseException, how: str) -> dict[str, str]:
    """What, and a signature: the same exception from the same line is the same failure."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if _SOURCES in frame.filename] or frames
    where = f"{Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else "?"
    text = " ".join(str(error).split())[:200]
    return {"what": f"{how} {type(error).__name__} at {where}: {text}", "signature": f"{type(error).__name__} {where}"}


def _has_memory_error(error: BaseException | None) -> bool:
    for _ in range(20):
        if error is None:
            return False
        if isinstance(error, MemoryError):
            return True
        error = error.__cause__ or error.__context__
    return False


def _tracer(seen: set[Any]) -> Any:
    def lines(frame: Any, event: str, argument: Any) -> Any:
        if event == "line":
            seen.add((frame.f_code.co_filename, frame.f_lineno))
        return lines

    def calls(frame: Any, event: str, argument: Any) -> Any:
        return lines if _SOURCES in frame.f_code.co_filename else None

    return calls


def _alarm(number: int, frame: object) -> None:
    raise TooLong(f"not done after {LONGEST:.0f} s")


@cache
def _watch_opens() -> None:
    """Keep what this process opens from now on of the files that no input may lead to."""

    def opened(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(arguments[0], str) and arguments[0].endswith(_OUTSIDE):
            _opened.append(arguments[0])

    sys.addaudithook(opened)
