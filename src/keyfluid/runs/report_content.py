"""What the report shows of result.json: words and units for names, and the few numbers that matter.

Every number is one of the given result (`Number.value`); only its text is rounded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from keyfluid.io.run.result_file import KeyScore, Result
from keyfluid.render.report import Cell, Number, ScoreTable
from keyfluid.runs.estimate import size_words
from keyfluid.scenes.build.problem import BuiltScene

MOST_ROWS = 8
"""Keyframes that have a row each; of more, the table has the best, the median and the worst."""
_MOST_MORE = 60


def subtitle(problem: BuiltScene, result: Result) -> str:
    cells = " × ".join(map(str, problem.grid.cells))
    status = "" if result["status"] == "finished" else f" · {result['status']}"
    return (
        f"{problem.fluid.name.capitalize()} on {cells} cells · {problem.frames} frames at {problem.fps:g} per second · "
        f"method {result['method']}{status}"
    )


def tiles(result: Result) -> list[tuple[str, Cell, str]]:
    """The few numbers that matter."""
    keys, found = result["keyframes"], []
    if keys:
        of_many = f" of {len(keys)} keyframes" if len(keys) > 1 else ""
        worst, thin = max(keys, key=lambda key: key["relative_error"]), min(keys, key=lambda key: key["iou"])
        odd = max(keys, key=lambda key: abs(key["mass_ratio"] - 1))
        found = [
            ("Error", plain(worst["relative_error"]), f"worst{of_many}; 0 is perfect" if of_many else "0 is perfect"),
            ("Overlap", plain(thin["iou"]), f"least{of_many}; 1 is perfect" if of_many else "1 is perfect"),
            ("Amount at the target", percent(odd["mass_ratio"]), "of what the target needs"),
        ]
    found.append(("Change in mass", signed_percent(result["mass_drift"]), "over the whole run"))
    return [
        *found,
        ("Time", duration(result["seconds"]), "computing and drawing"),
        ("Memory", megabytes(result["peak_memory_mb"]), "at most"),
    ]


def keyframe_table(problem: BuiltScene, result: Result) -> ScoreTable | None:
    """A row per keyframe; of many, the best, the median and the worst, and the others folded away."""
    keys = result["keyframes"]
    if not keys:
        return None
    columns: list[tuple[str, Callable[[KeyScore], Cell]]] = [("Frame", lambda key: whole(key["frame"]))]
    if len(problem.densities) > 1:
        columns.append(("Field", lambda key: key["field"]))
    columns += [
        ("Error", lambda key: plain(key["relative_error"])),
        ("Rearranged", lambda key: plain(key["bound"])),
        ("Overlap", lambda key: plain(key["iou"])),
        ("Carried", lambda key: plain(key["transported_iou"])),
        ("Amount", lambda key: percent(key["mass_ratio"])),
    ]
    stray_note = ""
    if any(key.get("stray") is not None for key in keys):
        stray_note = _STRAY
        columns.append(("Stray smoke", lambda key: percent(key.get("stray"))))
    if any("gathered" in key for key in keys):
        columns.append(("Gathered", lambda key: percent(key.get("gathered"))))
        stray_note += _GATHERED
    solved = {(key["frame"], key["field"]): key for key in result.get("solved", [])}
    if solved:
        columns += [
            ("Solved: error", lambda key: _of_solved(solved, key, "relative_error")),
            ("Solved: overlap", lambda key: _of_solved(solved, key, "iou")),
        ]
    rows = [[show(key) for _, show in columns] for key in keys]
    heads, note, more, title = (
        [head for head, _ in columns],
        _COLUMNS + stray_note + _SOLVED * bool(solved),
        rows[:0],
        "",
    )
    if len(rows) > MOST_ROWS:
        order = sorted(range(len(keys)), key=lambda place: keys[place]["relative_error"])
        more = [rows[place] for place in thinned(range(len(rows)), _MOST_MORE)]
        title = f"All {len(rows)} keyframes" if len(more) == len(rows) else f"{len(more)} of {len(rows)} keyframes"
        note += " result.json has all of them." * (len(more) < len(rows))
        chosen = {"best": order[0], "median": order[len(order) // 2], "worst": order[-1]}
        heads, more = ["", *heads], [["", *row] for row in more]
        rows = [[name, *rows[place]] for name, place in chosen.items()]
    return ScoreTable(heads, rows, note, more, title)


_COLUMNS = (
    "Error: distance to the target over the target's size. Rearranged: the error if the start's values could be put "
    "into any order. Overlap: intersection over union at half the target's maximum. Carried: the same for the start "
    "carried along the flow without smearing. Amount: over the target's."
)


_STRAY = " Stray smoke: what lies farther than 4 cells from the target, over all smoke."
_GATHERED = " Gathered: stray smoke that control.tidy moved there, over all smoke; no flow did that."

_SOLVED = " Solved: the same of the coarser run that this film follows, on its own grid."


def _of_solved(
    solved: Mapping[tuple[int, str], KeyScore], key: KeyScore, name: Literal["relative_error", "iou"]
) -> Number | None:
    found = solved.get((key["frame"], key["field"]))
    return None if found is None else plain(found[name])


def facts(problem: BuiltScene, result: Result) -> dict[str, Cell]:
    """All single numbers of the result, in words."""
    grid, unit = problem.grid, f"m{'²³'[problem.grid.dim - 2]}"
    shown: dict[str, Cell] = {
        "Grid": f"{' × '.join(map(str, grid.cells))} cells of {_length(grid.spacing)}",
        "Length": f"{problem.frames / problem.fps:.3g} s: frames 0 to {problem.frames}",
    }
    for name, value in result.items():
        if name in _ONLY_IF_ANY and not value:
            continue
        if name in _NAMES:
            label, show = _NAMES[name]
            shown[label] = show(value)
        elif name == problem.fluid.name and isinstance(value, Mapping):
            shown |= {_LIQUID.get(part, _spaced(part)): _volume(part, number, unit) for part, number in value.items()}
        elif isinstance(value, int | float | str) and not isinstance(value, bool):
            shown[_spaced(name)] = value if isinstance(value, str) else general(value)
    for name, label in (("pictures", "picture"), ("flows", "velocity")):
        scores: Any = result.get(name, [])
        shown |= {f"Error of the {label} at frame {score['frame']}": plain(score["relative_error"]) for score in scores}
    return shown


def notes(result: Result) -> list[str]:
    """What the run noted on its way, and what changed since it started."""
    said = [str(entry["note"]) for entry in result["history"] if "note" in entry]
    return [*said, *(f"changed since the run started: {change}" for change in result.get("accepted_changes", []))]


def thinned(items: Sequence[int], most: int) -> list[int]:
    """At most so many, the first and the last among them."""
    if len(items) <= most:
        return list(items)
    return [items[round(k * (len(items) - 1) / (most - 1))] for k in range(most)]


def plain(value: float | None) -> Number | None:
    """Three decimals."""
    return None if value is None or math.isnan(value) else Number(value, f"{value:.3f}")


def general(value: float) -> Number:
    return Number(value, f"{value:.4g}")


def percent(value: float | None) -> Number | None:
    return None if value is None or math.isnan(value) else Number(value, f"{100 * value:.1f} %")


def signed_percent(value: float) -> Number:
    return Number(value, f"{100 * value:+.2f} %".replace("-", "−") if abs(value) >= 5e-5 else "none")


def whole(value: int) -> Number:
    return Number(value, f"{value:,}".replace(",", "\u202f"))


def duration(seconds: float) -> Number:
    """9.4 s, 2 min 48 s, 1 h 5 min."""
    rounded = round(seconds)
    if seconds < 60:
        text = f"{seconds:.3g} s"
    elif seconds < 3600:
        text = f"{rounded // 60} min {rounded % 60} s"
    else:
        text = f"{rounded // 3600} h {rounded % 3600 // 60} min"
    return Number(seconds, text)


def megabytes(count: float) -> Number:
    return Number(count, size_words(1e6 * count))


_NAMES: dict[str, tuple[str, Callable[[Any], Cell]]] = {
    "method": ("Method", str),
    "status": ("Status", str),
    "mass_drift": ("Change in mass", signed_percent),
    "mass_left": ("Smoke that left through open sides", percent),
    "mass_may_change": ("Mass may change by", ", ".join),
    "max_divergence": (
        "Largest divergence, relative",
        lambda value: Number(value, f"{value:.1e}"),
    ),
    "force_norm": ("Control force, root mean square", lambda value: Number(value, f"{value:.3g} m/s²")),
    "iterations": ("Iterations", whole),
    "evaluations": ("Simulations with gradient", whole),
    "seconds": ("Time, drawing included", duration),
    "peak_memory_mb": ("Peak memory", megabytes),
    "threads": ("Threads", whole),
}
_ONLY_IF_ANY = ("iterations", "evaluations")
_LIQUID = {
    "volume_start": "Volume at the start",
    "volume_end": "Volume at the end",
    "given": "Volume given by sources",
    "volume_error": "Volume gained or lost otherwise",
    "sourced": "Volume given by the control",
    "churn": "Share that the control turned from air to liquid or back",
}


def _volume(part: str, value: float, unit: str) -> Cell:
    return signed_percent(value) if part in ("volume_error", "churn") else Number(value, f"{value:.4g} {unit}")


def _length(metres: float) -> str:
    for unit, size in (("m", 1.0), ("cm", 0.01), ("mm", 0.001)):
        if metres >= size:
            return f"{metres / size:.3g} {unit}"
    return f"{metres * 1000:.3g} mm"


def _spaced(name: str) -> str:
    return name.replace("_", " ").capitalize()
