"""How well each run of a wedge did, and by which number they are sorted."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import get_type_hints

from keyfluid.errors import KeyfluidError
from keyfluid.io.run.result_file import KeyScore, Result

_LARGE_IS_GOOD = ("iou", "transported_iou")


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
        """The value to sort by, None if the run has no such number. For a number of keyframes: the worst at the frame
        shown, or the worst of all if that frame has none."""
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
