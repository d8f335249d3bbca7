"""The run folder's format, part by part: record, checkpoints, frames."""

from __future__ import annotations

import os
from contextlib import suppress

import numpy as np
import pytest

from keyfluid.errors import KeyfluidError
from keyfluid.io.container import check_arrays, load_arrays, save_arrays
from keyfluid.io.run.checkpoints import Checkpoints
from keyfluid.io.run.frame_files import FrameFiles
from keyfluid.io.run.layout import BEFORE, LAST
from keyfluid.io.run.owned import OwnedFolder, is_locked
from keyfluid.io.run.record import MARKER, Record, safe_name
from keyfluid.io.run.stored_frame import StoredFrame

HEADER = {"keyfluid": "run", "format": 2}


@pytest.fixture
def owned(tmp_path):
    folder = OwnedFolder.claim(tmp_path / "run", HEADER)
    yield folder
    folder.unlock()


def write(owned, name, content=b"1", **options):
    with owned.writing(name, **options) as path:
        path.write_bytes(content)


def reopened(owned):
    owned.unlock()
    return OwnedFolder.open(owned.path)


def test_the_record_is_on_the_disk_before_the_file_is(owned, monkeypatch):
    plain, order = os.fsync, []

    def sync(handle):
        order.append(os.readlink(f"/proc/self/fd/{handle}"))
        plain(handle)

    monkeypatch.setattr(os, "fsync", sync)
    with owned.writing("a") as path:
        assert order[-1].endswith(MARKER)
        assert Record.read(owned.path).files == {"a": None}
        path.write_bytes(b"12")
    assert Record.read(owned.path).files == {"a": 2}


def test_what_was_being_written_stays_ours_whatever_its_size(owned):
    with suppress(RuntimeError), owned.writing("a") as path:
        path.write_bytes(b"half of it")
        raise RuntimeError
    assert owned.owns("a")
    again = reopened(owned)
    assert again.owns("a")
    (again.path / "a").write_bytes(b"another size")
    assert not again.owns("a"), "settled when it was opened again"
    again.unlock()


def test_a_cut_line_costs_only_itself(owned):
    write(owned, "a")
    owned.unlock()
    with (owned.path / MARKER).open("ab") as record:
        record.write(b'{"file": "b", "byt\0\0\0')
    again = OwnedFolder.open(owned.path)
    write(again, "c")
    again.unlock()
    assert Record.read(owned.path).files == {"a": 1, "c": 1}


def test_a_failed_append_leaves_whole_lines(owned, monkeypatch):
    write(owned, "a")
    plain = os.write
    monkeypatch.setattr(os, "write", lambda handle, data: plain(handle, data[:5]))
    with pytest.raises(KeyfluidError, match="No space left"):
        write(owned, "b")
    monkeypatch.undo()
    assert (owned.path / MARKER).read_bytes().endswith(b"}\n")
    write(owned, "c")
    assert set(Record.read(owned.path).files) == {"a", "c"}


@pytest.mark.parametrize(
    "name", ["../a", "/a", "a/../../b", "", ".", MARKER, "a\0b", "a\\b", "./a", "a//b", None, 3, ["a"]]
)
def test_unsafe_names(name):
    assert not safe_name(name)


@pytest.mark.parametrize("name", ["a", "frames/0001.npz", ".hidden", "a b", "ü/ö"])
def test_safe_names(name):
    assert safe_name(name)


def test_files_of_others_are_neither_removed_nor_replaced(owned):
    write(owned, "vdb/a")
    (owned.path / "vdb" / "b").write_bytes(b"theirs")
    with pytest.raises(KeyfluidError, match="was not written by keyfluid"):
        write(owned, "vdb/b")
    owned.remove("vdb/b")
    owned.clear()
    assert (owned.path / "vdb" / "b").read_bytes() == b"theirs"
    assert not (owned.path / "vdb" / "a").exists()


def test_a_file_that_changed_is_kept_under_another_name(owned):
    for content in (b"changed", b"changed again"):
        write(owned, "a")
        (owned.path / "a").write_bytes(content)
    owned.remove("a")
    assert (owned.path / "a.kept").read_bytes() == b"changed"
    assert (owned.path / "a.kept1").read_bytes() == b"changed again"
    assert not (owned.path / "a").exists()


