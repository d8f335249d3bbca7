"""What must be equal between a disturbed run and an undisturbed one, and how a disturbed one is brought to its end."""

from __future__ import annotations

import fnmatch
import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from keyfluid.errors import KeyfluidError
from keyfluid.io.container import load_arrays
from torture.children import Child, Outcome, resume_words, run_words, warm
from torture.scenes import CASES, write_scene

TIMINGS = ("seconds", "peak_memory_mb", "threads")
PICTURES = ("vdb/*", "png/*", "ply/*", "mesh/*", "video.*", "strip.png")
FILM = "upres"
OWN = ("checkpoint*", ".keyfluid*", f"{FILM}/checkpoint*", f"{FILM}/.keyfluid*")
"""Names that two finished runs may have in different number."""


@dataclass
class Reference:
    """An undisturbed run of a case, as a child makes it."""

    name: str
    scene: Path
    folder: Path
    unit: str
    steps: int
    seconds: float

    @property
    def threads(self) -> int:
        return CASES[self.name].threads


@dataclass(frozen=True)
class Verdict:
    """kind: "identical", "clear line" or "failure". way: how it came to its end. steps: iterations it did for that."""

    kind: str
    way: str
    text: str = ""
    steps: int = 0


_made: dict[str, Reference] = {}


def make_references(names: list[str], scratch: Path) -> dict[str, Reference]:
    """Warm up, then run each case undisturbed in a child; once for all parts."""
    place = scratch.parent / "whole"
    place.mkdir(exist_ok=True)
    new = [name for name in names if name not in _made]
    warm(new, place / "warm")
    _made.update({name: make_reference(name, place) for name in new})
    return {name: _made[name] for name in names}


def make_reference(name: str, place: Path) -> Reference:
    """An undisturbed run of a case."""
    case = CASES[name]
    base = place / "warm" / case.base if case.base is not None else None
    scene = write_scene(name, place / f"{name}.toml", base)
    outcome = Child(run_words(scene, place / name, case.threads), place).outcome()
    if outcome.code != 0:
        raise SystemExit(f"{name}: the undisturbed run fails: {outcome.describe()}")
    unit = outcome.reports[0]["unit"] if outcome.reports else "frame"
    if case.optimises:
        unit = next(report["unit"] for report in outcome.reports if report["unit"] not in ("note", "frame"))
    return Reference(name, scene, place / name, unit, outcome.steps(unit), outcome.seconds)


def frames_of(folder: Path) -> dict[str, dict[str, bytes]]:
    """Every array of every frame, as bytes."""
    found = {}
    for path in sorted((folder / "frames").glob("*.npz")):
        arrays, _ = load_arrays(path)
        found[path.name] = {name: array.tobytes() for name, array in arrays.items()}
    return found


def result_of(folder: Path) -> dict[str, Any]:
    """result.json without what two equal runs may differ in."""
    result = json.loads((folder / "result.json").read_text())
    return {name: value for name, value in result.items() if name not in TIMINGS}


def names_of(folder: Path) -> set[str]:
    """Files that must be the same; a checkpoint's parts may differ in number."""
    found = (str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir())
    return {name for name in found if not any(fnmatch.fnmatch(name, pattern) for pattern in OWN)}


def difference(folder: Path, whole: Path) -> str:
    """The first difference between two finished runs, and the films of both; empty if there is none."""
    found = _difference(folder, whole)
    return found if found or not (whole / FILM).exists() else _difference(folder / FILM, whole / FILM)


def _difference(folder: Path, whole: Path) -> str:
    try:
        ours, theirs = frames_of(folder), frames_of(whole)
        if ours.keys() != theirs.keys():
            return f"frames {sorted(ours.keys() ^ theirs.keys())} are on one side only"
        for name, arrays in theirs.items():
            if arrays.keys() != ours[name].keys():
                return f"frames/{name} has arrays {sorted(ours[name])}, not {sorted(arrays)}"
            strange = [key for key, array in arrays.items() if ours[name][key] != array]
            if strange:
                return f"frames/{name}: {', '.join(strange)} differ in bits"
        ours_result, theirs_result = result_of(folder), result_of(whole)
        for key in theirs_result.keys() | ours_result.keys():
            if ours_result.get(key) != theirs_result.get(key):
                return f"result.json: {key} is {ours_result.get(key)!r}, not {theirs_result.get(key)!r}"[:400]
        mine, yours = names_of(folder), names_of(whole)
        if mine - yours:
            return f"left over: {', '.join(sorted(mine - yours))}"
        if yours - mine:
            return f"missing: {', '.join(sorted(yours - mine))}"
        for pattern in PICTURES:
            for path in whole.glob(pattern):
                if path.read_bytes() != (folder / path.relative_to(whole)).read_bytes():
                    return f"{path.relative_to(whole)} differs"
    except (KeyfluidError, OSError, ValueError) as error:
        return f"{type(error).__name__}: {error}"
    return ""


def bring_to_end(reference: Reference, folder: Path, scratch: Path) -> Verdict:
    """Resume; where that is refused in one line, run again, at last with --overwrite. What ends must be identical."""
    said = ""
    for way in ("resume", "run", "overwrite"):
        words = resume_words(folder, reference.threads)
        if way != "resume":
            words = run_words(reference.scene, folder, reference.threads)
            words += ["--overwrite"] if way == "overwrite" else []
        outcome = Child(words, scratch).outcome()
        if outcome.code == 0:
            wrong = "" if outcome.quiet else f"noise on standard error: {outcome.describe()}"
            wrong = wrong or difference(folder, reference.folder)
            kind = "failure" if wrong else "identical" if way == "resume" else "clear line"
            return Verdict(kind, way, wrong or said, outcome.steps(reference.unit))
        if not outcome.clear:
            return Verdict("failure", way, f"after {way}: {outcome.describe()}")
        said = said or outcome.lines[-1]
    return Verdict("failure", "none", f"neither resumes nor runs again: {outcome.describe()}")


def too_much_lost(reference: Reference, verdict: Verdict, done: int, interruptions: int = 1) -> str:
    """Of an optimisation that had reported `done` iterations: has it lost more than the last one (for each
    interruption)? The whole work of all processes may exceed an undisturbed run's by that much."""
    if not CASES[reference.name].optimises or verdict.kind == "failure":
        return ""
    if verdict.way != "resume":
        return f"{done} iterations lost: {verdict.text}" if done > 1 else ""
    extra = done + verdict.steps - reference.steps
    return f"{extra} iterations done twice after {interruptions} interruptions" if extra > interruptions else ""


def keep_evidence(out: Path, label: str, folder: Path) -> str:
    """A copy of a folder beside the report; failures are few, and hard to make again."""
    place = out / "evidence" / label
    shutil.rmtree(place, ignore_errors=True)
    if folder.exists():
        shutil.copytree(folder, place, symlinks=True)
    return str(place)


def refused(outcome: Outcome) -> bool:
    """A disturbed process may say so in one line, or be gone; never a traceback."""
    return outcome.clear or outcome.code == 130
