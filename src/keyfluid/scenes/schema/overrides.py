"""`--set key=value`: one key of a scene changed from the command line."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from typing import Any

from keyfluid.errors import SceneError
from keyfluid.scenes.schema.faults import Step, dotted, short


def apply_overrides(data: dict[str, Any], overrides: Sequence[str]) -> list[SceneError]:
    """Change `data` in place by ``domain.resolution=64`` or ``keyframe[0].text=Hi``; faults come back.

    The value is TOML where it can be read so, else plain text: quotes are rarely needed.
    """
    faults = []
    for override in overrides:
        key, equals, written = override.partition("=")
        path = parse_path(key.strip())
        if not equals or not path:
            faults.append(SceneError("--set", f"{short(override)} is not key=value, such as domain.resolution=64"))
            continue
        fault = _assign(data, path, parse_value(written.strip()))
        if fault is not None:
            faults.append(fault)
    return faults


def parse_path(key: str) -> list[Step]:
    """``keyframe[0].text`` and ``keyframe.0.text`` as steps; empty if it is neither."""
    if len(key) > 200 or not re.fullmatch(r"[\w-]+(\.[\w-]+|\[\d+\])*", key):
        return []
    words = re.findall(r"[\w-]+", key)
    return [int(word) if re.fullmatch(r"[0-9]{1,6}", word) and i else word for i, word in enumerate(words)]


def parse_value(written: str) -> Any:
    if len(written) > 100_000:
        return written
    try:
        parsed = tomllib.loads(f"value = {written}")
    except (ValueError, RecursionError):
        return written
    return parsed["value"] if len(parsed) == 1 else written


def _assign(data: dict[str, Any], path: list[Step], value: Any) -> SceneError | None:
    node: Any = data
    for position, step in enumerate(path):
        here = dotted(path[: position + 1])
        last = position == len(path) - 1
        if isinstance(node, list):
            if not isinstance(step, int) or step >= len(node):
                return SceneError(here, f"there are {len(node)} of them; name one by its index, from 0")
        elif isinstance(node, dict):
            step = str(step)
        else:
            return SceneError(
                here, f"{dotted(path[:position])} is {short(node)}, not a table; nothing can be set in it"
            )
        if last:
            node[step] = value
        elif isinstance(node, dict):
            node = node.setdefault(step, {})
        else:
            node = node[step]
    return None