def test_an_empty_file_is_ours_too(owned):
    write(owned, "a", b"")
    again = reopened(owned)
    assert again.owns("a")
    (again.path / "a").write_bytes(b"1")
    assert not again.owns("a")
    again.unlock()


def test_what_stands_in_the_way_is_counted(tmp_path):
    for name in "abcde":
        (tmp_path / name).write_bytes(b"")
    with pytest.raises(KeyfluidError, match=r"\(a, b, c and 2 more\)"):
        OwnedFolder.claim(tmp_path, HEADER)


def test_expected_files_are_listed_at_once_and_forgotten_if_they_never_come(owned):
    (owned.path / "x").write_bytes(b"theirs")
    owned.expect(["a", "b", "x"])
    assert Record.read(owned.path).files == {"a": None, "b": None}
    write(owned, "a")
    again = reopened(owned)
    assert again.record.files == {"a": 1}
    again.unlock()


def test_locks_are_seen(owned):
    assert is_locked(owned.path) is True
    with pytest.raises(KeyfluidError, match="another keyfluid process"):
        OwnedFolder.open(owned.path)
    owned.unlock()
    assert is_locked(owned.path) is False
    assert is_locked(owned.path / "no") is None


def test_a_folder_without_a_marker_is_not_opened(tmp_path):
    with pytest.raises(KeyfluidError, match="has no keyfluid record"):
        OwnedFolder.open(tmp_path)
    assert is_locked(tmp_path) is False


@pytest.fixture
def checkpoints(owned):
    return Checkpoints(FrameFiles(owned.path, "me", ["me", "once"], owned), owned)


def names(owned):
    return sorted(path.name for path in owned.path.iterdir() if path.name != MARKER)


def save(checkpoints, number, part=None, keep=()):
    checkpoints.save({"x": np.full(3, float(number))}, {"n": number}, {"last_frame": number}, part, keep)


def test_two_checkpoints_are_kept(owned, checkpoints):
    assert checkpoints.load() is None
    for number in range(3):
        save(checkpoints, number)
    assert names(owned) == [BEFORE, LAST]
    assert (checkpoints.load().controller, checkpoints.load().shell) == ({"n": 2}, {"last_frame": 2})
    assert checkpoints.load().older is None
    (owned.path / LAST).write_bytes(b"")
    found = checkpoints.load()
    assert found.controller == {"n": 1}
    assert LAST in found.older
    (owned.path / LAST).unlink()
    assert checkpoints.load().controller == {"n": 1}
    assert checkpoints.load().older is None, "killed between two renames: nothing is torn"
    (owned.path / BEFORE).unlink()
    assert checkpoints.load() is None


def test_a_torn_checkpoint_does_not_become_the_one_before(owned, checkpoints):
    save(checkpoints, 0)
    save(checkpoints, 1)
    (owned.path / LAST).write_bytes(b"torn")
    again = Checkpoints(FrameFiles(owned.path, "me", ["me"], owned), owned)
    save(again, 2)
    (owned.path / LAST).unlink()
    assert again.load().controller == {"n": 0}


def test_parts_are_shared_and_their_slots_used_again(owned, checkpoints):
    kept = []
    for number in range(8):
        kept = [*kept, f"p{number}"][-3:]
        save(checkpoints, number, f"p{number}", kept)
        for tear in (False, True):
            if tear:
                (owned.path / LAST).rename(owned.path / "elsewhere")
            found = checkpoints.load()
            if found is None:
                assert number == 0
            else:
                shown = {name: array[0] for name, array in found.arrays.items()}
                last = number - tear
                assert shown == {f"p{i}/x": float(i) for i in range(max(0, last - 2), last + 1)}
        (owned.path / "elsewhere").rename(owned.path / LAST)
    assert len([name for name in names(owned) if "part" in name]) <= 5
    again = Checkpoints(FrameFiles(owned.path, "me", ["me"], owned), owned)
    save(again, 8, "p8", ["p6", "p7", "p8"])
    assert sorted(again.load().arrays) == ["p6/x", "p7/x", "p8/x"]


