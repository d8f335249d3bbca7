"""Parts of a run for a farm, and its job description, run by openjd-cli where it is installed."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cluster_cases import FREE, bits

import keyfluid
from keyfluid.cli.frame_chunk import frames_in
from keyfluid.cli.main import main
from keyfluid.errors import KeyfluidError


def command(monkeypatch, capsys, *words):
    monkeypatch.setattr(sys, "argv", ["keyfluid", *map(str, words)])
    with pytest.raises(SystemExit) as end:
        main()
    captured = capsys.readouterr()
    return end.value.code or 0, captured.out, captured.err


def test_ranges_are_clamped_to_what_exists():
    there = list(range(12))
    assert frames_in("10-20", there) == [10, 11]
    assert frames_in("3", there) == [3]
    assert frames_in("9-", there) == [9, 10, 11]
    assert frames_in("0-1,5,4-6", there) == [0, 1, 4, 5, 6]
    assert frames_in("0-3", [0, 1]) == [0, 1]
    for text, words in (
        ("12-20", "this run has frames 0 to 11"),
        ("4-2", "ends before it begins"),
        ("a-b", "is not a range of frames"),
        ("-4", "is not a range of frames"),
        ("", "is not a range of frames"),
    ):
        with pytest.raises(KeyfluidError, match=words):
            frames_in(text, there)


def test_parts_together_are_the_whole(monkeypatch, capsys, tmp_path):
    run = keyfluid.run(FREE, tmp_path / "run", threads=1).folder
    assert command(monkeypatch, capsys, "export", run, "-o", tmp_path / "whole")[0] == 0
    for part in ("0-1", "2-9"):
        assert command(monkeypatch, capsys, "export", run, "--frames", part, "-o", tmp_path / "parts")[0] == 0
    whole = {path.name: path.read_bytes() for path in (tmp_path / "whole").glob("*.vdb")}
    assert len(whole) == 4
    assert {path.name: path.read_bytes() for path in (tmp_path / "parts").glob("*.vdb")} == whole
    assert command(monkeypatch, capsys, "render", run, "--frames", "1-2")[0] == 0
    assert sorted(path.name for path in (run / "png").iterdir()) == ["free.1002.png", "free.1003.png"]
    code, _, err = command(monkeypatch, capsys, "render", run, "--frames", "9-12")
    assert (code, err) == (2, "keyfluid: --frames 9-12: this run has frames 0 to 3\n")


def test_a_run_that_a_farm_repeats_is_continued(monkeypatch, capsys, tmp_path):
    scene, folder = tmp_path / "free.toml", tmp_path / "run"
    scene.write_text(FREE)
    whole = keyfluid.run(FREE, tmp_path / "whole", threads=1)
    calls = iter([False] * 2 + [True] * 100)
    part = keyfluid.run(FREE, folder, threads=1, should_stop=lambda: next(calls))
    assert part.metrics["status"] == "stopped"
    for _ in range(2):
        code, _, err = command(monkeypatch, capsys, "run", scene, "-o", folder, "--threads", "1", "--continue")
        assert code == 0, err
    assert bits(folder) == bits(whole.folder)


@pytest.fixture
def scene(monkeypatch, tmp_path):
    (tmp_path / "free.toml").write_text(FREE)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "free.toml"


def openjd():
    found = shutil.which("openjd") or shutil.which("openjd", path=Path(sys.executable).parent)
    if found is None:
        pytest.skip("openjd-cli is not installed: pip install openjd-cli")
    return found


def openjd_runs(template, tmp_path, step):
    wrapper = tmp_path / "keyfluid"
    wrapper.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m keyfluid "$@"\n')
    wrapper.chmod(0o755)
    words = [openjd(), "run", str(template), "--step", step, "-p", f"Keyfluid={wrapper}", "--run-dependencies"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_wedge_of_three_through_openjd(monkeypatch, capsys, scene, tmp_path):
    values = "smoke.initial.velocity=[0.1,0.0],[0.2,0.0],[0.3,0.0]"
    code, out, err = command(monkeypatch, capsys, "farm", scene, values, "--openjd", "-o", tmp_path / "w")
    assert code == 0, err
    steps = json.loads(out)["steps"]
    assert [step["name"] for step in steps] == ["Variants", "Compare"]
    assert steps[0]["parameterSpace"]["taskParameterDefinitions"][0]["range"] == "0-2"
    template = tmp_path / "job.json"
    template.write_text(out)
    openjd_runs(template, tmp_path, "Compare")
    table = json.loads((tmp_path / "w" / "wedge.json").read_text())
    assert [entry["status"] for entry in table.values()] == ["finished"] * 3


def test_a_run_and_its_pictures_through_openjd(monkeypatch, capsys, scene, tmp_path):
    code, out, err = command(monkeypatch, capsys, "farm", scene, "--openjd", "--chunk", "2", "-o", tmp_path / "run")
    assert code == 0, err
    assert json.loads(out)["steps"][1]["parameterSpace"]["taskParameterDefinitions"][0]["range"] == ["0-1", "2-3"]
    template = tmp_path / "job.json"
    template.write_text(out)
    openjd_runs(template, tmp_path, "Render")
    assert len(list((tmp_path / "run" / "png").glob("*.png"))) == 4


def test_of_a_scene_with_upres_the_film_is_drawn(monkeypatch, capsys, scene):
    keyed = FREE + "[[keyframe]]\nframe = 3\nshape = 'disk'\n[control]\nmethod = 'spectral'\n[upres]\nfactor = 2\n"
    scene.write_text(keyed)
    code, out, err = command(monkeypatch, capsys, "farm", scene, "--openjd")
    assert code == 0, err
    draw = json.loads(out)["steps"][1]["script"]["actions"]["onRun"]["args"]
    assert draw[:2] == ["render", "{{Param.Output}}/upres"]


def test_a_faulty_wedge_makes_no_job(monkeypatch, capsys, scene):
    code, _, err = command(monkeypatch, capsys, "farm", scene, "smoke.buoyancy=1,x", "--openjd")
    assert code == 2
    assert "smoke.buoyancy" in err
