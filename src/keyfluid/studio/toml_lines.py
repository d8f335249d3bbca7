"""Where the keys of a TOML text are: each key path with its lines, for faults and for edits that keep comments.

Only reads texts that tomllib takes; of others it finds what it can. Keys inside inline tables count as their table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from keyfluid.scenes.schema.faults import Step, dotted
from keyfluid.scenes.schema.overrides import parse_path

_HEADER = re.compile(r"\s*(\[\[?)([^\[\]]+)\]\]?\s*(#.*)?")
_KEY = re.compile(r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=(.*)""", re.DOTALL)
_TOKEN = re.compile(r'"""|\'\'\'|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|#|[\[\]{}]')


@dataclass(frozen=True)
class TomlEntry:
    """A header or a key; lines count from 1, `last` included."""

    path: str
    first: int
    last: int
    header: str = ""
    """"[" or "[[" for the head of a table."""


def entries(text: str) -> list[TomlEntry]:
    """Headers and keys in the order of the text."""
    return list(_entries(text.split("\n")))


def _entries(lines: list[str]) -> Iterator[TomlEntry]:
    counts: dict[str, int] = {}
    table = ""
    number = 0
    while number < len(lines):
        line = lines[number]
        head, key = _HEADER.fullmatch(line), _KEY.fullmatch(line)
        first = number
        if head is not None:
            table = _table(head[2], head[1], counts)
            yield TomlEntry(table, first + 1, first + 1, head[1])
        elif key is not None:
            number = _end(lines, number, key[2])
            yield TomlEntry(".".join(filter(None, [table, *_words(key[1])])), first + 1, number + 1)
        number += 1


def _table(written: str, brackets: str, counts: dict[str, int]) -> str:
    """The path of a table: its own index and those of the lists of tables above it."""
    path = ""
    names = _words(written)
    for place, name in enumerate(names):
        path = f"{path}.{name}" if path else name
        if place == len(names) - 1 and brackets == "[[":
            counts[path] = counts.get(path, -1) + 1
        if path in counts:
            path = f"{path}[{counts[path]}]"
    return path


def _words(written: str) -> list[str]:
    return [word.strip("\"'") for word in re.findall(r"""[\w-]+|"[^"]*"|'[^']*'""", written)]


def _end(lines: list[str], number: int, rest: str) -> int:
    """The last line of a value that begins with `rest`."""
    depth, quotes = 0, ""
    while True:
        place = 0
        while True:
            if quotes:
                found = rest.find(quotes, place)
                if found < 0:
                    break
                place, quotes = found + 3, ""
                continue
            token = _TOKEN.search(rest, place)
            if token is None or token[0] == "#":
                break
            place = token.end()
            if token[0] in ('"""', "'''"):
                quotes = token[0]
            else:
                depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(token[0], 0)
        if (depth <= 0 and not quotes) or number + 1 >= len(lines):
            return number
        number += 1
        rest = lines[number]


def line_of(found: list[TomlEntry], path: str) -> int | None:
    """The line of a key, or of the nearest table around it that the text has."""
    lines: dict[str, int] = {}
    for entry in found:
        lines.setdefault(entry.path, entry.first)
    steps: list[Step] = list(parse_path(path))
    while steps:
        shown = dotted(steps)
        for name in (shown, f"{shown}[0]", shown.removesuffix("[0]")):
            if name in lines:
                return lines[name]
        if isinstance(steps[-1], int) or len(steps) > 1:
            steps.pop()
        else:
            break
    return next((entry.first for entry in found if steps and _begins(entry.path, dotted(steps))), None)


def extent(found: list[TomlEntry], path: str) -> tuple[int, int] | None:
    """First and last line of a table under a header, tables inside included; comments after it are not its own."""
    head = next((i for i, entry in enumerate(found) if entry.header and entry.path == path), None)
    if head is None:
        return None
    last = found[head].last
    for entry in found[head + 1 :]:
        if not _begins(entry.path, path):
            break
        last = entry.last
    return found[head].first, last


def _begins(path: str, table: str) -> bool:
    return path == table or path.startswith((f"{table}.", f"{table}["))
