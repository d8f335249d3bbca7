"""What `keyfluid wedge` prints: a line when a run ends, and the end of all, best first; with --json as events."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, NoReturn

import typer

from keyfluid.cli.json_lines import line
from keyfluid.cli.wedge_board import PAGE, SHEET, Board


def _facts(board: Board, label: str) -> dict[str, Any]:
    """What `variant` and `variant_end` say of a run."""
    done, total = len(board.scenes) - len(board.waiting), len(board.scenes)
    number = list(board.scenes).index(label)
    return {"number": number, "label": label, "folder": str(board.path / label), "done": done, "total": total}


def announce(board: Board, label: str, as_json: bool) -> None:
    """A run begins."""
    if as_json:
        line("variant", **_facts(board, label))


def tell(board: Board, label: str, as_json: bool) -> None:
    """A run has ended."""
    facts = _facts(board, label)
    if as_json:
        ended = {"fault": board.faults[label]} if label in board.faults else {"sorted_by": board.drawn[label].number}
        line("variant_end", **facts, **ended)
        return
    words = f"{facts['done']} of {facts['total']}: {facts['number']} {label}: {board.line(label)}"
    print(words, file=sys.stderr, flush=True)


def end(board: Board, whole: bool, as_json: bool) -> None:
    """Print how the wedge ended, best first; exit codes 130 if it was stopped, 1 if variants failed."""
    if not whole:
        print("stopped; to continue, give the same command again", file=sys.stderr)
        raise typer.Exit(130)
    if as_json:
        scores = {label: asdict(found.score) for label, found in board.ranked.items()}
        line("wedge", folder=str(board.path), scores=scores, faults=board.faults)
    else:
        for label in [*board.ranked, *board.faults]:
            print(f"{label}: {board.line(label)}")
        print(board.path / SHEET)
        print(board.path / PAGE)
    if board.faults:
        fail(board.faults, as_json)


def fail(faults: Mapping[str, str], as_json: bool) -> NoReturn:
    """Exit code 1; with --json after what failed, as an event and in words."""
    if as_json:
        lines = [f"{label}: {fault}" for label, fault in faults.items()]
        line("error", message="\n".join(lines), faults=[])
        for text in lines:
            print(f"keyfluid: {text}", file=sys.stderr)
    raise typer.Exit(1)
