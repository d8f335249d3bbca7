"""Changes of a scene that the page is trying out, such as a shape that is being dragged; nothing is saved.

{"path": "keyframe[0].center", "value": [0.5, 0.5]}     set a key
{"path": "keyframe[0].center", "remove": true}          remove a key, or a whole entry
{"path": "keyframe", "insert": {...}, "at": 1}          a new entry, at the end without `at`
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from keyfluid.scenes.schema.overrides import parse_path
from keyfluid.studio.answers import Refused

MOST_CHANGES = 1000


def apply_changes(data: dict[str, Any], changes: Any) -> None:
    """Change the tables of a scene in place; raises for changes that say nothing, or of what is not there."""
    if not isinstance(changes, list) or len(changes) > MOST_CHANGES:
        raise Refused(400, f"changes: give a list of at most {MOST_CHANGES}")
    for change in changes:
        if not isinstance(change, dict) or not isinstance(change.get("path"), str):
            raise Refused(400, "changes: each needs a path")
        steps = parse_path(change["path"])
        if not steps:
            raise Refused(400, "changes: a path is like keyframe[0].center")
        if "insert" in change:
            _insert(data, steps, change["insert"], change.get("at"))
        elif change.get("remove") is True:
            _remove(data, steps)
        elif "value" in change:
            _set(data, steps, change["value"])
        else:
            raise Refused(400, "changes: each needs value, insert or remove")


def _child(node: Any, step: str | int, path: Sequence[str | int]) -> Any:
    """A single table counts as the first of a list, as in `initial = {...}`."""
    if isinstance(node, list) and isinstance(step, int) and step < len(node):
        return node[step]
    if isinstance(node, dict) and step == 0:
        return node
    if isinstance(node, dict) and isinstance(step, str):
        return node.setdefault(step, {})
    raise Refused(422, f"{_words(path)}: is not in the scene")


def _parent(data: dict[str, Any], steps: Sequence[str | int]) -> Any:
    node: Any = data
    for step in steps[:-1]:
        node = _child(node, step, steps)
    return node


def _set(data: dict[str, Any], steps: Sequence[str | int], value: Any) -> None:
    node: Any = _parent(data, steps)
    last = steps[-1]
    present = isinstance(node, list) and isinstance(last, int) and last < len(node)
    if present or (isinstance(node, dict) and isinstance(last, str)):
        node[last] = value
    else:
        raise Refused(422, f"{_words(steps)}: is not in the scene")


def _remove(data: dict[str, Any], steps: Sequence[str | int]) -> None:
    node, last = _parent(data, steps), steps[-1]
    if isinstance(node, dict) and last == 0 and len(steps) > 1:
        _remove(data, steps[:-1])
    elif isinstance(node, dict) and isinstance(last, str):
        node.pop(last, None)
    elif isinstance(node, list) and isinstance(last, int) and last < len(node):
        del node[last]
    else:
        raise Refused(422, f"{_words(steps)}: is not in the scene")


def _insert(data: dict[str, Any], steps: Sequence[str | int], table: Any, at: Any) -> None:
    node, last = _parent(data, steps), steps[-1]
    if not isinstance(node, dict) or not isinstance(last, str) or not isinstance(table, dict):
        raise Refused(422, f"{_words(steps)}: entries are inserted as tables of a list")
    entries = node.get(last, [])
    entries = [entries] if isinstance(entries, dict) else entries
    if not isinstance(entries, list):
        raise Refused(422, f"{_words(steps)}: is not a list of tables")
    index = at if isinstance(at, int) and not isinstance(at, bool) and 0 <= at <= len(entries) else len(entries)
    entries.insert(index, table)
    node[last] = entries


def _words(steps: Sequence[str | int]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).lstrip(".")
