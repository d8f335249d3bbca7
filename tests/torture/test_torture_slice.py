"""A short slice of the torture kit, and that its parts can find what they are for."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from torture.attempt import attempt
from torture.disk import Disk
from torture.readers import READERS, Reader
from torture.shim import Operation

PARTS = [("folders", 15), ("kills", 1), ("faults", 6), ("power", 4), ("fuzz", 1900), ("corpus", 1)]
TESTS = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def figures(tmp_path_factory):
    """All parts in small doses, as `make torture` runs them."""
    out = tmp_path_factory.mktemp("torture")
    words = ["corpus", "folders", "kills", "faults", "power", "fuzz", "--scenes", "plume,edit,guided", "--workers", "1"]
    counts = ["--folders", "15", "--kills", "3", "--faults", "3", "--power", "4", "--fuzz", "2000", "--out", str(out)]
    paths = [str(TESTS), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    subprocess.run(
        [sys.executable, "-m", "torture", *words, *counts],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        stdout=subprocess.DEVNULL,
        check=False,
    )
    return {path.stem: json.loads(path.read_text()) for path in out.glob("*.json")}


@pytest.mark.parametrize(("part", "least"), PARTS)
def test_nothing_fails(figures, part, least):
    assert figures[part]["failures"] == []
    assert sum(sum(kinds.values()) for kinds in figures[part]["rows"].values()) >= least


def test_every_reader_reads_a_seed(tmp_path):
    for name in set(READERS) - {"result", "folder"}:  # which need a run
        reader = READERS[name]
        assert any(attempt(reader, seed, tmp_path)[0] == "read" for seed in reader.seeds), name


@pytest.mark.parametrize("error", [ValueError("x"), MemoryError(), RecursionError(), SystemExit(1)])
def test_a_strange_error_is_a_failure(error, tmp_path):
    def call(content, folder):
        raise error

    kind, fault = attempt(Reader("x", lambda: [b""], lambda *_: b"", call), b"", tmp_path)
    assert kind == "failure"
    assert type(error).__name__ in fault["what"]


@pytest.fixture
def cut_states(tmp_path):
    """What the file `a` may be, or None, after a cut at the end of some operations."""

    def states(operations):
        found = set()
        for seed in range(200):
            place = tmp_path / f"{len(operations)}-{operations[-1].kind}-{seed}"
            Disk("/r").replay(operations).after_power_cut(place, random.Random(seed))
            found.add((place / "a").read_bytes() if (place / "a").exists() else None)
        return found

    return states


OLD = [
    Operation("create", "/r/a"),
    Operation("write", "/r/a", content=b"old"),
    Operation("fsync", "/r/a", content=b"old"),
    Operation("fsync folder", "/r"),
]
WRITTEN = [*OLD, Operation("create", "/r/b"), Operation("write", "/r/b", content=b"newer")]
SYNCED = [*WRITTEN, Operation("fsync", "/r/b", content=b"newer")]
RENAME = Operation("rename", "/r/b", "/r/a")


def test_what_is_synced_survives_a_power_cut_and_nothing_else_does(cut_states):
    assert cut_states(OLD) == {b"old"}
    assert cut_states([*SYNCED, RENAME]) == {b"old", b"newer"}
    assert cut_states([*SYNCED, RENAME, Operation("fsync folder", "/r")]) == {b"newer"}
    torn = cut_states([*WRITTEN, RENAME])
    assert {b"old", b"", b"newer", b"new\0\0"} <= torn
    assert None in cut_states([*OLD, Operation("unlink", "/r/a")])
    assert None in cut_states(OLD[:-1])
