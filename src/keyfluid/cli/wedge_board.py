"""The table, the contact sheet and the page of a wedge, which grow as its runs finish.

They show what is on the disk: a run is drawn when its folder holds it, finished; a run that failed has its line in
wedge.json. So a wedge that was stopped, or that a farm computes in pieces, has the same tables as one in one go.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from keyfluid.cli.wedge import Order
from keyfluid.cli.wedge_drawn import DrawnRun, Look, best_first, write_sheet
from keyfluid.cli.wedge_page import film_budget, wedge_page
from keyfluid.cli.wedge_task import shown_folder, variant_state
from keyfluid.io.atomic import write_whole
from keyfluid.io.run.owned import OwnedFolder
from keyfluid.runs.run import open_run
from keyfluid.runs.wedge import Wedge
from keyfluid.scenes import Scene

SHEET, TABLE, PAGE = "wedge.png", "wedge.json", "index.html"
_PATIENCE = 10
"""How many times what the last refresh took passes at least before the next, unless it is the last one."""


@dataclass(eq=False)
class Board:
    """path: the wedge's folder; scenes: of its variants, in their order; frame: to compare."""

    title: str
    path: Path
    wedge: Wedge
    scenes: Mapping[str, Scene]
    order: Order
    frame: int | None = None
    drawn: dict[str, DrawnRun] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)
    _took: float = 0.0
    _written: float = -float("inf")

    def take_finished(self) -> None:
        """Take what the folder holds: finished runs, and lines of those that failed."""
        for label, entry in _entries(self.path / TABLE).items():
            if label in self.scenes and entry.get("status") == "failed" and label not in self.drawn:
                self.faults[label] = str(entry.get("error", ""))
        for label, scene in self.scenes.items():
            if label not in self.drawn and variant_state(self.path / label, scene) == "finished":
                place = shown_folder(Path(label), scene)
                self.take(label, self.look.drawn(open_run(self.path / place), place))

    def take(self, label: str, run: DrawnRun) -> None:
        """A run that has finished."""
        self.faults.pop(label, None)
        self.drawn[label] = run

    @property
    def look(self) -> Look:
        return Look(self.frame, self.order, film_budget(len(self.scenes)))

    @property
    def waiting(self) -> list[str]:
        """Variants that are neither finished nor failed."""
        return [label for label in self.scenes if label not in self.drawn and label not in self.faults]

    @property
    def ranked(self) -> dict[str, DrawnRun]:
        return best_first(self.drawn, self.order)

    def line(self, label: str) -> str:
        if label in self.drawn:
            return self.drawn[label].line(self.order)
        return f"failed: {self.faults[label]}" if label in self.faults else "waiting"

    def refresh(self, owned: OwnedFolder, last: bool = False) -> None:
        """Write all three, not too often; last: in any case."""
        began = time.monotonic()
        if not last and began - self._written < _PATIENCE * self._took:
            return
        captions = {label: self.line(label) for label in self.scenes}
        short = {label: line if label in self.drawn else line.partition(":")[0] for label, line in captions.items()}
        best = next((label for label, found in self.ranked.items() if found.number is not None), None)
        with owned.writing(TABLE) as path:
            _write(path, json.dumps(self._table(), indent=2))
        with owned.writing(SHEET) as path:
            write_sheet(path, self.wedge, self.drawn, short, best)
        with owned.writing(PAGE) as path:
            _write(path, wedge_page(self.title, self.wedge, self.drawn, captions, self.order))
        self._written = time.monotonic()
        self._took = self._written - began

    def _table(self) -> dict[str, dict[str, Any]]:
        """The metrics of each run without their histories, best first; then those that failed or are not done."""
        places = {label: place for place, label in enumerate(self.scenes)}
        table: dict[str, dict[str, Any]] = {}
        for label, found in self.ranked.items():
            metrics = {name: value for name, value in found.metrics.items() if name != "history"}
            table[label] = {"number": places[label], **metrics}
        for label, place in places.items():
            if label in self.faults:
                table[label] = {"number": place, "status": "failed", "error": self.faults[label]}
            elif label not in table:
                table[label] = {"number": place, "status": "waiting"}
        return table


def _entries(path: Path) -> dict[str, dict[str, Any]]:
    """What a table says; nothing where there is none, or where it can't be read."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return (
        {str(label): entry for label, entry in found.items() if isinstance(entry, dict)}
        if isinstance(found, dict)
        else {}
    )


def _write(path: Path, text: str) -> None:
    write_whole(path, lambda file: file.write(text.encode()))
