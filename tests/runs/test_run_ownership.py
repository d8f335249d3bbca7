"""A run never touches a person's files: not in its folder, not behind a link, not the inputs of its scene."""

from __future__ import annotations

import hashlib
import os
import random
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from run_scenes import STILL, write_scene

import keyfluid
from keyfluid.io.run.aside import ASIDE
from keyfluid.io.run.owned import OwnedFolder
from keyfluid.io.run.record import MARKER, Record

THEIRS = (
    "mesh/statue.ply", "png/holiday.png", "vdb/cloud.vdb", "ply/scan.ply", "frames/data.npz", "frames/0007.npz",
    "video.mp4", "video.gif", "strip.png", "report.html", "checkpoint.mine.npz", "latest.png", "changes.json",
    "notes.txt",
)  # fmt: skip
"""Names that a run uses, or that stand where it would write."""


def command(*words, cwd=None):
    return subprocess.run(
        [sys.executable, "-m", "keyfluid", *map(str, words)], capture_output=True, text=True, check=False, cwd=cwd
    )


def fill(folder: Path, names=THEIRS) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(f"{name} is somebody's".encode())


def hashes(folder: Path) -> dict[str, str]:
    """Every file, link and folder below, with what is in it."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = f"link to {os.readlink(path)}"
        elif path.is_file():
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
        else:
            found[name] = "folder"
    return found


def refused(done, words: str) -> None:
    assert done.returncode == 2, done.stderr
    assert words in done.stderr
    assert [line.startswith("keyfluid: ") for line in done.stderr.splitlines()].count(True) == 1, done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("overwrite", [[], ["--overwrite"]])
def test_a_folder_of_somebody_elses_is_left_alone(tmp_path, overwrite):
    folder = tmp_path / "work"
    fill(folder)
    before = hashes(folder)
    refused(command("run", write_scene(tmp_path, STILL), "-o", folder, *overwrite), "holds files that no keyfluid run")
    assert hashes(folder) == before


def test_links_are_not_followed(tmp_path):
    """In a folder that is a run's: a link in the place of its folders, or of its files, leads nowhere."""
    scene = write_scene(tmp_path, STILL.replace("vdb = false", "vdb = true\npng = true"))
    keyfluid.run(scene, tmp_path / "run", threads=1)
    elsewhere = tmp_path / "elsewhere"
    fill(elsewhere, ["still.0001.png", "still.1001.png", "still.1002.png", "target.png"])
    before = hashes(elsewhere)
    for name in ("png", "vdb"):
        for path in (tmp_path / "run" / name).iterdir():
            path.unlink()
        (tmp_path / "run" / name).rmdir()
    (tmp_path / "run" / "png").symlink_to(elsewhere)
    (tmp_path / "run" / "vdb").symlink_to(elsewhere)
    refused(command("run", scene, "-o", tmp_path / "run", "--overwrite"), "is a link")
    refused(command("export", tmp_path / "run"), "is a link")
    refused(command("render", tmp_path / "run", "--png"), "is a link")
    (tmp_path / "run" / "png").unlink()
    (tmp_path / "run" / "vdb").unlink()
    (tmp_path / "run" / "strip.png").unlink()
    (tmp_path / "run" / "strip.png").symlink_to(elsewhere / "target.png")
    refused(command("render", tmp_path / "run"), "strip.png")
    refused(command("run", scene, "-o", tmp_path / "run", "--overwrite"), "strip.png")
    assert hashes(elsewhere) == before


@pytest.mark.parametrize("kind", ["link", "folder", "file"])
def test_the_place_of_an_old_run_may_be_taken(tmp_path, kind):
    folder, elsewhere = keyfluid.run(STILL, tmp_path / "run", threads=1).folder, tmp_path / "elsewhere"
    fill(elsewhere, ["a.txt"])
    if kind == "link":
        (folder / ASIDE).symlink_to(elsewhere)
    else:
        fill(folder, [ASIDE if kind == "file" else f"{ASIDE}/mine.txt"])
    before = hashes(tmp_path)
    with pytest.raises(keyfluid.KeyfluidError, match="move it away"):
        keyfluid.run(STILL, folder, overwrite=True, threads=1)
    assert hashes(tmp_path) == before
    assert keyfluid.resume(folder).finished


