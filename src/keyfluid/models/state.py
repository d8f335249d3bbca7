"""States: named fields, "velocity" and whatever else a model carries."""

from __future__ import annotations

from collections.abc import Mapping

from keyfluid.fields import Field

State = Mapping[str, Field]
"""Named fields. Fields are never changed in place once they are part of a state."""

Bars = dict[str, Field]
"""Adjoints of named fields; a name that is missing has adjoint zero."""


def add_bars(bars: Bars, more: State) -> None:
    """Add adjoints to others, name by name."""
    for name, bar in more.items():
        bars[name] = bars[name] + bar if name in bars else bar


def state_bytes(state: State) -> int:
    return sum(field.nbytes for field in state.values())
