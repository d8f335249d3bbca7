"""A wedge: one scene, several values of its keys."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from keyfluid.errors import KeyfluidError

MOST_RUNS = 64
SEPARATOR = "+"


@dataclass(frozen=True)
class Wedge:
    """Every combination of the values of some keys. The last key has the columns, the others the rows.

    variants  label, which names the folder of a run: its overrides; row after row
    rows      the other keys' values in words; [""] for a single key
    columns   the last key's values in words
    """

    variants: dict[str, list[str]]
    rows: list[str]
    columns: list[str]

    @classmethod
    def of(cls, changes: Sequence[str]) -> Wedge:
        """From texts such as ``smoke.buoyancy=0.5,1,2``."""
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
        labelled = {SEPARATOR.join(_plain(change) for change in sets): list(sets) for sets in combinations}
        if len(labelled) < len(combinations):
            raise KeyfluidError(f"wedge: {' '.join(changes)} has a value twice; give each value once")
        rows = [", ".join(map(_words, sets)) for sets in itertools.product(*options[:-1])]
        return cls(labelled, rows, [_words(change) for change in options[-1]])

    def grid(self) -> list[list[str]]:
        """Labels by row and column."""
        labels, across = list(self.variants), len(self.columns)
        return [labels[start : start + across] for start in range(0, len(labels), across)]

    def words(self, label: str) -> str:
        """The values of a run."""
        return ", ".join(map(_words, self.variants[label]))


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


def _words(change: str) -> str:
    """The key without its tables, because there is little space beside a picture."""
    key, _, value = change.partition("=")
    return f"{key.rpartition('.')[2]} = {value}"


def _plain(change: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "=.-" else "-" for letter in change)
