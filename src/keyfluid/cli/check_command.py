"""`keyfluid check`: the engine's own proof on the user's machine."""

from __future__ import annotations

import sys
from typing import Annotated

import typer


def check(
    everything: Annotated[bool, typer.Option("--all", help="Also check every kind of advection in 3D.")] = False,
) -> None:
    """Is keyfluid right on this machine? Derivatives, divergence and bits, as a table."""
    from keyfluid.threads import available
    from keyfluid.verify import print_table, run_checks

    terminal = sys.stderr.isatty()
    dots = (lambda rows: print("." * len(rows), end="", file=sys.stderr, flush=True)) if terminal else None
    rows = run_checks(dots, everything, processes=available())
    if terminal:
        print(file=sys.stderr)
    print_table(rows)
    if not all(row.passed for row in rows):
        raise typer.Exit(1)
