"""Changes of a scene as the page sends them, checked, and applied to plain data.

    {"path": "keyframe[0].center", "value": [0.5, 0.5]}      set
    {"path": "keyframe[0].center", "remove": true}           remove a key, or a table of a list
    {"path": "keyframe", "insert": {...}, "at": 0}           a table more, at the end unless `at` is given

A list of tables may be a single table in the file; index 0 is then that table (`smoke.initial[0]`).
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from keyfluid.scenes.schema.faults import Step, dotted
from keyfluid.scenes.schema.overrides import parse_path
from keyfluid.studio.answers import Refused

MOST_CHANGES = 1000
_DEEPEST = 4
_MOST_ITEMS = 10_000


@dataclass(frozen=True)
class Change:
    """One change; `kind` is "set", "remove" or "insert"."""

    steps: tuple[Step, ...]
    kind: str
    value: Any = None
    at: int | None = None

    @property
    def path(self) -> str:
        return dotted(self.steps)


def read_changes(given: Any) -> list[Change]:
    """The changes in a request; raises if they are not what the page sends."""
    if not isinstance(given, list) or len(given) > MOST_CHANGES:
        raise Refused(400, f"changes: give a list of at most {MOST_CHANGES}")
    return [_read(entry) for entry in given]


def _read(entry: Any) -> Change:
    path = entry.get("path") if isinstance(entry, dict) else None
    steps = parse_path(path) if isinstance(path, str) else []
    if not steps:
        raise Refused(400, "changes: each needs the path of a key, such as keyframe[0].center")
    if entry.get("remove") is True:
        return Change(tuple(steps), "remove")
    if "insert" in entry:
        at = entry.get("at")
        whole = isinstance(at, int) and not isinstance(at, bool) and at >= 0
        if not isinstance(entry["insert"], dict) or not (at is None or whole) or isinstance(steps[-1], int):
            raise Refused(400, f"{path}: insert takes a table, and at an index")
        return Change(tuple(steps), "insert", _plain(entry["insert"], str(path)), at)
    if "value" not in entry:
        raise Refused(400, f"{path}: give value, remove or insert")
    return Change(tuple(steps), "set", _plain(entry["value"], str(path)))


def _plain(value: Any, path: str, depth: int = 0) -> Any:
    """A value that TOML can hold."""
    if isinstance(value, dict | list) and (depth >= _DEEPEST or len(value) > _MOST_ITEMS):
        raise Refused(400, f"{path}: is nested too deeply or too long")
    if isinstance(value, dict):
        return {str(key): _plain(item, path, depth + 1) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_plain(item, path, depth + 1) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        raise Refused(400, f"{path}: is not a finite number")
    if isinstance(value, int) and abs(value) >= 2**63:
        raise Refused(400, f"{path}: is too large a number")
    if isinstance(value, str) and any("\ud800" <= sign <= "\udfff" for sign in value):
        raise Refused(400, f"{path}: is not text")
    if not isinstance(value, str | int | float):
        raise Refused(400, f"{path}: TOML has no value for this")
    return value


def changed_data(data: dict[str, Any], changes: Sequence[Change]) -> dict[str, Any]:
    """A copy of a scene's data with the changes made; raises if one of them has no place."""
    result = copy.deepcopy(data)
    for change in changes:
        _apply(result, change)
    return result


def _apply(data: dict[str, Any], change: Change) -> None:
    node: Any = data
    *way, last = change.steps
    if isinstance(last, int) and change.kind == "remove":
        _remove_item(data, change)
        return
    for step in way:
        node = child(node, step, change, make=change.kind != "remove")
    if isinstance(last, int):
        raise Refused(400, f"{change.path}: set the keys inside")
    if not isinstance(node, dict):
        raise no_place(change)
    if change.kind == "set":
        node[last] = copy.deepcopy(change.value)
    elif change.kind == "remove":
        node.pop(last, None)
    else:
        there = node.get(last, [])
        entries = there if isinstance(there, list) else [there]
        entries.insert(len(entries) if change.at is None else change.at, copy.deepcopy(change.value))
        node[last] = entries


def _remove_item(data: dict[str, Any], change: Change) -> None:
    *way, name, index = change.steps
    node: Any = data
    for step in way:
        node = child(node, step, change, make=False)
    there = node.get(name) if isinstance(node, dict) else None
    if isinstance(there, dict) and index == 0:
        there = [there]
    if not isinstance(there, list) or not isinstance(index, int) or index >= len(there):
        raise no_place(change)
    del there[index]
    if not there:
        del node[name]


def child(node: Any, step: Step, change: Change, make: bool) -> Any:
    """One step down; index 0 of a single table is the table itself."""
    if isinstance(step, int):
        if isinstance(node, list) and step < len(node):
            return node[step]
        if isinstance(node, dict) and step == 0:
            return node
        raise no_place(change)
    if not isinstance(node, dict) or (step not in node and not make):
        raise no_place(change)
    return node.setdefault(step, {})


def no_place(change: Change) -> Refused:
    return Refused(422, f"{change.path}: is not in the scene any more")
