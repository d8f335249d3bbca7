"""Every fault of a scene as one line: its key path, what is wrong, what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from types import UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from keyfluid.errors import SceneError, SceneErrors

MOST_FAULTS = 100
Step = str | int


def raise_any(faults: Sequence[SceneError]) -> None:
    """Raise them all, or as many as anybody reads."""
    if faults:
        raise SceneErrors(faults[:MOST_FAULTS])


def dotted(path: Iterable[Step]) -> str:
    """``keyframe[0].text``."""
    words = ""
    for step in path:
        words += f"[{step}]" if isinstance(step, int) else ("." if words else "") + _plain(step)
    return words


def from_validation(error: ValidationError, data: dict[str, Any], model: type[BaseModel]) -> SceneErrors:
    """The faults that pydantic found in `data`."""
    faults: dict[str, SceneError] = {}
    for detail in error.errors(include_url=False, include_context=True)[:MOST_FAULTS]:
        path = _path_in(data, detail["loc"], detail["type"])
        key = dotted(path)
        faults.setdefault(key, SceneError(key, _message(detail, path, data, model)))
    return SceneErrors(list(faults.values()))


def short(value: Any) -> str:
    """A value in an error, never long."""
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list):
        return f"a list of {len(value)}" if len(value) > 4 or _nested(value) else repr(value)[:60]
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and abs(value) > 10**20:
        return "a huge number"
    return repr(value) if len(str(value)) <= 60 else repr(str(value)[:57]) + "..."


def nearest(word: str, known: Sequence[str]) -> str | None:
    """The known word most like this one, if any is."""
    found = difflib.get_close_matches(word[:80].lower(), [k.lower() for k in known], n=1, cutoff=0.6)
    return next((k for k in known if found and k.lower() == found[0]), None)


def _nested(value: list[Any]) -> bool:
    return any(isinstance(item, list | dict) for item in value)


def _plain(step: str) -> str:
    return step if step.isprintable() and len(step) <= 60 and step else repr(step[:57])


def _message(detail: Any, path: list[Step], data: dict[str, Any], model: type[BaseModel]) -> str:
    kind, value = detail["type"], detail.get("input")
    if kind == "wants":
        return f"{short(value)} is not allowed; give {detail['ctx']['text']}"
    if kind == "extra_forbidden":
        key, known = str(path[-1]), known_keys(model, path[:-1], data)
        return _of_other_methods(key, path[:-1], data, model) or _unknown(key, known, len(path) == 1)
    if kind == "missing":
        return "is missing; add it"
    if kind in ("literal_error", "union_tag_invalid"):
        options = (detail["ctx"].get("expected") or detail["ctx"].get("expected_tags", "")).replace("'", '"')
        chosen = value.get("method") if kind == "union_tag_invalid" and isinstance(value, dict) else value
        guess = (
            nearest(chosen, [word.strip('" ') for word in options.replace(" or ", ",").split(",")])
            if (isinstance(chosen, str))
            else None
        )
        hint = f" (did you mean {guess!r}?)" if guess else ""
        return f"{short(chosen)} is not known{hint}; use {options}"
    if kind == "union_tag_not_found":
        return "is missing; name the method"
    if kind in ("model_type", "model_attributes_type", "dict_type"):
        name = dotted(path) or "the scene"
        return f"{short(value)} is not a table; write [{name}] with its keys below, or {{ key = value }}"
    if kind == "list_type":
        wants_tables = isinstance(value, dict)
        return (
            f"is one table; write [[{dotted(path)}]] with double brackets"
            if wants_tables
            else f"{short(value)} is not a list of tables; write [[{dotted(path)}]]"
        )
    return f"{short(value)} is not allowed; {detail['msg'][:1].lower()}{detail['msg'][1:]}"


def _unknown(key: str, known: list[str], at_top: bool) -> str:
    guess = nearest(key, known)
    if guess is not None:
        return f"unknown key; did you mean {guess!r}?"
    what = "known keys and tables" if at_top else "known keys"
    return f"unknown key; {what}: {', '.join(known)}"


def _of_other_methods(key: str, path: Sequence[Step], data: Any, model: type[BaseModel]) -> str | None:
    """The methods that have a key which the chosen one does not; None if none has."""
    if list(path) != ["control"]:
        return None
    methods = {get_args(one.model_fields["method"].annotation)[0]: one for one in _models_at(model, path)}
    chosen = data["control"].get("method", "none")
    owners = [f'"{name}"' for name, one in methods.items() if key in one.model_fields]
    if not owners:
        return None
    which = f"method {owners[0]}" if len(owners) == 1 else f"the methods {', '.join(owners[:-1])} and {owners[-1]}"
    return f'is a key of {which}, not of "{chosen}"; remove it, or change control.method'


def _path_in(data: Any, loc: Sequence[Any], kind: str) -> list[Step]:
    """pydantic's location without names of union members and invented indices, which the file does not have."""
    path: list[Step] = []
    node = data
    for position, step in enumerate(loc):
        last = position == len(loc) - 1
        if (isinstance(node, dict) and step in node) or (
            isinstance(node, list) and isinstance(step, int) and step < len(node)
        ):
            node = node[step]
        elif not (last and kind == "missing"):
            continue
        path.append(step)
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        path.append("method")
    return path


def known_keys(model: type[BaseModel], path: Sequence[Any], data: Any) -> list[str]:
    """The keys of the table at a path."""
    models = _models_at(model, path)
    node = data
    for step in path:
        node = node[step]
    if isinstance(node, dict) and len(models) > 1:
        chosen = [m for m in models if node.get("method") in get_args(m.model_fields["method"].annotation)]
        models = chosen or models
    return sorted({key for one in models for key in one.model_fields})


def _models_at(model: type[BaseModel], path: Sequence[Any]) -> list[type[BaseModel]]:
    """What may stand at a path."""
    models = [model]
    for step in path:
        if isinstance(step, str):
            models = [
                m for one in models if step in one.model_fields for m in _models_in(one.model_fields[step].annotation)
            ]
    return models


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    if get_origin(annotation) in (list, Union, UnionType) or hasattr(annotation, "__metadata__"):
        return [m for argument in get_args(annotation) for m in _models_in(argument)]
    return []
