"""Stopped, killed or damaged: a run goes on to the same bits, or says in one line why it can't."""

from __future__ import annotations

import errno
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from run_scenes import STILL, busy, write_scene

import keyfluid
from keyfluid.fluids.smoke.steps import SmokeSteps
from keyfluid.io import container
from keyfluid.io.run.run_folder import RunFolder
from keyfluid.runs.run import open_run
from waiting import wait_until

KILLS = 10
FRAMES = 150
MAY_DIFFER = ("seconds", "peak_memory_mb")


def start(*words):
    return subprocess.Popen(
        [sys.executable, "-m", "keyfluid", *map(str, words), "--threads", "1"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def frames_of(folder):
    return {path.name: path.read_bytes() for path in sorted((folder / "frames").glob("*.npz"))}


def assert_same_frames(folder, wanted):
    """Names the first array that differs: megabytes of bytes tell nobody anything."""
    found, expected = frames_of(folder), frames_of(wanted)
    assert list(found) == list(expected)
    for name in expected:
        if found[name] != expected[name]:
            (ours, our_meta), (theirs, their_meta) = (
                container.load_arrays(run / "frames" / name) for run in (folder, wanted)
            )
            differ = [key for key in theirs if ours[key].tobytes() != theirs[key].tobytes()]
            pytest.fail(f"{name}: arrays {differ} differ; meta {our_meta} against {their_meta}")


def result_of(folder):
    result = json.loads((folder / "result.json").read_text())
    return {name: value for name, value in result.items() if name not in MAY_DIFFER}


def wait_for_frame(folder, index, process):
    path = folder / "frames" / f"{index:04d}.npz"
    wait_until(lambda: path.exists() or process.poll() is not None, f"frame {index}")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    scene = write_scene(folder, busy(FRAMES))
    overrides = ["output.vdb=false", "output.video=false", "output.keep=all"]  # its copies stand for unfinished runs
    keyfluid.run(scene, folder / "run", threads=1, overrides=overrides)
    return folder / "run"


def test_killed_ten_times_it_ends_in_the_same_bits(undisturbed, tmp_path):
    chance = random.Random(11)
    folder = tmp_path / "run"
    moments = sorted(chance.sample(range(1, FRAMES - 2), KILLS))
    process = start("run", undisturbed / "scene.toml", "-o", folder)
    for moment in moments:
        wait_for_frame(folder, moment, process)
        time.sleep(chance.uniform(0, 0.02))  # what is tested: a kill at any moment after that
        process.kill()
        process.communicate()
        process = start("resume", folder)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert_same_frames(folder, undisturbed)
    assert result_of(folder) == result_of(undisturbed)


def test_ctrl_c_saves_and_says_how_to_go_on(undisturbed, tmp_path):
    folder = tmp_path / "run"
    process = start("run", undisturbed / "scene.toml", "-o", folder)
    wait_for_frame(folder, 5, process)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert f"keyfluid resume {folder}" in errors
    assert "Traceback" not in errors
    assert json.loads((folder / "result.json").read_text())["status"] == "stopped"
    result = keyfluid.resume(folder, threads=1)
    assert result.finished
    assert_same_frames(folder, undisturbed)


def copy_of(folder, target):
    shutil.copytree(folder, target)
    return target


def test_the_tail_can_be_made_again(undisturbed, tmp_path):
    folder = copy_of(undisturbed, tmp_path / "run")
    seen = []
    keyfluid.resume(folder, from_frame=FRAMES - 4, threads=1, progress=seen.append)
    assert [p.done for p in seen if p.unit == "frame"] == [FRAMES - 3, FRAMES - 2, FRAMES - 1, FRAMES]
    assert_same_frames(folder, undisturbed)
    assert result_of(folder) == result_of(undisturbed)
    with pytest.raises(keyfluid.KeyfluidError, match="--from 999"):
        keyfluid.resume(folder, from_frame=999)


def cut(path):
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("harm", [cut, flip])
def test_a_damaged_frame_is_found_and_can_be_made_again(undisturbed, tmp_path, harm):
    folder = copy_of(undisturbed, tmp_path / "run")
    harm(folder / "frames" / "0147.npz")
    with pytest.raises(keyfluid.KeyfluidError, match=r"0147\.npz: is damaged or cut short; .*--from 146 recomputes it"):
        keyfluid.resume(folder)
    keyfluid.resume(folder, from_frame=146, threads=1)
    assert_same_frames(folder, undisturbed)


@pytest.mark.parametrize("harm", [cut, flip, Path.unlink, lambda path: path.write_bytes(b"")])
def test_a_damaged_checkpoint_costs_one_frame(undisturbed, tmp_path, harm):
    folder = copy_of(undisturbed, tmp_path / "run")
    harm(folder / "checkpoint.npz")
    (folder / "result.json").unlink()  # it had not ended yet
    seen = []
    keyfluid.resume(folder, threads=1, progress=seen.append)
    assert [p.done for p in seen if p.unit == "frame"] == [FRAMES], "only the last frame is made again"
    assert any("checkpoint.npz" in p.note for p in seen) is (harm is not Path.unlink)
    assert_same_frames(folder, undisturbed)
    assert result_of(folder) == result_of(undisturbed)


@pytest.mark.parametrize("harm", [cut, flip, Path.unlink])
def test_where_both_checkpoints_are_damaged_frames_stand_in(undisturbed, tmp_path, harm):
    folder = copy_of(undisturbed, tmp_path / "run")
    harm(folder / "checkpoint.npz")
    harm(folder / "checkpoint.before.npz")
    (folder / "frames" / "0150.npz").unlink()
    (folder / "result.json").unlink()
    with pytest.raises(keyfluid.KeyfluidError, match=r"checkpoint.*--from 149"):
        keyfluid.resume(folder)
    keyfluid.resume(folder, from_frame=149, threads=1)
    assert_same_frames(folder, undisturbed)


def test_a_finished_run_is_only_looked_at(undisturbed, tmp_path):
    """Also where its checkpoint was removed for its size, or its result.json is damaged."""
    folder = copy_of(undisturbed, tmp_path / "run")
    cut(folder / "checkpoint.npz")
    assert keyfluid.resume(folder).finished
    (folder / "checkpoint.npz").unlink()
    assert keyfluid.resume(folder).finished
    assert_same_frames(folder, undisturbed)
    shutil.copy(undisturbed / "checkpoint.npz", folder)
    (folder / "result.json").write_text("{")
    assert keyfluid.resume(folder).finished
    assert_same_frames(folder, undisturbed)
    assert result_of(folder) == result_of(undisturbed)


class FaultyDisk:
    """os as the run sees it, with one operation that fails from its nth call on."""

    def __init__(self, monkeypatch, operation, after):
        self.calls, self.after, self.operation = 0, after, getattr(os, operation)
        monkeypatch.setattr(os, operation, self)

    def __call__(self, *words, **rest):
        self.calls += 1
        if self.calls > self.after:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return self.operation(*words, **rest)


@pytest.mark.parametrize(("operation", "after"), [("fsync", 14), ("replace", 6), ("write", 7), ("open", 40)])
def test_a_full_disk_keeps_what_is_done(tmp_path, monkeypatch, operation, after):
    folder = tmp_path / "run"
    FaultyDisk(monkeypatch, operation, after)
    with pytest.raises(keyfluid.KeyfluidError, match=r"No space left on device.*then: keyfluid resume .*run$"):
        keyfluid.run(STILL, folder, threads=1)
    monkeypatch.undo()
    assert not [path for path in folder.rglob("*.part") if path.stat().st_size]
    assert keyfluid.resume(folder, threads=1).finished
    assert not list(folder.rglob("*.part"))
    whole = keyfluid.run(STILL, tmp_path / "whole", threads=1)
    assert_same_frames(folder, whole.folder)
    assert {p.name for p in folder.iterdir()} == {p.name for p in whole.folder.iterdir()}


@pytest.mark.parametrize("operation", ["fsync", "replace", "write", "open", "mkdir"])
def test_a_disk_that_is_full_from_the_start_leaves_nothing(tmp_path, monkeypatch, operation):
    FaultyDisk(monkeypatch, operation, 0)
    with pytest.raises(keyfluid.KeyfluidError, match="No space left"):
        keyfluid.run(STILL, tmp_path / "deep" / "run", threads=1)
    monkeypatch.undo()
    assert not (tmp_path / "deep").exists()


def test_a_kernel_that_can_not_be_cached_is_no_traceback(tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "kernels.nbc")

    monkeypatch.setattr(SmokeSteps, "advance", fail)
    with pytest.raises(keyfluid.KeyfluidError, match=r"kernels\.nbc: No space left on device"):
        keyfluid.run(STILL, tmp_path / "run")
    monkeypatch.undo()
    assert keyfluid.resume(tmp_path / "run").finished


def test_leftovers_of_a_killed_process_are_swept(tmp_path):
    """Those that the record says were under way, and nothing else."""
    folder = keyfluid.run(STILL, tmp_path / "run").folder
    with (folder / ".keyfluid").open("a") as record:
        record.write('{"file": "frames/0003.npz"}\n{"file": "strip.png"}\n{"file": "half a li')
    left = [folder / ".strip.png.part", folder / "frames" / ".0003.npz.part"]
    mine = [folder / ".notes.part", folder / ".video.x1.webp"]
    for path in left + mine:
        path.write_text("half")
    keyfluid.resume(folder, from_frame=2)
    assert not any(path.exists() for path in left)
    assert all(path.exists() for path in mine)


def test_two_processes_do_not_share_a_folder(tmp_path):
    """Whatever writes to it: run, resume, render, export."""
    scene = write_scene(tmp_path, STILL)
    result = keyfluid.run(scene, tmp_path / "run")
    kept = frames_of(result.folder)
    other = RunFolder.open(result.folder)
    for words in (
        ["run", scene, "-o", result.folder, "--overwrite"],
        ["resume", result.folder],
        ["render", result.folder],
        ["export", result.folder],
    ):
        done = subprocess.run(
            [sys.executable, "-m", "keyfluid", *map(str, words)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 2, words
        assert "another keyfluid process" in done.stderr
    other.close()
    assert frames_of(result.folder) == kept
    assert keyfluid.resume(result.folder).finished


def test_a_killed_run_says_interrupted(tmp_path):
    """Not "running" for ever."""
    result = keyfluid.run(STILL, tmp_path / "run")
    written = json.loads((result.folder / "result.json").read_text())
    (result.folder / "result.json").write_text(json.dumps({**written, "status": "running"}))
    assert RunFolder.find(result.folder).result()["status"] == "interrupted"
    other = RunFolder.open(result.folder)
    assert RunFolder.find(result.folder).result()["status"] == "running"
    other.close()
    assert open_run(result.folder).metrics["status"] == "interrupted"
    for status in ("stopped", "finished"):
        (result.folder / "result.json").write_text(json.dumps({**written, "status": status}))
        assert open_run(result.folder).metrics["status"] == status
