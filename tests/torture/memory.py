"""Want of memory: a child's address space is limited at random between what it begins with and what it needs.

It must finish or say one clear line: no traceback, no signal; then, without the limit, `resume` (or `run`, where
nothing had begun) must end bit-identical.
"""

from __future__ import annotations

import random
import re
import resource
import shutil
from pathlib import Path
from typing import Any

from torture.children import Child, run_words
from torture.report import Tally
from torture.results import Reference, bring_to_end, keep_evidence, make_references, refused
from torture.scenes import CASES, chosen


def torture(count: int, seed: int, out: Path, scratch: Path, scenes: str = "") -> dict[str, Any]:
    """`count` limits spread over the scenes; returns the figures."""
    names = [name for name in chosen(scenes) if CASES[name].threads == 1]
    references = make_references(names, scratch)
    needs = {name: _need(references[name], scratch) for name in names}
    tally = Tally("memory")
    for number in range(count):
        name = names[number % len(names)]
        starve(references[name], needs[name], f"{seed}-{number}", tally, out, scratch)
    return tally.finish(limits=count, seed=seed, need_mb={name: need >> 20 for name, need in needs.items()})


def starve(reference: Reference, need: int, label: str, tally: Tally, out: Path, scratch: Path) -> None:
    """One run with a limit, then without."""
    chance = random.Random(f"{label}/{reference.name}")
    extra = int(chance.uniform(0.0, 1.05) * need)
    box = scratch / f"memory-{label}"
    box.mkdir()
    child = Child(run_words(reference.scene, box / "run"), scratch, lambda: _limit(extra))
    outcome = child.outcome()
    wrong = "" if refused(outcome) or outcome.quiet else outcome.describe()
    if not wrong:
        verdict = bring_to_end(reference, box / "run", scratch)
        wrong = verdict.text if verdict.kind == "failure" else ""
        if not wrong and verdict.way != "resume" and outcome.steps(reference.unit) > 1:
            wrong = f"it had something to resume, but: {verdict.text}"
    if wrong:
        wrong = f"{extra >> 10} of {need >> 10} KiB: {wrong}"
        tally.failure(reference.name, wrong, label=label, kept=keep_evidence(out, f"memory-{label}", box))
    else:
        tally.count(reference.name, verdict.kind, outcome.lines[-1] if outcome.lines else "finished")
    shutil.rmtree(box, ignore_errors=True)


def _need(reference: Reference, scratch: Path) -> int:
    """Bytes of address space that an undisturbed run takes beyond what it begins with."""
    box = scratch / f"need-{reference.name}"
    box.mkdir()
    child = Child(run_words(reference.scene, box / "run"), scratch)
    first = status_bytes(child.pid, "VmSize")
    peak = first
    while not child.wait(0.002):
        peak = max(peak, status_bytes(child.pid, "VmPeak"))
    child.outcome()
    shutil.rmtree(box)
    return max(peak - first, 1 << 20)


def _limit(extra: int) -> None:
    most = status_bytes("self", "VmSize") + extra
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def status_bytes(process: int | str, name: str) -> int:
    """A size from /proc, in bytes; 0 when the process is gone."""
    try:
        text = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return 0
    found = re.search(rf"{name}:\s+(\d+) kB", text)
    return int(found[1]) << 10 if found else 0
