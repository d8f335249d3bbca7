"""smoke.colours: a field for each colour of the scene's pictures, and each picture as one body per colour.

    [smoke]
    colours = "auto"
    initial = { image = "fish.png" }

becomes, with `palette = ["#d83030", "#3060d0"]` in both starts,

    [smoke]
    field = [{ name = "red", colour = "#d83030" }, { name = "blue", colour = "#3060d0" }]
    initial = [{ image = "fish.png", field = "red", ink = "#d83030" }, { image = "fish.png", field = "blue", ... }]

Starts, sources and keyframes are taken apart if they are images and name no field. The result is a scene like any
other, which a run's folder keeps, so resuming it finds the same colours.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from keyfluid.errors import KeyfluidError, SceneError, SceneErrors
from keyfluid.scenes.schema.load import dump_data, scene_from
from keyfluid.scenes.schema.scene import Scene
from keyfluid.shapes.image import load_colours
from keyfluid.shapes.palette import ColourPicture, colour_names, find_palette, shares_of

_FAINT = 2e-3
"""Share of a picture's ink that a colour must have to become a body."""


Origins = dict[str, list[int]]
"""By "initial", "source" and "keyframe": the number in the scene's file of each entry; empty without colours."""


def with_colours(scene: Scene) -> tuple[Scene, list[str], Origins]:
    """The scene with its pictures taken apart, a line that says by which colours, and where each entry comes from."""
    wanted = scene.fluid.colours
    if wanted is None:
        return scene, [], {}
    data = dump_data(scene)
    smoke = data["smoke"]
    del smoke["colours"]
    tables = {"smoke.initial": smoke["initial"], "source": data.get("source", []), "keyframe": data.get("keyframe", [])}
    pictures = _pictures(tables)
    if wanted == "fields":
        fields = smoke["field"]
    else:
        palette = list(wanted) if isinstance(wanted, list) else _found(pictures, wanted)
        fields = [{"name": name, "colour": colour} for name, colour in zip(colour_names(palette), palette)]
        smoke["field"] = fields
    origins: Origins = {}
    smoke["initial"], origins["initial"] = _taken_apart(tables["smoke.initial"], fields, pictures)
    for name in ("source", "keyframe"):
        if tables[name]:
            data[name], origins[name] = _taken_apart(tables[name], fields, pictures)
    listed = ", ".join(f"{field['name']} {field['colour']}" for field in fields)
    return scene_from(data), [f"smoke.colours: {listed}"], origins


def _is_coloured(entry: dict[str, Any]) -> bool:
    return "image" in entry and "field" not in entry and "ink" not in entry and not entry.get("invert")


def _pictures(tables: dict[str, list[dict[str, Any]]]) -> dict[str, ColourPicture]:
    """The pictures to be taken apart, by file."""
    found: dict[str, ColourPicture] = {}
    for table, entries in tables.items():
        for i, entry in enumerate(entries):
            if _is_coloured(entry) and entry["image"] not in found:
                try:
                    found[entry["image"]] = load_colours(Path(entry["image"]))
                except KeyfluidError as error:
                    raise SceneErrors([SceneError(f"{table}[{i}].image", " ".join(str(error).split()))]) from None
    if not found:
        fault = "no start, source or keyframe is an image without `field`; add one, or remove this key"
        raise SceneErrors([SceneError("smoke.colours", fault)])
    return found


def _found(pictures: dict[str, ColourPicture], wanted: str | int) -> list[str]:
    try:
        return find_palette(list(pictures.values()), wanted if isinstance(wanted, int) else None)
    except KeyfluidError as error:
        names = ", ".join(Path(name).name for name in pictures)
        raise SceneErrors([SceneError("smoke.colours", f"{names}: {error}")]) from None


def _taken_apart(
    entries: Sequence[dict[str, Any]], fields: Sequence[dict[str, Any]], pictures: dict[str, ColourPicture]
) -> tuple[list[dict[str, Any]], list[int]]:
    """The entries in their order, one for each colour of a picture that it holds, and which entry each comes from."""
    palette = [field["colour"] for field in fields]
    result: list[dict[str, Any]] = []
    origins: list[int] = []
    for i, entry in enumerate(entries):
        if not _is_coloured(entry):
            result.append(entry)
            origins.append(i)
            continue
        amount = shares_of(pictures[entry["image"]], palette).sum(axis=(1, 2), dtype=np.float64)
        for field, share in zip(fields, amount / max(amount.sum(), 1e-300)):
            if share > _FAINT:
                result.append({**entry, "field": field["name"], "palette": palette, "ink": field["colour"]})
                origins.append(i)
    return result, origins
