"""What the page of a run says: the verdict, the numbers of result.json with what they mean, charts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from keyfluid.io.run.layout import GIF, MP4, REPORT, STRIP, WEBP
from keyfluid.io.run.result_file import Result
from keyfluid.render.colour import Colour, parse_colour, to_srgb
from keyfluid.render.lighting import OPTICAL_DEPTH
from keyfluid.render.report import Cell, Number
from keyfluid.runs.pictures import Painter, colour_of
from keyfluid.runs.report_charts import charts_of
from keyfluid.runs.report_content import facts, notes, tiles
from keyfluid.scenes.build.problem import BuiltScene
from keyfluid.studio.open_runs import OpenRun

FILES = (REPORT, MP4, WEBP, GIF, STRIP)
"""What a page may open of a run's folder."""

MEANINGS = {
    "Error": "Distance between the smoke and the target over the target's size: 0 is perfect, 1 is as far as no smoke.",
    "Overlap": "Shared area over joint area of smoke and target at half density: 1 is perfect.",
    "Amount at the target": "Smoke at the keyframe over what the target holds; 100 % means enough to fill it.",
    "Change in mass": "What the simulation lost or gained by itself, sources and open sides taken out.",
    "Time": "All time the run took, its pictures included.",
    "Memory": "The most it used at once.",
    "Grid": "Cells per axis, and how large one is.",
    "Length": "How long the film is.",
    "Method": "How the forces are found; control.method of the scene.",
    "Status": "Stopped is by you, interrupted is when its process was killed; both can be resumed.",
    "Smoke that left through open sides": "Share of all smoke that flowed out of the domain.",
    "Mass may change by": "Settings of the scene that change mass on purpose.",
    "Largest divergence, relative": "How far the flow is from keeping volume; 1e-3 and less is not visible.",
    "Control force, root mean square": "The typical control force; less force looks more natural.",
    "Iterations": "Steps of the optimiser.",
    "Simulations with gradient": "How often the film was simulated forwards and backwards.",
    "Time, drawing included": "All time the run took, its pictures included.",
    "Peak memory": "The most it used at once.",
    "Threads": "Processor threads; results do not depend on them.",
    "Volume at the start": "Liquid at frame 0.",
    "Volume at the end": "Liquid at the last frame.",
    "Volume given by sources": "Liquid that sources added.",
    "Volume gained or lost otherwise": "The simulation's own error in volume; near 0 is good.",
    "Volume given by the control": "Liquid that the control added or took.",
    "Share that the control turned from air to liquid or back": "How much of the liquid was replaced, not moved.",
}


def about(run: OpenRun) -> dict[str, Any]:
    """What the page needs to show a run, beside its line."""
    problem, result = run.problem, run.result()
    grid = problem.grid
    particles = problem.method == "particles"
    return {
        "frames": run.indices(),
        "fields": [{"name": name, "colour": _hex(colour_of(problem, name)), "peak": problem.peaks[name]}
                   for name in problem.densities],
        "fluid": problem.fluid.name,
        "drawn_as": problem.fluid.drawn_as,
        "dim": grid.dim,
        "cells": list(grid.cells),
        "size": list(grid.size),
        "spacing": grid.spacing,
        "fps": problem.fps,
        "last": problem.frames,
        "has": {
            "velocity": True,
            "force": problem.method != "none",
            "markers": particles,
            "surface": problem.fluid.drawn_as == "surface",
            "temperature": problem.temperature is not None,
        },
        "obstacles": problem.solids(0.0) is not None,
        "moving_obstacles": problem.solids.move,
        "keyframes": [
            {"frame": key.frame, "field": key.field, "hold": key.hold, "path": key.path, "bound": key.bound}
            for key in problem.keyframes
        ],
        "files": [name for name in FILES if (run.folder.path / name).is_file()],
        "view": _view(problem),
        "warnings": problem.warnings,
        **_of_result(problem, result),
    }  # fmt: skip


def _of_result(problem: BuiltScene, result: Result | None) -> dict[str, Any]:
    if result is None:
        return {"result": None, "words": [], "tiles": [], "numbers": [], "charts": [], "notes": []}
    charts, _ = charts_of(result["history"], {key.frame for key in problem.keyframes}, problem.grid.dim)
    scores: Mapping[str, Any] = {name: value for name, value in result.items() if name != "history"}
    return {
        "result": scores,
        "words": result.get("words", []),
        "tiles": [_number(name, value) | {"remark": remark} for name, value, remark in tiles(result)],
        "numbers": [_number(name, value) for name, value in facts(problem, result).items()],
        "charts": [
            {
                "title": chart.title, "x": chart.x_label, "unit": chart.y_label, "logarithmic": chart.logarithmic,
                "curves": [{"name": name, "x": x, "y": y} for name, (x, y) in chart.curves.items()],
            }
            for chart in charts
        ],
        "notes": notes(result),
    }  # fmt: skip


def _number(name: str, cell: Cell) -> dict[str, Any]:
    value, text = (cell.value, cell.text) if isinstance(cell, Number) else (None, cell if cell is not None else "–")
    return {"name": name, "value": value, "text": text, "meaning": MEANINGS.get(name, "")}


def flat_numbers(result: Mapping[str, Any]) -> dict[str, float]:
    """Every number of result.json by its name, and the worst of the keyframes: what a wedge can be sorted by."""
    found: dict[str, float] = {}
    keys = result.get("keyframes", [])
    if keys:
        found["error"] = max(key["relative_error"] for key in keys)
        found["overlap"] = min(key["iou"] for key in keys)
        stray = [key["stray"] for key in keys if key.get("stray") is not None]
        found |= {"stray": max(stray)} if stray else {}
        found["amount"] = max((key["mass_ratio"] for key in keys), key=lambda ratio: abs(ratio - 1))
    for name, value in result.items():
        parts = value.items() if isinstance(value, Mapping) else [(None, value)]
        for part, number in parts:
            if isinstance(number, int | float) and not isinstance(number, bool):
                found[f"{name} {part}" if part else name] = number
    return found


def _view(problem: BuiltScene) -> dict[str, Any] | None:
    """Camera and light of a 3D scene, as its films are drawn."""
    if problem.grid.dim == 2:
        return None
    view = Painter(problem).view(0)
    light, camera = view.light, problem.scene.camera
    extinction = problem.scene.light.extinction
    return {
        "position": view.camera.position,
        "look_at": view.camera.look_at,
        "fov": view.camera.fov_degrees,
        "aspect": view.size[0] / view.size[1],
        "up": view.up,
        "orbit": camera.orbit,
        "floor": camera.floor,
        "light": light.towards(view.up).tolist(),
        "light_colour": _linear(light.colour, light.strength),
        "sky_colour": _linear(light.sky_colour, light.sky_strength),
        "forward": light.forward,
        "extinction": float(extinction) if extinction is not None else OPTICAL_DEPTH / max(problem.grid.size),
    }


def _linear(colour: Colour, strength: float) -> list[float]:
    return [float(part * strength) for part in parse_colour(colour)]


def _hex(colour: Colour) -> str:
    return "#" + "".join(f"{round(float(part) * 255):02x}" for part in to_srgb(parse_colour(colour)))
