"""Every file operation of a run may fail: EIO, a full disk, a short write before it, or the process is gone.

A dry run counts the operations, of a whole run and of the resume of a half one. Then faults are dealt over them: all
numbers in turn if they are few, else at random. The process must end with one clear line (or finish, where nothing of
worth was hit); once the fault is lifted, `resume` must end bit-identical, or `run` where nothing had begun.
"""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

from torture.children import Child, resume_words, run_words
from torture.report import Tally
from torture.results import Reference, bring_to_end, keep_evidence, make_references, refused, too_much_lost
from torture.scenes import CASES, METHODS, chosen
from torture.shim import FAULTS, GONE, Counter, Shim


def torture(count: int, seed: int, out: Path, scratch: Path, scenes: str = "") -> dict[str, Any]:
    """`count` faults for each method, spread over its scenes; returns the figures."""
    names = [name for name in chosen(scenes) if CASES[name].threads == 1]
    references = make_references(names, scratch)
    tally = Tally("faults")
    for method in METHODS:
        mine = [name for name in names if CASES[name].method == method]
        for place, name in enumerate(mine):
            share = count // len(mine) + (place < count % len(mine))
            fault_a_scene(references[name], share, seed, tally, out, scratch)
    return tally.finish(faults_per_method=count, seed=seed)


def fault_a_scene(reference: Reference, count: int, seed: int, tally: Tally, out: Path, scratch: Path) -> None:
    """Faults in the run and, every third, in the resume of a half run."""
    half = scratch / f"half-{reference.name}"
    shutil.rmtree(half, ignore_errors=True)
    whole = _operations(run_words, reference, scratch / "dry", scratch)
    _struck(run_words, reference, half, scratch, "exit", whole // 2)
    rest = _operations(resume_words, reference, scratch / "dry", scratch, half)
    if whole < 0 or rest < 0:
        what = "the undisturbed run" if whole < 0 else "the resume of a run that ended suddenly half-way"
        tally.failure(reference.name, f"{what} fails", kept=keep_evidence(out, f"half-{reference.name}", half))
    chance = random.Random(f"{seed}/{reference.name}")
    plans = [(False, fault, at) for at in range(whole) for fault in FAULTS]
    plans += [(True, fault, at) for at in range(rest) for fault in FAULTS]
    chance.shuffle(plans)
    plans.sort(key=lambda plan: plan[0])  # the order stays random within each half
    halves = [plan for plan in plans if plan[0]][: count // 3]
    wholes = [plan for plan in plans if not plan[0]][: count - len(halves)]
    for number, plan in enumerate(wholes + halves):
        _fault(reference, plan, half, f"{reference.name}-{seed}-{number}", tally, out, scratch)


def _fault(
    reference: Reference, plan: tuple[bool, str, int], half: Path, label: str, tally: Tally, out: Path, scratch: Path
) -> None:
    resumed, fault, at = plan
    row = f"{reference.name} {fault}"
    box = scratch / f"fault-{label}"
    if resumed:
        shutil.copytree(half, box)
    outcome = _struck(resume_words if resumed else run_words, reference, box, scratch, fault, at)
    done = outcome.steps(reference.unit)
    wrong = ""
    if outcome.hung or not (refused(outcome) or outcome.quiet or (fault == "exit" and outcome.code == GONE)):
        wrong = f"{fault} at operation {at} of {'resume' if resumed else 'run'}: {outcome.describe()}"
    if not wrong:
        if box.exists():
            shutil.copytree(box, scratch / "before")
        verdict = bring_to_end(reference, box / "run", scratch)
        wrong = verdict.text if verdict.kind == "failure" else ""
        if not wrong and not resumed:
            wrong = too_much_lost(reference, verdict, done)
        if not wrong and verdict.way != "resume" and (done > 1 or resumed):
            wrong = f"it had something to resume, but: {verdict.text}"
        if wrong:
            wrong = f"after {fault} at operation {at} of {'resume' if resumed else 'run'}: {wrong}"
        else:
            tally.count(row, verdict.kind, verdict.text)
    if wrong:
        shown = scratch / "before" if (scratch / "before").exists() else box
        tally.failure(row, wrong, label=label, plan=plan, kept=keep_evidence(out, f"fault-{label}", shown))
    shutil.rmtree(box, ignore_errors=True)
    shutil.rmtree(scratch / "before", ignore_errors=True)


def _struck(words: Any, reference: Reference, box: Path, scratch: Path, fault: str, at: int) -> Any:
    """A run or resume in the box with one fault."""
    box.mkdir(exist_ok=True)
    shim = Shim(box, Counter(), fault, at)
    return Child(_words(words, reference, box), scratch, shim.install).outcome()


def _operations(words: Any, reference: Reference, box: Path, scratch: Path, half: Path | None = None) -> int:
    """How many file operations an undisturbed run, or the resume of a half one, does; -1 if it fails."""
    shutil.rmtree(box, ignore_errors=True)
    if half is None:
        box.mkdir()
    else:
        shutil.copytree(half, box)
    counter = Counter()
    outcome = Child(_words(words, reference, box), scratch, Shim(box, counter).install).outcome()
    shutil.rmtree(box)
    return counter.value if outcome.code == 0 else -1


def _words(words: Any, reference: Reference, box: Path) -> list[str]:
    if words is run_words:
        return run_words(reference.scene, box / "run", reference.threads)
    return resume_words(box / "run", reference.threads)
