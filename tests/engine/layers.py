"""The layers of keyfluid as a table (DESIGN.md, "Layers"), and what it says about an import.

A room is a folder with the files directly in it ("operators", "io/run"), or a module of the lowest layer ("grid").
`controllers/*` is every folder in controllers/, each a room of its own; `fluids/*` likewise. A folder `kernels` inside
a room is part of it. A new folder needs an entry here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from import_graph import Import, find_cycles

LAYERS: tuple[tuple[str, ...], ...] = (
    ("cli", "studio", "blender", "__main__"),
    ("cluster",),
    ("runs",),
    ("scenes", "gallery"),
    ("scenes/build",),
    ("scenes/schema",),
    ("shapes", "render", "io/run", "io/vdb", "io"),
    ("controllers/*",),
    ("controllers",),
    ("fluids/*",),
    ("fluids",),
    ("problem",),
    ("objectives", "controls", "optimise"),
    ("verify",),  # tests rollouts and everything below them; nothing in the engine needs it
    ("rollout",),
    ("models",),
    ("operators",),
    ("solvers",),
    ("kernels",),
    ("solids", "fields", "grid", "boundary", "threads", "crew", "tables", "errors"),
)
"""From what people touch down to what everything stands on."""

APART = ("controllers/*", "fluids/*")
"""Entries whose rooms must not import each other: methods know nothing of each other, nor do fluids."""


@dataclass(frozen=True)
class Room:
    """A room, its height (0 is the lowest layer) and the entry of the table that made it."""

    name: str
    height: int
    entry: str


def room_of(file: str) -> Room | None:
    """The room of a file such as "io/run/record.py"; None where the table has no entry for its folder.

    The package's own `__init__.py`, the public names, stands above all layers.
    """
    if file == "__init__.py":
        return Room("", len(LAYERS), "")
    folder = file.rpartition("/")[0].removesuffix("/kernels")
    name = folder or file.removesuffix(".py")
    every = f"{folder.rpartition('/')[0]}/*"
    for depth, layer in enumerate(LAYERS):
        for entry in layer:
            if entry in (name, every):
                return Room(name, len(LAYERS) - 1 - depth, entry)
    return None


def upward(imports: Iterable[Import]) -> list[Import]:
    """Imports of a module in a higher layer, and of the public names by anything inside the package."""
    return [i for i in imports if _height(i.imported) > _height(i.importer)]


def between_apart(imports: Iterable[Import]) -> list[Import]:
    """Imports between rooms that must not know each other."""
    found = []
    for item in imports:
        one, other = room_of(item.importer), room_of(item.imported)
        if one is not None and other is not None and one.name != other.name and one.entry == other.entry in APART:
            found.append(item)
    return found


def module_cycles(imports: Iterable[Import]) -> list[list[str]]:
    edges: dict[str, set[str]] = {}
    for item in imports:
        edges.setdefault(item.importer, set()).add(item.imported)
    return find_cycles(edges)


def room_cycles(imports: Iterable[Import]) -> list[list[str]]:
    """Cycles between rooms, which layers allow only among rooms of one layer, and this forbids there too."""
    edges: dict[str, set[str]] = {}
    for item in imports:
        one, other = room_of(item.importer), room_of(item.imported)
        if one is not None and other is not None and one.name != other.name:
            edges.setdefault(one.name, set()).add(other.name)
    return find_cycles(edges)


def _height(file: str) -> int:
    room = room_of(file)
    assert room is not None, f"{file} has no layer; add its folder to LAYERS in tests/engine/layers.py"
    return room.height
