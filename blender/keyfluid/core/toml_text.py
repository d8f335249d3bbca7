# SPDX-License-Identifier: GPL-3.0-or-later
"""A scene as TOML that a person can read: tables, arrays of tables, inline tables."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def toml_text(scene: Mapping[str, Any], comment: str = "") -> str:
    """Plain keys first, then tables; lists of tables as [[name]]."""
    lines = [f"# {line}" for line in comment.splitlines()]
    lines += [f"{key} = {_value(value)}" for key, value in scene.items() if not _is_table(value)]
    for key, value in scene.items():
        if isinstance(value, Mapping):
            lines += _table(key, value)
        elif _is_table(value):
            for entry in value:
                lines += _table(key, entry, many=True)
    return "\n".join(lines) + "\n"


def _is_table(value: Any) -> bool:
    return isinstance(value, Mapping) or (isinstance(value, list) and bool(value) and isinstance(value[0], Mapping))


def _table(name: str, table: Mapping[str, Any], many: bool = False) -> list[str]:
    """A table; lists of tables inside it are tables of their own, except those marked by "path"."""
    inner = {key: value for key, value in table.items() if _is_table(value) and key != "path"}
    lines = ["", f"[[{name}]]" if many else f"[{name}]"]
    lines += [f"{key} = {_value(value)}" for key, value in table.items() if key not in inner]
    for key, value in inner.items():
        entries = value if isinstance(value, list) else [value]
        for entry in entries:
            lines += _table(f"{name}.{key}", entry, many=isinstance(value, list))
    return lines


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        rounded = round(value, 9)
        return repr(rounded) if rounded != 0 else "0.0"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_value(each)}" for key, each in value.items()) + " }"
    if value and isinstance(value[0], Mapping):
        return "[\n" + "".join(f"    {_value(each)},\n" for each in value) + "]"
    return "[" + ", ".join(_value(each) for each in value) + "]"
