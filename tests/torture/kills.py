"""SIGKILL at random moments, once to three times in a run, then resume: bit-identical, or one clear line."""

from __future__ import annotations

import os
import random
import shutil
import time
from pathlib import Path
from typing import Any

from torture.children import Child, resume_words, run_words
from torture.report import Tally
from torture.results import Reference, bring_to_end, keep_evidence, make_references, too_much_lost
from torture.scenes import CASES, chosen

SLOW = 0.1
"""Share of the kills of a scene that starts processes of its own, which take seconds to import."""


def torture(count: int, seed: int, out: Path, scratch: Path, scenes: str = "") -> dict[str, Any]:
    """`count` kills spread over the scenes; returns the figures."""
    names = chosen(scenes)
    references = make_references(names, scratch)
    weights = [SLOW if CASES[name].threads > 1 else 1.0 for name in names]
    tally, kills, number = Tally("kills"), 0, 0
    while kills < count:
        chance = random.Random(f"{seed}/{number}")
        name = chance.choices(names, weights)[0] if number >= len(names) else names[number]
        kills += kill_a_run(references[name], chance, f"{seed}-{number}", tally, out, scratch)
        number += 1
    return tally.finish(kills=kills, runs=number, seed=seed)


def kill_a_run(reference: Reference, chance: random.Random, label: str, tally: Tally, out: Path, scratch: Path) -> int:
    """One run killed one to three times; returns how many kills met it alive."""
    box = scratch / f"kill-{label}"
    box.mkdir()
    folder, before = box / "run", box / "before"
    words, killed, done, moments = run_words(reference.scene, folder, reference.threads), 0, 0, []
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        moment = chance.uniform(0.0, 1.05 * reference.seconds)
        child = Child(words, scratch)
        alive = not child.wait(moment)
        if alive and chance.random() < 0.5:
            _wait_for_a_change(folder)
        if alive:
            child.kill()
            killed += 1
            moments.append(round(moment, 4))
        outcome = child.outcome()
        done += outcome.steps(reference.unit)
        if outcome.code not in (0, -9) and not outcome.clear:
            tally.failure(reference.name, f"before the kill: {outcome.describe()}", seed=label, moments=moments)
            break
        if not alive:
            break
        words = resume_words(folder, reference.threads)
    if folder.exists():
        shutil.copytree(folder, before)
    verdict = bring_to_end(reference, folder, scratch)
    text = verdict.text if verdict.kind == "failure" else too_much_lost(reference, verdict, done, max(killed, 1))
    if not text and verdict.way != "resume" and done > 1:
        text = f"it had something to resume, but: {verdict.text}"
    if text:
        tally.failure(reference.name, text, seed=label, moments=moments, kept=keep_evidence(out, f"kill-{label}", box))
    else:
        tally.count(reference.name, verdict.kind, verdict.text)
    shutil.rmtree(box, ignore_errors=True)
    return killed


def _wait_for_a_change(folder: Path) -> None:
    """Until something is being written: half of the kills come then, as most of a run's time is spent on numbers."""
    deadline, places = time.perf_counter() + 0.05, (folder, folder / "frames")
    first = [_changed(place) for place in places]
    while time.perf_counter() < deadline and [_changed(place) for place in places] == first:
        pass


def _changed(folder: Path) -> tuple[int, int]:
    """The time of the last change in a folder and of its checkpoint."""
    found = []
    for path in (folder, folder / "checkpoint.npz"):
        try:
            found.append(os.stat(path).st_mtime_ns)
        except OSError:
            found.append(0)
    return found[0], found[1]
