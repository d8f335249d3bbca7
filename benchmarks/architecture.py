"""Draws docs/images/architecture.svg from the imports in src: rooms down a staircase, an arrow for "imports".

    python benchmarks/architecture.py

Rooms stand in the order of the layers (tests/engine/layers.py). An arrow leaves its room to the right and comes down on
the room it imports, so all arrows point down and to the right; the nearest target takes the lowest lane of its row and
the nearest source the leftmost lane of its column, which leaves no crossing between arrows of one row or one column.
Its thickness grows with the number of imports in steps of two, so that one import more seldom changes the file.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "engine"))

from import_graph import read_imports  # noqa: E402
from layers import LAYERS, room_of  # noqa: E402

SOURCE = ROOT / "src" / "keyfluid"
DRAWING = ROOT / "docs" / "images" / "architecture.svg"

GROUND = "grid, fields, errors"
NAMED = {"controllers/*": "controllers/METHOD", "fluids/*": "fluids/FLUID"}
"""Boxes that stand for every folder of a room."""
WORDS = {
    "cli": "commands, progress lines, exit codes",
    "studio": "the browser studio",
    "blender": "the add-on; talks to the command line only",
    "cluster": "who computes: local processes, Dask",
    "runs": "a run: frames, checkpoints, outputs, resume",
    "scenes": "scenes from Python: load, dump, schema",
    "gallery": "bundled scenes and what they need",
    "scenes/build": "scene to problem, on the grid",
    "scenes/schema": "the TOML tables",
    "shapes": "text, images, meshes, analytic shapes",
    "render": "pictures, films, report",
    "io/run": "format of a run folder",
    "io/vdb": "OpenVDB files",
    "io": "atomic writes, array containers, limits",
    "controllers/METHOD": "one folder per method: settings and algorithm",
    "controllers": "what methods share: the march through time",
    "fluids/FLUID": "one folder per fluid: steps, limits, numbers",
    "fluids": "what fluids share",
    "problem": "what a method is given, as frozen data",
    "objectives": "what is minimised",
    "controls": "control vector to forces, and back",
    "optimise": "L-BFGS",
    "verify": "dot test, Taylor test, exact solutions",
    "rollout": "many steps and their gradient",
    "models": "one step as a list of operators",
    "operators": "forward, tangent and adjoint, one per file",
    "solvers": "Poisson, multigrid, GMRES, FAS",
    "kernels": "Numba loops that rooms share",
    GROUND: "also boundary, solids, threads, tables",
}
"""What a room is for, in a few words."""

LEFT, TOP, LANE_GAP, CHARACTER = 420.0, 14.0, 3.0, 8.1
COLOURS = ("#3b82c4", "#c2713a", "#4f9d63", "#a35fb5", "#b8902c", "#c4566d", "#2f9aa0")
"""Middle tones, readable on white and on near-black; one for each room that imports, in turn."""
STYLE = """
  .page { fill: #ffffff } .band { fill: #f1f4f8 } .box { fill: #ffffff; stroke: #57606a }
  .name { fill: #1f2328; font-weight: 600 } .words { fill: #57606a } .casing { stroke: #ffffff }
  text { font-family: ui-sans-serif, system-ui, "DejaVu Sans", sans-serif; font-size: 13px }
  path { fill: none; stroke-linejoin: round }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117 } .band { fill: #161b22 } .box { fill: #0d1117; stroke: #9198a1 }
    .name { fill: #f0f6fc } .words { fill: #9198a1 } .casing { stroke: #0d1117 }
  }
"""


@dataclass
class Row:
    """A room's place: its band from `top`, its lanes to the right, and the column of lanes that come down on it."""

    name: str
    layer: int
    top: float
    height: float
    left: float
    width: float

    @property
    def right(self) -> float:
        return self.left + self.width


def drawn_room(file: str) -> str | None:
    """The box that a file belongs to; None for the public names, which only list others."""
    room = room_of(file)
    assert room is not None, f"{file} has no layer"
    if room.height == 0:
        return GROUND
    return {"": None, "__main__": "cli", **NAMED}.get(room.entry, room.name)


def arrows_of(source: Path) -> Counter[tuple[str, str]]:
    """Imports from room to room."""
    counts: Counter[tuple[str, str]] = Counter()
    for item in read_imports(source):
        one, other = drawn_room(item.importer), drawn_room(item.imported)
        if one is not None and other is not None and one != other:
            counts[one, other] += 1
    return counts


def rooms_in_order() -> list[tuple[int, str]]:
    """Every box that could be drawn, from the top, with its layer."""
    upper = [(i, NAMED.get(entry, entry)) for i, layer in enumerate(LAYERS[:-1]) for entry in layer]
    return [*((i, name) for i, name in upper if name != "__main__"), (len(LAYERS) - 1, GROUND)]


def thickness(count: int) -> float:
    """1 for one import, a pixel more for each doubling."""
    return float(count.bit_length())


def lay_out(arrows: Counter[tuple[str, str]]) -> dict[str, Row]:
    rows: dict[str, Row] = {}
    top, left = TOP, LEFT
    used = {room for arrow in arrows for room in arrow}
    for layer, name in rooms_in_order():
        if name not in used:
            continue
        outgoing = sum(thickness(n) + LANE_GAP for (one, _), n in arrows.items() if one == name)
        incoming = sum(thickness(n) + LANE_GAP for (_, other), n in arrows.items() if other == name)
        rows[name] = Row(name, layer, top, max(32.0, outgoing + 14), left, max(16.0, incoming + 6))
        top, left = top + rows[name].height, left + rows[name].width + 6
    return rows


def lanes(arrows: Counter[tuple[str, str]], rows: dict[str, Row]) -> tuple[dict, dict]:
    """Height at which each arrow leaves its row, and where it comes down in its column."""
    order = {name: i for i, name in enumerate(rows)}
    leaves: dict[tuple[str, str], float] = {}
    lands: dict[tuple[str, str], float] = {}
    for name, row in rows.items():
        mine = sorted((arrow for arrow in arrows if arrow[0] == name), key=lambda arrow: -order[arrow[1]])
        total = sum(thickness(arrows[arrow]) + LANE_GAP for arrow in mine) - LANE_GAP
        at = row.top + (row.height - total) / 2
        for arrow in mine:
            leaves[arrow] = at + thickness(arrows[arrow]) / 2
            at += thickness(arrows[arrow]) + LANE_GAP
        at = row.left + 4
        for arrow in sorted((arrow for arrow in arrows if arrow[1] == name), key=lambda arrow: -order[arrow[0]]):
            lands[arrow] = at + thickness(arrows[arrow]) / 2
            at += thickness(arrows[arrow]) + LANE_GAP
    return leaves, lands


def draw(arrows: Counter[tuple[str, str]]) -> str:
    """The whole drawing as SVG."""
    rows = lay_out(arrows)
    leaves, lands = lanes(arrows, rows)
    width = max(row.right for row in rows.values()) + 14
    height = max(row.top + row.height for row in rows.values()) + 14
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" role="img" aria-label="Rooms of keyfluid and what they import">',
        f"<style>{STYLE}</style>",
        f'<rect class="page" width="{width:.0f}" height="{height:.0f}"/>',
    ]
    layers = sorted({row.layer for row in rows.values()})
    for layer in layers[::2]:
        floor = [row for row in rows.values() if row.layer == layer]
        total = sum(row.height for row in floor)
        parts.append(f'<rect class="band" y="{floor[0].top:g}" width="{width:.0f}" height="{total:g}"/>')
    colours = {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(rows)}
    # From the shortest to the longest, so that long arrows pass over short ones, and every crossing shows a gap.
    order = list(rows)
    for one, other in sorted(arrows, key=lambda arrow: (order.index(arrow[1]) - order.index(arrow[0]), arrow)):
        parts += _arrow(rows, one, other, arrows[one, other], leaves[one, other], lands[one, other], colours[one])
    for row in rows.values():
        parts += _box(row)
    parts += [*_legend(height), "</svg>"]
    return "\n".join(parts) + "\n"


def _arrow(rows: dict[str, Row], one: str, other: str, count: int, y: float, x: float, colour: str) -> list[str]:
    broad = thickness(count)
    head = 3 + broad
    end = rows[other].top + 4
    bend = 7.0
    line = f"M{rows[one].right:g} {y:g}H{x - bend:g}Q{x:g} {y:g} {x:g} {y + bend:g}V{end - head:g}"
    tip = f"M{x - head / 2 - 1:g} {end - head:g}h{head + 2:g}L{x:g} {end:g}z"
    return [
        f'<path class="casing" d="{line}" stroke-width="{broad + 2:g}"/>',
        f'<path d="{line}" stroke="{colour}" stroke-width="{broad:g}"/>',
        f'<path d="{tip}" style="fill:{colour}"><title>{one} imports {other}</title></path>',
    ]


def _box(row: Row) -> list[str]:
    wide = max(CHARACTER * len(row.name) + 20, row.width + 2)
    left = row.right - wide
    middle = row.top + row.height / 2 + 4.5
    return [
        f'<rect class="box" x="{left:g}" y="{row.top + 4:g}" width="{wide:g}" height="{row.height - 8:g}" rx="5"/>',
        f'<text class="name" x="{row.right - wide / 2:g}" y="{middle:g}" text-anchor="middle">{row.name}</text>',
        f'<text class="words" x="{left - 9:g}" y="{middle:g}" text-anchor="end">{WORDS[row.name]}</text>',
    ]


def _legend(height: float) -> list[str]:
    at = height - 190
    lines = [f'<text class="words" x="24" y="{at:g}">An arrow means "imports".</text>']
    lines.append(f'<text class="words" x="24" y="{at + 20:g}">Its thickness: how many imports.</text>')
    for i, words in enumerate(("1", "2 or 3", "4 to 7", "8 to 15", "16 to 31", "32 to 63", "64 or more")):
        y = at + 40 + 20 * i
        lines.append(f'<path d="M24 {y:g}h40" stroke="{COLOURS[0]}" stroke-width="{i + 1}"/>')
        lines.append(f'<text class="words" x="74" y="{y + 4.5:g}">{words}</text>')
    return lines


if __name__ == "__main__":
    DRAWING.write_text(draw(arrows_of(SOURCE)), encoding="utf-8")
    print(f"{DRAWING.relative_to(ROOT)}: {DRAWING.stat().st_size / 1000:.1f} kB")
