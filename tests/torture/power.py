"""Power cuts: a run is logged once, then the disk that a cut at a random moment may leave (disk.py) is resumed.

It must end bit-identical or say one clear line, and no optimisation may lose more than its last iteration. What had
been done at the cut is what the run had reported by then.
"""

from __future__ import annotations

import json
import pickle
import random
import shutil
from pathlib import Path
from typing import Any

from torture.children import Child, run_words
from torture.disk import Disk
from torture.report import Tally
from torture.results import Reference, bring_to_end, keep_evidence, make_references, too_much_lost
from torture.scenes import CASES, chosen
from torture.shim import Counter, Operation, Shim


def torture(count: int, seed: int, out: Path, scratch: Path, scenes: str = "") -> dict[str, Any]:
    """`count` cuts spread over the scenes; returns the figures."""
    names = [name for name in chosen(scenes) if CASES[name].threads == 1]
    references = make_references(names, scratch)
    logs = {name: record(references[name], scratch) for name in names}
    tally = Tally("power")
    for number in range(count):
        name = names[number % len(names)]
        cut(references[name], *logs[name], f"{seed}-{number}", tally, out, scratch)
    operations = {name: len(log) for name, (log, _) in logs.items()}
    return tally.finish(cuts=count, seed=seed, unsynced=_habits(logs), operations=sum(operations.values()))


def record(reference: Reference, scratch: Path) -> tuple[list[Operation], str]:
    """The file operations of an undisturbed run, and all that it printed meanwhile."""
    box, path = scratch / f"log-{reference.name}", scratch / f"{reference.name}.log"
    box.mkdir()
    child = Child(run_words(reference.scene, box / "run"), scratch, Shim(box, Counter(), log=path).install)
    child.wait()
    said = child.printed()
    outcome = child.outcome()
    if outcome.code != 0:
        raise SystemExit(f"{reference.name}: the logged run fails: {outcome.describe()}")
    operations = []
    with path.open("rb") as file:
        while True:
            try:
                operations.append(pickle.load(file))
            except EOFError:
                break
    shutil.rmtree(box)
    return operations, said


def cut(
    reference: Reference, log: list[Operation], said: str, label: str, tally: Tally, out: Path, scratch: Path
) -> None:
    """One cut: between two operations, anywhere in the run."""
    chance = random.Random(f"{label}/{reference.name}")
    at = chance.randint(1, len(log))
    box, root = scratch / f"cut-{label}", scratch / f"log-{reference.name}"
    Disk(root).replay(log[:at]).after_power_cut(box, chance)
    done = _reported(said[: log[at - 1].said], reference.unit)
    before = scratch / "before"
    shutil.rmtree(before, ignore_errors=True)
    shutil.copytree(box, before)
    verdict = bring_to_end(reference, box / "run", scratch)
    wrong = verdict.text if verdict.kind == "failure" else too_much_lost(reference, verdict, done)
    if wrong:
        wrong = f"cut after operation {at} of {len(log)}: {wrong}"
        tally.failure(reference.name, wrong, label=label, kept=keep_evidence(out, f"cut-{label}", before))
    else:
        tally.count(reference.name, verdict.kind, verdict.text)
    shutil.rmtree(box, ignore_errors=True)


def _reported(said: str, unit: str) -> int:
    lines = [line for line in said.splitlines() if line.endswith("}")]
    return sum(json.loads(line).get("unit") == unit for line in lines)


def _habits(logs: dict[str, tuple[list[Operation], str]]) -> dict[str, int]:
    """Renames, and how many of them were of a file with bytes that had not been synced, over all logs."""
    found = {"renames": 0, "of unsynced bytes": 0}
    for log, _ in logs.values():
        clean: set[str] = set()
        for operation in log:
            if operation.kind == "fsync":
                clean.add(operation.path)
            elif operation.kind == "truncate" or (operation.kind == "create"):
                clean.discard(operation.path)
            elif operation.kind == "rename":
                found["renames"] += 1
                found["of unsynced bytes"] += operation.path not in clean
    return found