def test_a_scene_s_own_folder_is_no_place_for_its_run(tmp_path):
    scene = write_scene(tmp_path, STILL)
    fill(tmp_path, ["mesh/body.ply"])
    before = hashes(tmp_path)
    refused(command("run", scene, "-o", ".", cwd=tmp_path), "holds files that no keyfluid run wrote")
    assert hashes(tmp_path) == before


def test_a_run_does_not_replace_what_its_scene_reads(tmp_path):
    first = keyfluid.run(STILL, tmp_path / "run", threads=1, overrides=["output.png=true"])
    picture = first.folder / "png" / "still.1005.png"
    scene = STILL.replace('shape = "disk"\ncenter = [0.6, 0.5]\nradius = 0.2', f'image = "{picture}"')
    before = hashes(first.folder)
    refused(
        command("run", write_scene(tmp_path, scene, "other.toml"), "-o", first.folder, "--overwrite"),
        "is read by this scene",
    )
    assert hashes(first.folder) == before


def test_overwriting_removes_what_the_run_wrote_and_nothing_else(tmp_path):
    folder = tmp_path / "run"
    keyfluid.run(STILL, folder, threads=1, overrides=["output.png=true"])
    theirs = ["notes.txt", "png/holiday.png", "frames/data.npz", "frames/readme", "mesh/statue.ply", "vdb/a.vdb"]
    fill(folder, theirs)
    before = hashes(folder)
    with pytest.raises(keyfluid.KeyfluidError, match="--overwrite"):
        keyfluid.run(STILL, folder)
    assert hashes(folder) == before
    keyfluid.run(STILL, folder, overwrite=True, threads=1, overrides=["time.frames=5"])
    after = hashes(folder)
    assert {name: after[name] for name in theirs} == {name: before[name] for name in theirs}
    assert not [name for name in after if name.startswith("png/still")], "the old run's pictures went"
    assert not (folder / ASIDE).exists()


def test_a_name_that_the_new_run_needs_is_noticed_before_it_begins(tmp_path):
    folder = keyfluid.run(STILL, tmp_path / "run", threads=1).folder
    fill(folder, ["video.webp"])
    before = hashes(folder)
    with pytest.raises(keyfluid.KeyfluidError, match=r"video\.webp: was not written by keyfluid"):
        keyfluid.run(STILL, folder, overwrite=True, threads=1)
    assert hashes(folder) == before


def test_a_file_of_the_run_that_somebody_edited_is_kept(tmp_path):
    folder = keyfluid.run(STILL, tmp_path / "run", threads=1).folder
    (folder / "report.html").write_text("my own words")
    with pytest.raises(keyfluid.KeyfluidError, match=r"report\.html: has changed since the run wrote it"):
        keyfluid.run(STILL, folder, overwrite=True, threads=1)
    keyfluid.resume(folder, from_frame=2, threads=1)
    assert (folder / "report.html.kept").read_text() == "my own words"


