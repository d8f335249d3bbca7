"""`keyfluid farm`: a job for a render farm, as an Open Job Description template (specification 2023-09)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from keyfluid.cli.run_commands import Out, SceneFile, Set

_NOTICE = 60
"""Seconds between the signal to stop and the kill: a run stops between two steps and saves."""


def farm(
    scene: SceneFile,
    changes: Annotated[
        list[str] | None, typer.Argument(metavar="[KEY=A,B,C...]", help="As for wedge: one task per variant.")
    ] = None,
    openjd: Annotated[bool, typer.Option("--openjd", help="Print an Open Job Description template (JSON).")] = False,
    output: Out = None,
    set_: Set = None,
    chunk: Annotated[int, typer.Option(min=1, help="Frames that one task draws, of a single run.")] = 10,
) -> None:
    """Describe a scene or a wedge as a job for a render farm.

    Paths in it are relative to the folder of the template: save it in the folder where you give this command.
    """
    from keyfluid.errors import KeyfluidError
    from keyfluid.runs.upres import film_folder
    from keyfluid.runs.wedge import Wedge
    from keyfluid.scenes import load_scene

    if not openjd:
        raise KeyfluidError("farm: there is one kind of job description so far; add --openjd")
    sets = [word for change in set_ or () for word in ("--set", change)]
    loaded = load_scene(scene, set_ or ())
    if changes:
        variants = Wedge.of(changes).variants
        for values in variants.values():
            load_scene(scene, [*(set_ or ()), *values])
        folder = output or Path("out") / f"{loaded.name}_wedge"
        steps = _wedge_steps([*changes, *sets], len(variants))
    else:
        folder = output or Path("out") / loaded.name
        drawn = Path("{{Param.Output}}")
        drawn = film_folder(drawn) if loaded.upres is not None else drawn
        steps = _run_steps(sets, loaded.time.frames, chunk, drawn)
    print(json.dumps(_template(loaded.name, scene, folder, steps), indent=2))


def _template(name: str, scene: Path, folder: Path, steps: list[dict[str, Any]]) -> dict[str, Any]:
    def file(title: str, kind: str, flow: str, path: Path) -> dict[str, Any]:
        """Defaults are relative to the template, which belongs here; what lies elsewhere has to be given."""
        here = path.absolute().is_relative_to(Path.cwd())
        default = {"default": path.absolute().relative_to(Path.cwd()).as_posix()} if here else {}
        return {"name": title, "type": "PATH", "objectType": kind, "dataFlow": flow, **default}

    return {
        "specificationVersion": "jobtemplate-2023-09",
        "name": f"keyfluid {name}"[:64],
        "parameterDefinitions": [
            file("Scene", "FILE", "IN", scene),
            file("Output", "DIRECTORY", "INOUT", folder),
            {"name": "Keyfluid", "type": "STRING", "default": "keyfluid", "description": "The command on a worker."},
            {"name": "Threads", "type": "INT", "default": 1, "minValue": 1},
        ],
        "steps": steps,
    }


def _wedge_steps(words: Sequence[str], count: int) -> list[dict[str, Any]]:
    """A task per variant, then the table, the sheet and the page once more when all are there."""
    base = ["wedge", "{{Param.Scene}}", *words, "-o", "{{Param.Output}}", "--threads", "{{Param.Threads}}"]
    numbers = {"name": "Variant", "type": "INT", "range": f"0-{count - 1}" if count > 1 else "0"}
    return [
        _step("Variants", [*base, "--only", "{{Task.Param.Variant}}"], parameter=numbers),
        _step("Compare", base, after="Variants"),
    ]


def _run_steps(words: Sequence[str], frames: int, chunk: int, drawn: Path) -> list[dict[str, Any]]:
    """The run in one task, then its frames, or those of its finer film, as PNGs in several."""
    base = ["run", "{{Param.Scene}}", *words, "-o", "{{Param.Output}}", "--threads", "{{Param.Threads}}", "--continue"]
    ranges = [f"{first}-{min(first + chunk - 1, frames)}" for first in range(0, frames + 1, chunk)]
    parts = {"name": "Frames", "type": "STRING", "range": ranges}
    draw = ["render", drawn.as_posix(), "--frames", "{{Task.Param.Frames}}"]
    return [_step("Simulate", base), _step("Render", draw, after="Simulate", parameter=parts)]


def _step(
    name: str, words: list[str], after: str | None = None, parameter: dict[str, Any] | None = None
) -> dict[str, Any]:
    stop = {"mode": "NOTIFY_THEN_TERMINATE", "notifyPeriodInSeconds": _NOTICE}
    action = {"command": "{{Param.Keyfluid}}", "args": words, "cancelation": stop}
    step: dict[str, Any] = {"name": name, "script": {"actions": {"onRun": action}}}
    if after is not None:
        step["dependencies"] = [{"dependsOn": after}]
    if parameter is not None:
        step["parameterSpace"] = {"taskParameterDefinitions": [parameter]}
    return step
