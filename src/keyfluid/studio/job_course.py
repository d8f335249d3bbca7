"""What a job has printed so far: its events, numbered by their line in events.jsonl, and what they amount to."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from keyfluid.studio.job_record import ERRORS, EVENTS

_PIECE = 1 << 20
_MOST_NOTES = 50
_OF_RESULT = ("event", "status", "met", "words", "keyframes", "seconds", "folder")
_OF_LAST = ("unit", "done", "total", "seconds_left", "error", "errors", "note")


class Course:
    """Follows events.jsonl. Only whole lines count: a process that is killed may leave half of one."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._offset = folder, 0
        self.lines = 0
        self.last: dict[str, Any] | None = None
        self.estimate: dict[str, Any] | None = None
        self.plan: dict[str, Any] | None = None
        self.variant: dict[str, Any] | None = None
        self.result: dict[str, Any] | None = None
        self.notes: list[str] = []
        self.message, self.faults = "", list[dict[str, str]]()

    def read(self) -> Iterator[dict[str, Any]]:
        """Events that are new, each with its `line`."""
        while True:
            try:
                with (self._folder / EVENTS).open("rb") as file:
                    file.seek(self._offset)
                    piece = file.read(_PIECE)
                    if piece and b"\n" not in piece:
                        piece += file.readline()  # a result has a long history
            except FileNotFoundError:
                return
            whole = piece[: piece.rfind(b"\n") + 1]
            if not whole:
                return
            self._offset += len(whole)
            for text in whole.splitlines():
                number, self.lines = self.lines, self.lines + 1
                event = _event(text, number)
                if event is not None:
                    self._take(event)
                    yield event

    def _take(self, event: dict[str, Any]) -> None:
        match event.get("event"):
            case "progress" if event.get("unit") == "note":
                self._note(event.get("note"))
            case "progress":
                self.last = {key: event.get(key) for key in _OF_LAST}
            case "estimate":
                self.estimate = event
            case "plan":
                self.plan = event
            case "variant":
                self.variant = event
            case "result":
                self.result = event
            case "warning" | "compiling":
                self._note(event.get("message"))
            case "error":
                self.message, self.faults = str(event.get("message", "")), list(event.get("faults", []))

    def _note(self, text: object) -> None:
        self.notes = [*self.notes, str(text)][-_MOST_NOTES:]

    def last_words(self) -> str:
        """What the run wrote to stderr in our own words; never a traceback."""
        try:
            with (self._folder / ERRORS).open("rb") as file:
                text = file.read(_PIECE).decode(errors="replace")
        except OSError:
            return ""
        lines = [line.removeprefix("keyfluid: ") for line in text.splitlines() if line.startswith("keyfluid: ")]
        return "\n".join(lines[-5:])


def events_after(folder: Path, line: int, most: int) -> list[dict[str, Any]]:
    """Events of a job from a line on; those that can't be read are left out."""
    course = Course(folder)
    return list(islice((event for event in course.read() if event["line"] >= line), most))


def _event(text: bytes, line: int) -> dict[str, Any] | None:
    try:
        event = json.loads(text, parse_constant=lambda word: None)
    except (ValueError, RecursionError):
        return None
    if not isinstance(event, dict):
        return None
    if event.get("event") == "result":
        event = {key: event[key] for key in _OF_RESULT if key in event}
    return {**event, "line": line}