def test_an_overwritten_run_comes_back_if_the_new_one_can_not_begin(tmp_path, monkeypatch):
    folder = keyfluid.run(STILL, tmp_path / "run", threads=1).folder
    before = hashes(folder)

    def fail(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("keyfluid.io.run.frame_files.save_arrays", fail)
    with pytest.raises(keyfluid.KeyfluidError, match="No space left"):
        keyfluid.run(STILL, folder, overwrite=True, threads=1)
    monkeypatch.undo()
    assert hashes(folder) == before
    assert keyfluid.resume(folder).finished


@pytest.mark.parametrize("moment", range(0, 40, 3))
def test_killed_while_it_overwrites_one_of_the_two_runs_is_there(tmp_path, moment):
    """A process that dies at its nth file operation: the old run is whole, or the new one has begun."""
    folder = keyfluid.run(STILL, tmp_path / "run", threads=1).folder
    before = hashes(folder)
    program = f"""
import os, sys
sys.path[:0] = {sys.path!r}
import keyfluid
left = {moment}
def mortal(operation):
    def call(*words, **rest):
        global left
        left -= 1
        if left < 0:
            os._exit(9)
        return operation(*words, **rest)
    return call
for name in ("replace", "unlink", "rename", "rmdir", "mkdir", "fsync"):
    setattr(os, name, mortal(getattr(os, name)))
keyfluid.run({STILL!r}, {str(folder)!r}, overwrite=True, threads=1, overrides=["smoke.buoyancy=1"])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert done.returncode == 9, done.stderr
    buoyant = keyfluid.resume(folder, threads=1)
    assert buoyant.finished
    if buoyant.problem.fluid.buoyancy == 0.0:
        assert hashes(folder) == before
    assert not (folder / ASIDE).exists()


def test_render_export_and_wedge_keep_to_the_rule(tmp_path):
    scene = write_scene(tmp_path, STILL)
    run = keyfluid.run(scene, tmp_path / "run", threads=1).folder
    for words in (["render", run], ["render", run, "--frame", "2"], ["export", run]):
        folder = tmp_path / "-".join(map(str, words[::2])).replace("/", "_")
        fill(folder)
        before = hashes(folder)
        refused(command(*words, "-o", folder), "holds files that no keyfluid run wrote")
        assert hashes(folder) == before
        assert command(*words, "-o", folder / "new").returncode == 0
        assert command(*words, "-o", folder / "new").returncode == 0, "its own folder, again"
        fill(folder / "new", ["other.txt"])
        assert {name: value for name, value in hashes(folder).items() if not name.startswith("new")} == before
    fill(tmp_path / "wedge")
    before = hashes(tmp_path / "wedge")
    refused(command("wedge", scene, "smoke.buoyancy=0,1", "-o", tmp_path / "wedge"), "holds files that no keyfluid")
    assert hashes(tmp_path / "wedge") == before
    refused(command("export", run, "-o", tmp_path / "wedge" / "frames"), "holds files that no")
    other = keyfluid.run(scene, tmp_path / "other", threads=1).folder
    before = hashes(other)
    refused(command("render", run, "-o", other), "holds the output of keyfluid run")
    assert hashes(other) == before


def test_a_record_that_points_outside_is_not_believed(tmp_path):
    """Somebody else's record, or a damaged one, removes nothing outside of its folder."""
    folder = keyfluid.run(STILL, tmp_path / "run", threads=1).folder
    fill(tmp_path, ["victim.txt"])
    size = (tmp_path / "victim.txt").stat().st_size
    with (folder / MARKER).open("a") as record:
        for name in ("../victim.txt", str(tmp_path / "victim.txt"), "frames/../../victim.txt", "./scene.toml", ""):
            record.write('{"file": "%s", "bytes": %d}\n' % (name, size))  # noqa: UP031
    keyfluid.run(STILL, folder, overwrite=True, threads=1)
    assert (tmp_path / "victim.txt").exists()
    (folder / MARKER).write_bytes(b"\xff\x00 nonsense")
    with pytest.raises(keyfluid.KeyfluidError, match="is damaged; nothing was changed"):
        keyfluid.run(STILL, folder, overwrite=True)


NAMES = [*THEIRS, "scene.toml", "result.json", "checkpoint.npz", ".video.tmp.webp", ".strip.png.part", "a/b/c.txt",
         "frames/0000.npz", "vdb/still.1001.vdb", ".DS_Store", "png/still.1001.png", "empty/"]  # fmt: skip


def random_folder(chance: random.Random, folder: Path, elsewhere: Path) -> None:
    """Names that a run uses, links, nested and read-only."""
    folder.mkdir(parents=True)
    for name in chance.sample(NAMES, chance.randint(0, 6)):
        path = folder / name
        if any(parent.is_symlink() or parent.is_file() for parent in [path, *path.parents]):
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        kind = chance.random()
        if name.endswith("/"):
            path.mkdir(exist_ok=True)
        elif kind < 0.15 and not path.exists():
            path.symlink_to(elsewhere / "target.txt")
        elif kind < 0.25 and not path.parent.is_symlink() and path.parent != folder and not any(path.parent.iterdir()):
            path.parent.rmdir()
            path.parent.symlink_to(elsewhere)
        elif not path.exists():
            path.write_bytes(chance.randbytes(chance.choice([0, 1, 100])))
            if chance.random() < 0.2:
                path.chmod(stat.S_IRUSR)


def claims_nothing_of(chance: random.Random, folder: Path, elsewhere: Path) -> bool:
    """Try to use a random folder; whether it was refused."""
    random_folder(chance, folder, elsewhere)
    before, there = hashes(folder), hashes(elsewhere)
    empty = not [name for name in before if name != ".DS_Store"]
    try:
        owned = OwnedFolder.claim(folder, {"keyfluid": "run"})
    except keyfluid.KeyfluidError:
        assert not empty
        assert hashes(folder) == before
        assert hashes(elsewhere) == there
        return True
    assert empty
    for name in chance.sample([name for name in NAMES if not name.endswith("/")], 4):
        if name not in (".DS_Store", MARKER):
            with owned.writing(name) as path:
                path.write_bytes(b"ours")
    assert Record.read(folder).files
    owned.clear()
    owned.forget()
    owned.leave()
    assert hashes(folder) == before
    assert hashes(elsewhere) == there
    return False


def test_in_a_thousand_random_folders_nothing_is_lost(tmp_path):
    chance = random.Random(18)
    elsewhere = tmp_path / "elsewhere"
    fill(elsewhere, ["target.txt", "still.1001.vdb", "0000.npz"])
    refused_ones = sum(claims_nothing_of(chance, tmp_path / str(number), elsewhere) for number in range(1000))
    assert 500 < refused_ones < 990


def test_random_files_beside_a_run_survive_an_overwrite(tmp_path):
    """Planted in the run's own folder: kept, or the run refuses to begin."""
    chance = random.Random(7)
    elsewhere = tmp_path / "elsewhere"
    fill(elsewhere, ["target.txt"])
    outcomes = set()
    for number in range(12):
        folder = keyfluid.run(STILL, tmp_path / str(number), threads=1).folder
        own = set(hashes(folder))
        for name in chance.sample(NAMES, 3):
            path = folder / name
            if name.endswith("/") or os.path.lexists(path):
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            if chance.random() < 0.3:
                path.symlink_to(elsewhere / "target.txt")
            else:
                path.write_bytes(chance.randbytes(50))
        before, there = hashes(folder), hashes(elsewhere)
        try:
            keyfluid.run(STILL, folder, overwrite=True, threads=1)
            outcomes.add("replaced")
            after = hashes(folder)
            assert {name: after.get(name) for name in before if name not in own} == {
                name: value for name, value in before.items() if name not in own
            }
        except keyfluid.KeyfluidError:
            outcomes.add("refused")
            assert hashes(folder) == before
        assert hashes(elsewhere) == there
    assert outcomes == {"replaced", "refused"}


def test_nothing_is_written_where_frames_are_read(tmp_path):
    """open_run, show and a scene that reads a run leave its folder as it is."""
    run = keyfluid.run(STILL, tmp_path / "run", threads=1).folder
    before = hashes(run)
    assert np.isfinite(keyfluid.open_run(run).frames[4].densities["density"]).all()
    assert command("show", run).returncode == 0
    reader = STILL.replace('shape = "disk"\ncenter = [0.6, 0.5]\nradius = 0.2', f'run = "{run}"\nrun_frame = 2')
    keyfluid.run(reader, tmp_path / "reader", threads=1)
    assert hashes(run) == before
