"""The ten jobs of examples/: each runs small, with numbers that are pinned; the full scenes build and plan."""

from __future__ import annotations

import importlib.util
import json
import os
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from doc_blocks import PAGES, ROOT

import keyfluid
from keyfluid.runs.run import plan_run

EXAMPLES = ROOT / "examples"
NEAR = 0.02
"""Results are bit-identical for any number of threads; another processor may differ in the last bits."""


def jobs_module() -> Any:
    spec = importlib.util.spec_from_file_location("keyfluid_examples", ROOT / "benchmarks" / "results" / "examples.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


JOBS = jobs_module()

PINNED: dict[str, dict[str, tuple[float, float]]] = {
    "logo": {"density": (0.289, 0.885)},
    "drawing": {"orange": (0.327, 0.911), "teal": (0.486, 0.510), "navy": (0.777, 0.063)},
    "preview": {"density": (0.314, 0.750)},
    "mesh": {"density": (0.357, 0.785)},
    "swap": {"ember": (0.386, 0.773), "ice": (0.486, 0.679)},
    "edit": {"density": (0.038, 0.988)},
    "creature_target": {"density": (0.151, 0.885)},
    "creature_particles": {"density": (0.413, 0.684)},
    "water": {"surface": (0.217, 0.893)},
}
"""Relative error and IoU of a job's last keyframe, per field."""
ARRAYS = 0.118


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("examples")


@pytest.mark.parametrize("name", PINNED)
def test_a_job_has_its_numbers(name: str, folder: Path) -> None:
    result = JOBS.run_job(name, folder, small=True)
    last = {key["field"]: key for key in result.metrics["keyframes"]}
    found = {field: (key["relative_error"], key["iou"]) for field, key in last.items()}
    assert found.keys() == PINNED[name].keys()
    for field, numbers in PINNED[name].items():
        assert found[field] == pytest.approx(numbers, abs=NEAR), found
    if name == "logo":
        assert last["density"]["mass_ratio"] == pytest.approx(1.158, abs=0.05), "0.73 while smoke missed its upper line"
        assert JOBS.part_overlaps(result) == pytest.approx({"KEY": 0.944, "FLUID": 0.854}, abs=NEAR)
        assert centre(result, 72) > centre(result, 56) + 0.1, "the wind blows to the right"
    if name == "edit":
        before = keyfluid.open_run(folder / "plume")
        kept = result.problem.scene.edit.first
        for frame in (0, kept // 2, kept):
            assert np.array_equal(result.frames[frame].densities["density"], before.frames[frame].densities["density"])
        assert centre(result, 44) > centre(before, 44) + 0.02, "bent to the right"


def centre(result: Any, frame: int) -> float:
    """x of the centre of the smoke in metres, in a domain one metre wide."""
    over_x = result.frames[frame].densities["density"].sum(axis=1)
    return float(over_x @ (np.arange(len(over_x)) + 0.5) / len(over_x) / over_x.sum())


def test_arrays_to_arrays() -> None:
    density, error = runpy.run_path(str(EXAMPLES / "10_arrays.py"))["film"](24, 12)
    assert density.shape == (13, 24, 24)
    assert error == pytest.approx(ARRAYS, abs=NEAR)


def test_a_session(tmp_path: Path) -> None:
    """Wedge, Ctrl-C, resume, another camera, export; the resumed run is bit-identical to one that nothing stopped."""
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "keyfluid").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m keyfluid "$@"\n')
    (tools / "keyfluid").chmod(0o755)
    small = [f"--set={change}" for change in (*JOBS.JOBS["session"].small, "output.size=32")]
    done = subprocess.run(
        ["sh", str(EXAMPLES / "09_session.sh"), "out", *small],
        cwd=tmp_path, env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "stopped, exit code 130" in done.stdout
    assert len(json.loads((tmp_path / "out" / "wedge" / "wedge.json").read_text())) == 4
    assert (tmp_path / "out" / "wedge" / "wedge.png").is_file()
    stopped = keyfluid.open_run(tmp_path / "out" / "plume")
    assert stopped.finished
    changes = [*JOBS.JOBS["session"].small, "smoke.vorticity=6"]
    whole = keyfluid.run(keyfluid.load_scene(EXAMPLES / "09_plume.toml", changes), threads=1)
    for resumed, straight in zip(stopped.frames, whole.frames, strict=True):
        assert np.array_equal(resumed.densities["density"], straight.densities["density"])
    assert len(list((tmp_path / "out" / "vdb").rglob("*.vdb"))) == len(whole.frames)
    assert list((tmp_path / "out" / "film").glob("video.*"))


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.toml")), ids=lambda path: path.stem)
def test_a_full_scene_builds_and_plans(path: Path, tmp_path: Path) -> None:
    job = next(job for job in JOBS.JOBS.values() if job.scene == path.stem and not job.preview)
    if job.edits is not None:
        JOBS.run_job(job.edits, tmp_path, small=False)
    plan_run(keyfluid.build(JOBS.scene_of(job, tmp_path, job.brief)))


def test_every_example_is_explained() -> None:
    files = {path.name for path in EXAMPLES.iterdir() if path.suffix in (".toml", ".sh", ".py")}
    for page in (EXAMPLES / "README.md", ROOT / "docs" / "examples.md"):
        text = page.read_text(encoding="utf-8")
        assert [name for name in sorted(files) if name not in text] == []
    assert EXAMPLES / "README.md" in PAGES, "its commands and links are checked"
    assert {int(name.split("_")[0]) for name in files} == {*range(1, 11)} - {4}, "job 4 is a command"
