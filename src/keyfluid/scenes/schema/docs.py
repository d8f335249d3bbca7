"""docs/scene_format.md, made from the models: `python -m keyfluid.scenes.schema.docs [FILE]`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from keyfluid.controllers.target.settings import FieldSettings
from keyfluid.scenes.schema.bodies import KIND_KEYS, SHAPE_KEYS, Body, SolidBody
from keyfluid.scenes.schema.liquid import LiquidInitial, LiquidTable
from keyfluid.scenes.schema.scene import (
    Camera,
    Domain,
    Edit,
    FlowEntry,
    KeyframeEntry,
    Light,
    Mask,
    Obstacle,
    Output,
    PathPoint,
    PictureEntry,
    Scene,
    Simulation,
    Source,
    Time,
    WindEntry,
)
from keyfluid.scenes.schema.smoke import Initial, SmokeField, SmokeTable
from keyfluid.scenes.schema.upres import Upres
from keyfluid.tables import Wants

_INTRODUCTION = """# Scene files

<!-- Made by `python -m keyfluid.scenes.schema.docs docs/scene_format.md` from src/keyfluid/scenes; edit there. -->

A scene is a TOML file. Lengths are metres, times seconds, angles degrees; frame f is at f / fps seconds and
frame 0 is the start. Every key but those marked *needed* may be left out. Unknown keys are errors, and
every error names its key. The shortest scene:

    [smoke]
    initial = { shape = "disk", radius = 0.15 }
    buoyancy = 1.0

Files that a scene names lie relative to the scene's own folder. A run's `scene.toml` has them absolute, and
all defaults written out. `--set key=value` changes one key from the command line: `--set
domain.resolution=64`, `--set keyframe[0].text=Hi`. `--preview` changes `domain.resolution` and draws a
draft film (`output.film`); nothing else.
"""

_BODIES = """## Bodies

Starts, sources, obstacles, keyframes and masks are made of the same things and placed by the same keys. Give
one of `shape`, `text`, `image`, `mesh`, `vdb`, `npy`, `run` (an obstacle: `shape` or `mesh`), and any of the keys
that go with it:

| | its own keys |
|---|---|
"""

_LIMITS = """## Files and memory

Reading one file may take 2 GiB of memory, or half of what the machine or its container has if that is less. What a
file's own numbers imply is counted before anything is allocated; a file that would take more is refused with the
amount, the limit and what to do. A picture has at most 33,554,432 pixels, a font 128 MiB, a mesh sequence 10,000
files (all of its poses share one limit), a glTF scene 16,384 nodes. Density is at most 1e12.
"""

_MASS = """## Mass

Mass is density times volume (area in 2D). Incompressible smoke can be carried, not diluted, so a target can
only be reached if its values are a rearrangement of the smoke's. `mass = "resize"` makes it so: it scales the
target about its centre until, at the smoke's peak density, it has the mass of the smoke present at that
frame, what sources have added included. `initial.mass = "first-key"` goes the other way: the start is sized
to the first keyframe of its field, which keeps its size. What a source with `rate` adds is known beforehand; for
one with held `density` it is an estimate (its content, and what its own velocity carries out). Neither is what there
is at the keyframe: smoke leaves through open sides, and advection by interpolation (every method but `target` and
`particles`) loses or gains some on the way, most where forces are strong. `mass_ratio` in result.json says how much
was there.

Smoke with `dissipation` thins out and keeps its volume: keyframes have the size they would have without it,
and the density that is left at their frame.

