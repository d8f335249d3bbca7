"""Figures of all parts: JSON for machines, a Markdown table for docs/reliability.md."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from pathlib import Path
from typing import Any

PARTS = ("folders", "kills", "faults", "power", "memory", "fuzz", "corpus")


class Tally:
    """Counts by scene (or reader) and outcome, and all failures with what reproduces them."""

    def __init__(self, part: str) -> None:
        self.part = part
        self.rows: dict[str, Counter[str]] = {}
        self.lines: Counter[str] = Counter()
        self.failures: list[dict[str, Any]] = []
        self._began = time.perf_counter()

    def count(self, row: str, kind: str, line: str = "", times: int = 1) -> None:
        self.rows.setdefault(row, Counter())[kind] += times
        if line:
            self.lines[re.sub(r"/\S*?torture-\S*?/", "", f"{row}: {line}")[:300]] += times

    def failure(self, row: str, text: str, **more: Any) -> None:
        self.rows.setdefault(row, Counter())["failure"] += 1
        self.failures.append({"where": row, "what": text, **more})
        print(f"FAILURE {self.part} {row}: {text[:300]} {more}", flush=True)

    def finish(self, **figures: Any) -> dict[str, Any]:
        """Everything as JSON has it."""
        return {
            "part": self.part,
            **figures,
            "seconds": round(time.perf_counter() - self._began, 1),
            "rows": {row: dict(kinds) for row, kinds in self.rows.items()},
            "lines": dict(self.lines.most_common(200)),
            "failures": self.failures,
        }


def write(out: Path, figures: dict[str, Any]) -> None:
    """One part's figures, and the table of all parts that have been run into this folder."""
    out.mkdir(parents=True, exist_ok=True)
    (out / f"{figures['part']}.json").write_text(json.dumps(figures, indent=2) + "\n")
    (out / "report.md").write_text(markdown(gathered(out)))


def gathered(out: Path) -> list[dict[str, Any]]:
    """The figures of the parts in a folder, in the usual order."""
    return [json.loads(path.read_text()) for part in PARTS if (path := out / f"{part}.json").exists()]


def markdown(parts: list[dict[str, Any]]) -> str:
    """A table of all parts, then one for each."""
    lines = ["# Torture", "", "| part | done | identical (files: read) | one clear line | failures | minutes |"]
    lines.append("|---|--:|--:|--:|--:|--:|")
    for part in parts:
        total = _sum(part["rows"].values())
        lines.append(_row(f"{part['part']}", total, f" {part['seconds'] / 60:.1f} |"))
    for part in parts:
        lines += ["", f"## {part['part']}", "", _figures(part), ""]
        lines += ["| where | done | identical | one clear line | failures |", "|---|--:|--:|--:|--:|"]
        lines += [_row(name, Counter(kinds)) for name, kinds in part["rows"].items()]
        lines += ["", *(f"- **{fault['where']}**: {fault['what'][:300]}" for fault in part["failures"][:50])]
    return "\n".join(lines) + "\n"


def _row(name: str, kinds: Counter[str], end: str = "") -> str:
    cells = [sum(kinds.values()), kinds["identical"] + kinds["read"], kinds["clear line"], kinds["failure"]]
    return f"| {name} | " + " | ".join(f"{cell:,}" for cell in cells) + " |" + end


def _figures(part: dict[str, Any]) -> str:
    left_out = ("part", "rows", "lines", "failures")
    return ", ".join(f"{name} {value}" for name, value in part.items() if name not in left_out)


def _sum(rows: Any) -> Counter[str]:
    total: Counter[str] = Counter()
    for row in rows:
        total.update(row)
    return total
