"""Changes written into the text of a scene; comments, order and layout of everything else stay.

Keys are set and removed by tomlkit. Tables under `[[name]]` are put in and taken out as lines, because tomlkit counts
the comments above the next table to the one before. What comes out is compared with the same changes made to plain
data, so that no layout of a file can lead to a wrong scene.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT, Array, InlineTable, Item, Table

from keyfluid.errors import KeyfluidError
from keyfluid.scenes.schema.faults import dotted
from keyfluid.scenes.schema.load import parse_toml
from keyfluid.studio.answers import Refused
from keyfluid.studio.scene_changes import Change, changed_data, child, no_place
from keyfluid.studio.toml_lines import entries, extent


def changed_text(text: str, changes: Sequence[Change]) -> str:
    """The text with the changes made."""
    try:
        data = parse_toml(text, "scene")
    except KeyfluidError as error:
        raise Refused(422, f"the text does not parse, fix it first: {error}") from None
    for change in changes:
        data = changed_data(data, [change])
        text = _changed(text, change)
        if _read(text) != data:
            raise Refused(422, f"{change.path}: can't be changed from here in this file; change it in the text")
    return text


def _read(text: str) -> Any:
    try:
        return parse_toml(text, "scene")
    except KeyfluidError:
        return None


def _changed(text: str, change: Change) -> str:
    by_lines = {"insert": _put_in, "remove": _take_out}.get(change.kind)
    done = by_lines(text, change) if by_lines is not None else None
    if done is not None:
        return done
    try:
        document = tomlkit.parse(text)
        _by_tomlkit(document, change)
        return tomlkit.dumps(document)
    except (TOMLKitError, KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
        if isinstance(error, Refused):
            raise
        raise Refused(422, f"{change.path}: can't be changed from here in this file; change it in the text") from None


def _put_in(text: str, change: Change) -> str | None:
    """A table more among those under [[name]]; None where the file has them in another form."""
    found, name = entries(text), change.path
    count = sum(entry.header == "[[" and entry.path.rpartition("[")[0] == name for entry in found)
    if not count and any(entry.path == name or entry.path.startswith(f"{name}.") for entry in found):
        return None
    lines = text.split("\n")
    block = tomlkit.dumps(_table(change.value)).strip("\n").split("\n") if change.value else []
    block = [f"[[{name}]]", *block]
    at = count if change.at is None else min(change.at, count)
    if at < count:
        place = extent(found, f"{name}[{at}]")
        assert place is not None
        before = place[0] - 1
        while before > 0 and lines[before - 1].lstrip().startswith("#"):
            before -= 1
        return "\n".join([*lines[:before], *block, "", *lines[before:]])
    parent = dotted(change.steps[:-1])
    place = extent(found, f"{name}[{count - 1}]") if count else extent(found, parent) if parent else None
    if place is None:
        return "\n".join([text.rstrip("\n"), "", *block, ""]).lstrip("\n")
    return "\n".join([*lines[: place[1]], "", *block, *lines[place[1] :]])


def _take_out(text: str, change: Change) -> str | None:
    """Without one of the tables under [[name]], or a whole table; None where the file has it in another form."""
    found = entries(text)
    place = extent(found, change.path)
    if place is None or any(e.path.startswith(f"{change.path}[") and e.header == "[[" for e in found):
        return None
    lines = text.split("\n")
    first, last = place
    parent = dotted(change.steps[:-2] if isinstance(change.steps[-1], int) else change.steps[:-1])
    others = (entry.path for entry in found if not first <= entry.first <= last)
    if parent and not any(path == parent or path.startswith(f"{parent}.") for path in others):
        return "\n".join([*lines[: first - 1], f"[{parent}]", *lines[last:]])  # which nothing else in the text makes
    if last < len(lines) and not lines[last].strip():
        last += 1
    return "\n".join([*lines[: first - 1], *lines[last:]])


def _by_tomlkit(document: Any, change: Change) -> None:
    *way, last = change.steps
    node: Any = document
    if change.kind == "remove" and isinstance(last, int):
        for step in way[:-1]:
            node = child(node, step, change, make=False)
        listed = node[way[-1]]
        if isinstance(listed, list) and len(listed) > 1:
            del listed[last]
        else:
            node.remove(way[-1])
        return
    for step in way:
        if not isinstance(step, int) and step not in node:
            inline = isinstance(node, InlineTable)
            node[step] = tomlkit.inline_table() if inline else tomlkit.table()
        node = child(node, step, change, make=False)
    if change.kind == "set":
        node[last] = _item(change.value)
    elif change.kind == "remove":
        if last in node:
            node.remove(last)
    else:
        _insert(node, str(last), change)


def _insert(node: Any, name: str, change: Change) -> None:
    there = node.get(name)
    if isinstance(there, Array):
        there.insert(len(there) if change.at is None else change.at, _item(change.value))
    elif isinstance(there, InlineTable):
        both = tomlkit.array()
        for item in [_item(change.value), there] if change.at == 0 else [there, _item(change.value)]:
            both.append(item)
        node[name] = both
    elif isinstance(there, Table):
        tables = AoT([there])
        tables.insert(1 if change.at is None else change.at, _table(change.value))
        node.remove(name)
        node.append(name, tables)
    else:
        raise no_place(change)


def _item(value: Any) -> Item:
    """A value on one line, tables included."""
    if isinstance(value, dict):
        inline = tomlkit.inline_table()
        for key, entry in value.items():
            inline.append(key, _item(entry))
        return inline
    if isinstance(value, list):
        array = tomlkit.array()
        for entry in value:
            array.append(_item(entry))
        return array
    return tomlkit.item(value)


def _table(value: dict[str, Any]) -> Table:
    table = tomlkit.table()
    for key, entry in value.items():
        table.append(key, _item(entry))
    return table
