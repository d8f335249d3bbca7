"""What a wedge is: one scene, several values of its keys, and how well each of them did."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_type_hints

from keyfluid.errors import KeyfluidError
from keyfluid.io.run.result_file import KeyScore, Result

MOST_RUNS = 64
SEPARATOR = "+"
_LARGE_IS_GOOD = ("iou", "transported_iou")


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


@dataclass(frozen=True)
class Score:
    """How well the keyframes at the frame that is shown were met, at worst; of all keyframes where it has none."""

    frame: int
    error: float | None
    iou: float | None
    elsewhere: bool = False
    """Whether they are scores of other frames."""

    @classmethod
    def of(cls, metrics: Result, frame: int) -> Score:
        keys = [key for key in metrics["keyframes"] if math.isfinite(key["relative_error"])]
        here = [key for key in keys if key["frame"] == frame]
        if not keys:
            return cls(frame, None, None)
        error = max(key["relative_error"] for key in here or keys)
        return cls(frame, error, min(key["iou"] for key in here or keys), not here)

    def line(self) -> str:
        if self.error is None or self.iou is None:
            return f"frame {self.frame}"
        return f"error {self.error:.3f} · IoU {self.iou:.3f}"


def _number(value: object) -> float | None:
    """A finite number, or None."""
    fine = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if fine and isinstance(value, int | float) else None


@dataclass(frozen=True)
class Order:
    """By which number of result.json variants are sorted: smallest first, overlaps largest first; "-NAME" turns it."""

    name: str = "relative_error"
    turned: bool = False

    @classmethod
    def of(cls, text: str) -> Order:
        name = text.removeprefix("-")
        known = sorted({*_numbers_of(Result), *_numbers_of(KeyScore)} - {"frame", "threads"})
        if name not in known:
            raise KeyfluidError(f"--sort {text}: is not a number of result.json; use one of {', '.join(known)}")
        return cls(name, name != text)

    def number(self, metrics: Result, frame: int) -> float | None:
        """Of keyframes the worst at the frame that is shown, or of all where it has none; None where there is none."""
        if self.name in metrics:
            return _number(dict(metrics)[self.name])
        here = [key for key in metrics["keyframes"] if key["frame"] == frame] or metrics["keyframes"]
        found = [number for key in here if (number := _number(dict(key).get(self.name))) is not None]
        worst = min if self.name in _LARGE_IS_GOOD else max
        return worst(found) if found else None

    def rank(self, number: float | None) -> float:
        """The smaller, the better."""
        if number is None:
            return math.inf
        return -number if (self.name in _LARGE_IS_GOOD) != self.turned else number


def _numbers_of(table: type) -> list[str]:
    numbers = (int, float, float | None)
    return [name for name, kind in get_type_hints(table).items() if kind in numbers]


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