Where the bound |sort(rho0) - sort(rho*)| / |rho*| of a keyframe is high, keyfluid prints it before the run: no
rearrangement of the smoke has a smaller relative error. Blur, sources and cells that are filled in part are not
rearrangements, and a run can end below it. It also warns of keyframes that nothing steers to (`method = "none"`), of
targets whose volume changes from keyframe to keyframe, of pictures with a bright border (paper, not smoke), of bodies
thinner than the grid can hold and of text with strokes thinner than 5 cells, with the resolution to use.
"""

_SECTIONS: list[tuple[str, str, type[BaseModel]]] = [
    ("[domain]", "", Domain),
    ("[time]", "", Time),
    ("[smoke]", "", SmokeTable),
    ("smoke.initial", "One table, or several as `[[smoke.initial]]`; and the keys of a body.", Initial),
    ("[[smoke.field]]", "The first is the default of every `field` key.", SmokeField),
    ("[liquid]", "", LiquidTable),
    ("liquid.initial", "One table, or several as `[[liquid.initial]]`; and the keys of a body.", LiquidInitial),
    ("[[source]]", "And the keys of a body.", Source),
    ("[wind]", "One table, or several as `[[wind]]`; docs/air.md has examples.", WindEntry),
    ("[[obstacle]]", "And the keys of a body (`shape` or `mesh`).", Obstacle),
    ("[[obstacle.path]]", "", PathPoint),
    ("[[keyframe]]", "And the keys of a body.", KeyframeEntry),
    ("keyframe.mask", "And the keys of a body.", Mask),
    ("[[picture]]", "", PictureEntry),
    ("[[flow]]", "`mask` as in `[[keyframe]]`.", FlowEntry),
    ("[edit]", "", Edit),
    ("[upres]", "", Upres),
    ("[simulation]", "", Simulation),
    ("[camera]", "", Camera),
    ("[light]", "", Light),
    ("[output]", "", Output),
]


def scene_format() -> str:
    """The whole page."""
    parts = [_INTRODUCTION, "## Top of the file\n", _table(Scene, list(_plain_keys(Scene)))]
    for title, remark, model in _SECTIONS:
        shared = set(Body.model_fields) if issubclass(model, SolidBody) else set()
        parts += _section(title, model, remark, [key for key in model.model_fields if key not in shared])
    control = Scene.model_fields["control"].annotation
    for method in get_args(control) or (control,):
        (name,) = get_args(method.model_fields["method"].annotation)
        parts += _section(f'[control] method = "{name}"', method, "", list(method.model_fields))
    parts += _section('[[control.field]] of method = "target"', FieldSettings, "", list(FieldSettings.model_fields))
    parts.append(_BODIES + "\n".join(f"| `{name}` | {_listed(keys)} |" for name, keys in _kinds().items()) + "\n")
    parts.append(_table(Body, list(Body.model_fields)))
    parts += [_LIMITS, _MASS]
    return "\n".join(parts)


def _section(title: str, model: type[BaseModel], remark: str, keys: list[str]) -> list[str]:
    text = " ".join([*(model.__doc__ or "").split(), *remark.split()])
    return [f"## {title}\n", f"{text}\n", _table(model, keys)]


def _plain_keys(model: type[BaseModel]) -> list[str]:
    return [key for key, field in model.model_fields.items() if not _holds_table(field.annotation)]


def _kinds() -> dict[str, tuple[str, ...]]:
    named = {f'shape = "{name}"': keys for name, keys in SHAPE_KEYS.items()}
    return named | {kind: keys for kind, keys in KIND_KEYS.items() if kind != "shape"}


def _listed(keys: tuple[str, ...]) -> str:
    return ", ".join(f"`{key}`" for key in keys) or "none"


def _table(model: type[BaseModel], keys: list[str]) -> str:
    rows = ["| key | holds | default | |", "|---|---|---|---|"]
    for key in keys:
        field = model.model_fields[key]
        words = [f"`{key}`", _words(field), _default(field), field.description or ""]
        rows.append("| " + " | ".join(word.replace("|", "\\|") for word in words) + " |")
    return "\n".join(rows) + "\n"


def _words(field: FieldInfo) -> str:
    """What the key may hold, in the words its errors use."""
    for extra in field.metadata:
        if isinstance(extra, Wants):
            return extra.text
    return _type_words(field.annotation)


def _type_words(annotation: Any) -> str:
    for extra in getattr(annotation, "__metadata__", ()):
        if isinstance(extra, Wants):
            return "a path" if extra.text.startswith("text of 1 to 4096") else extra.text
    origin = get_origin(annotation)
    if origin is Literal:
        return " or ".join(_literal(value) for value in get_args(annotation))
    if origin in (Union, UnionType):
        return " or ".join(_type_words(a) for a in get_args(annotation) if a is not type(None))
    if origin is list:
        return "tables" if _holds_table(annotation) else "a list"
    if hasattr(annotation, "__metadata__"):
        return _type_words(get_args(annotation)[0])
    return "a table" if _holds_table(annotation) else str(getattr(annotation, "__name__", annotation))


def _holds_table(annotation: Any) -> bool:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return True
    return any(_holds_table(argument) for argument in get_args(annotation) if not isinstance(argument, str))


def _default(field: FieldInfo) -> str:
    if field.default is PydanticUndefined:
        return "*needed*"
    if field.default is None or field.default == [] or _holds_table(field.annotation):
        return ""
    return _literal(field.default)


def _literal(value: Any) -> str:
    return f"`{json.dumps(value)}`"


if __name__ == "__main__":
    Path(sys.argv[1] if len(sys.argv) > 1 else "docs/scene_format.md").write_text(scene_format(), encoding="utf-8")