@pytest.mark.parametrize(
    "meta", [{}, {"controller": {}}, {"controller": [], "shell": {}}, {"controller": {}, "shell": 3}]
)
def test_a_checkpoint_without_its_tables_is_damaged(owned, checkpoints, meta):
    save_arrays(owned.path / LAST, {}, {**meta, "run": "me"})
    with pytest.raises(KeyfluidError, match=r"checkpoint\.npz: is damaged"):
        checkpoints.load()


@pytest.mark.parametrize("part", [False, True])
def test_a_checkpoint_or_part_of_another_run(owned, checkpoints, part):
    save(checkpoints, 0, "p" if part else None)
    name = "checkpoint.part0.npz" if part else LAST
    arrays, meta = load_arrays(owned.path / name)
    save_arrays(owned.path / name, arrays, {**meta, "run": "once"})
    assert checkpoints.load() is not None, "a name that it had before"
    save_arrays(owned.path / name, arrays, {**meta, "run": "another"})
    with pytest.raises(KeyfluidError, match="is the checkpoint of another run"):
        checkpoints.load()


def test_parts_of_the_format_before(owned, checkpoints):
    save_arrays(owned.path / "checkpoint.0-0-1.npz", {"x": np.ones(1)}, {"run": "me"})
    save_arrays(owned.path / LAST, {}, {"controller": {}, "shell": {}, "parts": ["0-0-1"], "run": "me"})
    assert list(checkpoints.load().arrays) == ["0-0-1/x"]


def meta_of(index):
    return {
        "index": index, "time": 0.5, "mass": {"density": 1}, "emitted": {}, "divergence": 0.0, "force_square": 0.0,
        "error": None, "step_seconds": [0.1], "carrier_seconds": [], "memory": {"steps": 2},
    }  # fmt: skip


def test_frames_know_their_number_and_run(owned):
    frames = FrameFiles(owned.path, "me", ["me"], owned)
    for index in range(3):
        frames.put(StoredFrame({"x": np.full(2, float(index))}, meta_of(index)))
    assert frames.indices() == [0, 1, 2]
    frames.path(1).rename(owned.path / "kept")
    frames.path(2).rename(frames.path(1))
    for read in (frames.read, frames.meta, frames.check):
        with pytest.raises(KeyfluidError, match="is frame 2 under another name"):
            read(1)
    assert frames.whole() == 0
    (owned.path / "frames" / "notes.npz").write_bytes(b"theirs")
    (owned.path / "frames" / "²1.npz").write_bytes(b"theirs")
    assert frames.indices() == [0, 1]
    with pytest.raises(KeyfluidError, match="of another run"):
        FrameFiles(owned.path, "you", ["you"]).check(0)
    assert FrameFiles(owned.path).meta(0)["run"] == "me", "of a folder without a record, any"


@pytest.mark.parametrize(
    "change", [{"mass": 1.0}, {"error": "none"}, {"memory": []}, {"carrier_seconds": None}, {"emitted": {"a": "b"}}]
)
def test_meta_data_of_a_frame_is_checked_when_read(owned, change):
    frames = FrameFiles(owned.path, "me", ["me"], owned)
    frames.put(StoredFrame({"x": np.ones(2)}, meta_of(0)))
    assert frames.meta(0) == {**meta_of(0), "run": "me"}
    frames.put(StoredFrame({"x": np.ones(2)}, {**meta_of(0), **change}))
    for read in (frames.read, frames.meta, frames.check):
        with pytest.raises(KeyfluidError, match="is damaged"):
            read(0)


@pytest.mark.parametrize("shell", [[], {"last_frame": "3"}, {"logged": {}}, {"seconds": None}])
def test_the_memory_in_a_checkpoint_is_checked_when_read(owned, checkpoints, shell):
    save_arrays(owned.path / LAST, {}, {"controller": {}, "shell": shell, "parts": {}, "run": "me"})
    with pytest.raises(KeyfluidError, match="is damaged"):
        checkpoints.load()


def test_values_that_are_not_finite_are_found(tmp_path):
    save_arrays(tmp_path / "a.npz", {"ok": np.arange(3), "x": np.array([1.0, np.inf])}, {})
    with pytest.raises(KeyfluidError, match="x holds values that are not finite"):
        check_arrays(tmp_path / "a.npz")
