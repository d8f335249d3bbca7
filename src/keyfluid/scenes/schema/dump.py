"""A scene as TOML, complete enough to run it again (the standard library only reads TOML)."""

from __future__ import annotations

import json
from typing import Any

from keyfluid.scenes.schema.load import dump_data
from keyfluid.scenes.schema.scene import Scene


def dump_scene(scene: Scene) -> str:
    """All keys with a value, defaults too, files by absolute path: load_scene gives the same scene back."""
    data = dump_data(scene)
    lines = [f"{key} = {_value(value)}" for key, value in data.items() if not _is_section(value)]
    for key, value in data.items():
        if isinstance(value, dict):
            lines += _section(f"[{key}]", key, value)
        elif _is_section(value):
            for entry in value:
                lines += _section(f"[[{key}]]", key, entry)
    return "\n".join(lines) + "\n"


def _section(header: str, path: str, table: dict[str, Any]) -> list[str]:
    lines = ["", header]
    lines += [f"{key} = {_value(value)}" for key, value in table.items() if not _tables(value)]
    for key, value in table.items():
        if _tables(value):
            for entry in value:
                lines += _section(f"[[{path}.{key}]]", f"{path}.{key}", entry)
    return lines


def _is_section(value: Any) -> bool:
    return isinstance(value, dict) or _tables(value)


def _tables(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 0 and isinstance(value[0], dict)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # JSON's strings are TOML's, but for the delete character.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list):
        return "[" + ", ".join(_value(item) for item in value) + "]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_value(item)}" for key, item in value.items()) + " }"
    return repr(value)
