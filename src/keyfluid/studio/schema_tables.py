"""The inspector's tables, made from the JSON schema of scenes: every key with type, unit, default and help."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from keyfluid.scenes import schema
from keyfluid.scenes.schema.bodies import KIND_KEYS, SHAPE_KEYS
from keyfluid.studio.scene_check import FILE_KEYS

_TABLES: dict[str, tuple[str, str, str]] = {
    "": ("Scene", "", "name seed"),
    "domain": ("Domain", "Domain", "size resolution boundary"),
    "time": ("Time", "Time", "frames fps steps_per_frame"),
    "smoke": ("Smoke", "SmokeTable", "buoyancy vorticity"),
    "liquid": ("Liquid", "LiquidTable", "gravity viscosity"),
    "smoke.initial": ("Start", "Initial", "center radius size fit rotation density mass velocity"),
    "liquid.initial": ("Start", "LiquidInitial", "center radius size fit rotation velocity"),
    "smoke.field": ("Kind of smoke", "SmokeField", "name colour"),
    "source": ("Source", "Source", "center radius size fit rotation start stop density rate velocity"),
    "obstacle": ("Obstacle", "Obstacle", "center radius size fit rotation velocity spin"),
    "keyframe": ("Keyframe", "KeyframeEntry", "frame until hold center radius size fit rotation mass weight"),
    "mask": ("Mask", "Mask", "outside center radius size fit rotation"),
    "wind": ("Wind", "WindEntry", "velocity start stop gust"),
    "picture": ("Picture", "PictureEntry", "frame image view weight"),
    "flow": ("Velocity to reach", "FlowEntry", "frame velocity weight"),
    "edit": ("Edit of a run", "Edit", "run first last"),
    "upres": ("Finer film of the run", "Upres", "factor turbulence polish"),
    "control": ("Control", "", "method preset strength damping gathering smoothing markers turbulence iterations "
                "alpha basis r K vortex_strength vortices release"),
    "simulation": ("Engine", "Simulation", "interpolation precision"),
    "camera": ("Camera", "Camera", "position look_at orbit floor"),
    "light": ("Light", "Light", "direction strength"),
    "output": ("Output", "Output", "video vdb size"),
}  # fmt: skip
"""Title, model and main keys of each table; the keys themselves are the schema's."""

_LISTS = ("smoke.initial", "liquid.initial", "smoke.field", "source", "obstacle", "keyframe", "wind", "picture", "flow")

_UNIT = re.compile(
    r"frames per second|degrees per second|m\^2/s\^2|m/s\^2|m\^2/s|m/s|1/s|1/m|(?<!per )kelvin|degrees|metres|\bMB\b|"
    r"pixels|^cells along the longest side|seconds"
)
_SHOWN = {"frames per second": "1/s", "degrees per second": "°/s", "degrees": "°", "metres": "m", "kelvin": "K",
          "pixels": "px", "cells along the longest side": "cells", "seconds": "s"}  # fmt: skip
_FRAMES = {"frames", "frame", "until", "hold", "stop", "first", "last", "start", "run_frame", "ramp", "horizon", "span"}


@cache
def inspector_tables() -> dict[str, Any]:
    """The answer of /api/schema; `kinds` and `shapes` name the keys that go with one kind of body or shape alone."""
    whole = schema()
    models = whole["$defs"]
    tables = []
    for name, (title, model, main) in _TABLES.items():
        properties = _control(whole) if name == "control" else models[model]["properties"] if model else {
            key: whole["properties"][key] for key in main.split()
        }  # fmt: skip
        text = whole["properties"]["control"]["description"] if name == "control" else (
            models[model].get("description", "") if model else ""
        )  # fmt: skip
        keys = [_key(name, key, entry, main.split()) for key, entry in properties.items() if not _is_table(entry)]
        keys.sort(key=lambda key: main.split().index(key["key"]) if key["main"] else 1000)
        tables.append({"name": name, "title": title, "text": text, "list": name in _LISTS, "keys": keys})
    kinds = {kind: list(keys) for kind, keys in KIND_KEYS.items()}
    return {"tables": tables, "kinds": kinds, "shapes": {name: list(keys) for name, keys in SHAPE_KEYS.items()}}


def _control(whole: dict[str, Any]) -> dict[str, Any]:
    """All methods' keys together; `methods` says whose a key is, with what differs between them."""
    mapping = whole["properties"]["control"]["discriminator"]["mapping"]
    found: dict[str, Any] = {"method": {"enum": list(mapping), "default": "none", "type": "string",
                                        "description": "how the smoke is brought to its keyframes"}}  # fmt: skip
    for method, place in mapping.items():
        for key, entry in whole["$defs"][place.rpartition("/")[2]]["properties"].items():
            if key == "method":
                found["method"].setdefault("texts", {})[method] = entry.get("description", "")
                continue
            same = next((k for k, e in found.items() if k.partition("@")[0] == key and _same(e, entry)), None)
            if same is not None:
                found[same]["methods"].append(method)
            else:
                found[key if key not in found else f"{key}@{method}"] = {**entry, "methods": [method]}
    return found


def _same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return {k: v for k, v in one.items() if k != "methods"} == other


def _options(entry: dict[str, Any]) -> list[dict[str, Any]]:
    return [option for option in entry.get("anyOf", [entry]) if option.get("type") != "null"]


def _is_table(entry: dict[str, Any]) -> bool:
    return any("$ref" in option or "$ref" in option.get("items", {}) or "oneOf" in option for option in _options(entry))


def _key(table: str, written: str, entry: dict[str, Any], main: list[str]) -> dict[str, Any]:
    key = written.partition("@")[0]
    options = _options(entry)
    help_ = entry.get("description", "")
    choices = [
        value for option in options for value in option.get("enum", [option["const"]] if "const" in option else [])
    ]
    accepts = sorted({_accepts(option) for option in options})
    found = {
        "key": key, "path": f"{table}.{key}" if table else key, "type": _type(table, key, options, accepts),
        "accepts": accepts, "unit": _unit(key, help_, accepts), "default": entry.get("default"), "help": help_,
        "main": key in main,
    }  # fmt: skip
    limits = {name: options[0][name] for name in ("minimum", "maximum", "exclusiveMinimum") if name in options[0]}
    more = {"choices": choices, "limits": limits, "methods": entry.get("methods"), "texts": entry.get("texts")}
    return found | {name: value for name, value in more.items() if value}


def _accepts(option: dict[str, Any]) -> str:
    kind = str(option.get("type", "string"))
    return {"string": "text", "boolean": "flag", "array": "list"}.get(kind, kind)


def _type(table: str, key: str, options: list[dict[str, Any]], accepts: list[str]) -> str:
    if accepts == ["text"] and (key in FILE_KEYS or (table == "control" and key == "start")):
        return "file"
    if all("enum" in option or "const" in option for option in options):
        return "choice"
    if accepts == ["list"]:
        return "vector" if options[0].get("items", {}).get("type") == "number" else "list"
    if len(accepts) == 1:
        return accepts[0]
    return "list" if "list" in accepts else "text"


def _unit(key: str, help_: str, accepts: list[str]) -> str:
    if "text" in accepts or accepts == ["flag"]:
        return ""
    if key in _FRAMES and "frame" in help_:
        return "frames"
    # What follows "default" speaks of other things.
    found = _UNIT.search(help_.partition("; default")[0])
    return _SHOWN.get(found[0], found[0]) if found is not None else ""
