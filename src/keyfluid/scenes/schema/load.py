"""From TOML to a checked Scene. Light on imports: `keyfluid --help` passes through here."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from keyfluid.errors import KeyfluidError, SceneError, SceneErrors
from keyfluid.scenes.schema.checks import check
from keyfluid.scenes.schema.faults import dotted, from_validation, raise_any
from keyfluid.scenes.schema.overrides import apply_overrides
from keyfluid.scenes.schema.scene import Scene

MOST_BYTES = 1 << 20
_MOST_KEY_PARTS = 32
_TOO_DEEP = "lists or tables nested too deeply; a scene needs three levels"
_QUOTED = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'')
_KEY_DOT = re.compile(r"[\w-][ \t]*\.")
_NOT_KEY = re.compile(r"[^\w. \t-]+")


def load_scene(source: str | Path, overrides: Sequence[str] = ()) -> Scene:
    """Read and check a scene; raises SceneErrors with every fault found.

    source: a path, or the TOML itself (a str that holds a line break or an equals sign).
    overrides: changes such as ``domain.resolution=64``.
    Files the scene names lie relative to the scene's folder (the working folder for TOML text) and are
    absolute in the result.
    """
    if not isinstance(source, str | Path):
        raise KeyfluidError(f"load_scene: takes a path or TOML text, not {type(source).__name__}; see scene_from")
    if isinstance(source, str) and ("\n" in source or "=" in source):
        return _checked(parse_toml(source, "scene"), Path.cwd(), overrides)
    path = Path(source)
    return _checked(parse_toml(read_scene_text(path), path.name), path.absolute().parent, overrides)


def scene_from(data: Mapping[str, object] | Scene, folder: Path | None = None, overrides: Sequence[str] = ()) -> Scene:
    """A checked scene from dicts and lists, as TOML would give them, or another scene with overrides.

    `npy` may be an array of density, and `initial` one in place of its table: it is saved by its content in the user's
    cache folder (keyfluid.shapes.arrays.store_array), and the scene names that file.
    """
    if not isinstance(data, Mapping | Scene):
        raise KeyfluidError(f"scene_from: takes a dict or a Scene, not {type(data).__name__}; see load_scene")
    try:
        content = _copied(dump_data(data) if isinstance(data, Scene) else data)
    except RecursionError:
        raise SceneErrors([SceneError("scene", _TOO_DEEP)]) from None
    return _checked(content, folder or Path.cwd(), overrides)


def _checked(content: dict[str, Any], folder: Path, overrides: Sequence[str]) -> Scene:
    raise_any(apply_overrides(content, overrides))
    try:
        scene = Scene.model_validate(content, context={"folder": folder})
    except ValidationError as error:
        raise from_validation(error, content, Scene) from None
    raise_any(check(scene))
    return scene


def preview(scene: Scene, resolution: int, draft: bool = False) -> Scene:
    """The same scene on a coarser (or finer) grid, and nothing else changed.

    draft: its film is drawn as a draft too, unless the scene says otherwise
    """
    film = ["output.film=draft"] if draft and scene.output.film is None else []
    return scene_from(dump_data(scene), None, [f"domain.resolution={resolution}", *film])


def dump_data(scene: Scene) -> dict[str, Any]:
    """The scene as dicts and lists: all keys that have a value, defaults included."""
    data = scene.model_dump(mode="python", exclude_none=True)
    return {key: value for key, value in data.items() if value != []}


def schema() -> dict[str, Any]:
    """The JSON schema of scene files."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **Scene.model_json_schema()}


def parse_toml(text: str, name: str) -> dict[str, Any]:
    """TOML to dicts; rejects what is invalid or would take hours to parse."""
    if len(text) > MOST_BYTES:
        raise SceneErrors([SceneError(name, f"longer than {MOST_BYTES >> 20} MiB; a scene has a few kilobytes")])
    for number, line in enumerate(text.splitlines(), 1):
        # tomllib takes quadratic time for a key of many parts.
        if line.count(".") > _MOST_KEY_PARTS and any(
            len(_KEY_DOT.findall(part)) > _MOST_KEY_PARTS for part in _NOT_KEY.split(_QUOTED.sub("q", line))
        ):
            raise SceneErrors([SceneError(name, f"line {number}: a key of more than {_MOST_KEY_PARTS} parts")])
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SceneErrors([SceneError(name, _where(str(error), text))]) from None
    except RecursionError:
        raise SceneErrors([SceneError(name, _TOO_DEEP)]) from None
    except ValueError:
        raise SceneErrors([SceneError(name, "does not parse as TOML: a number or date is out of range")]) from None


def _where(message: str, text: str) -> str:
    """tomllib's "what (at line 3, column 5)" with the place first."""
    found = re.fullmatch(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", message, re.DOTALL)
    if found is None:
        return f"does not parse as TOML: {message}"[:300]
    line = found[2] or str(text.count("\n") + 1)
    column = f", column {found[3]}" if found[3] else ""
    return f"line {line}{column}: does not parse as TOML: {found[1]}; fix that line"[:300]


def read_scene_text(path: Path) -> str:
    """The TOML of a scene file, with plain line breaks."""
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise SceneErrors([SceneError(str(path), "is not text in UTF-8; save it so")]) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SceneErrors([SceneError(str(path), f"can't be read: {reason}; check the path")]) from None


def _copied(node: Any, path: tuple[str | int, ...] = ()) -> Any:
    """Containers copied, so that overrides leave the caller's alone; tuples become lists, arrays lists or files."""
    if isinstance(node, Mapping):
        return {str(key): _copied(value, (*path, str(key))) for key, value in node.items()}
    if isinstance(node, list | tuple):
        return [_copied(value, (*path, i)) for i, value in enumerate(node)]
    if hasattr(node, "__array__") and hasattr(node, "tolist"):
        return _array(node, path)
    return str(node) if isinstance(node, Path) else node


def _array(node: Any, path: tuple[str | int, ...]) -> Any:
    """Density by `npy` or in the place of a start's table becomes a file; other arrays are plain numbers."""
    is_start = path[1:2] == ("initial",) and all(isinstance(step, int) for step in path[2:])
    if not (path and path[-1] == "npy") and not is_start:
        return node.tolist()
    from keyfluid.shapes.arrays import store_array

    try:
        file = str(store_array(node))
    except KeyfluidError as error:
        raise SceneErrors([SceneError(dotted(path), str(error))]) from None
    return {"npy": file} if is_start else file
