"""`keyfluid wedge`: one scene, several values, one contact sheet."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from keyfluid.errors import KeyfluidError
from keyfluid.io.atomic import write_whole
from keyfluid.render import filmstrip, save_png
from keyfluid.runs.pictures import Painter
from keyfluid.runs.run import RunResult

MOST_RUNS = 64
SEPARATOR = "+"


def variants(changes: Sequence[str]) -> dict[str, list[str]]:
    """Every combination of ``key=a,b,c``: a label, which names its folder, and its overrides."""
    options = []
    for change in changes:
        key, equals, values = change.partition("=")
        split = _split(values)
        if not equals or not all(split):
            raise KeyfluidError(f"wedge: {change!r} is not key=a,b,c, such as smoke.buoyancy=0.5,1,2")
        options.append([f"{key.strip()}={value}" for value in split])
    combinations = list(itertools.product(*options))
    if len(combinations) > MOST_RUNS:
        raise KeyfluidError(f"wedge: {len(combinations)} runs, at most {MOST_RUNS} are allowed; give fewer values")
    return {SEPARATOR.join(_plain(change) for change in sets): list(sets) for sets in combinations}


def contact_sheet(path: Path, results: Mapping[str, RunResult]) -> None:
    """The last frame of each run, with its label."""
    pictures = [Painter(run.problem, 384).frame(run.frames, run.frames[-1].index) for run in results.values()]
    labels = [_short(label) for label in results]
    save_png(path, filmstrip(pictures, labels, columns=min(6, len(pictures)), tile=320))


def write_table(path: Path, results: Mapping[str, RunResult]) -> None:
    """The metrics of each run, without their histories."""
    table = {
        label: {name: value for name, value in result.metrics.items() if name != "history"}
        for label, result in results.items()
    }
    write_whole(path, lambda file: file.write(json.dumps(table, indent=2).encode()))


def _split(values: str) -> list[str]:
    """At commas outside of brackets and quotes."""
    parts, depth, quoted = [""], 0, False
    for letter in values:
        quoted ^= letter == '"'
        depth += (letter in "[{") - (letter in "]}") if not quoted else 0
        if letter == "," and depth == 0 and not quoted:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def _short(label: str) -> str:
    """Keys without their tables, because there is little space under a picture."""
    pairs = [change.partition("=") for change in label.split(SEPARATOR)]
    return " ".join(f"{key.rpartition('.')[2]}={value}" for key, _, value in pairs)


def _plain(change: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "=.-" else "-" for letter in change)
