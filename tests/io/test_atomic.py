"""Files appear whole or not at all, durable in the right order, and never through a link."""

from __future__ import annotations

import errno
import os

import pytest

from keyfluid.errors import KeyfluidError
from keyfluid.io import atomic
from keyfluid.io.atomic import DiskError, flush_folder, part_of, replacing, write_whole


@pytest.fixture
def log(monkeypatch):
    """What is done to the disk, in order."""
    seen = []
    names = {}
    plain_open, plain_sync, plain_replace = os.open, os.fsync, os.replace

    def opened(path, *rest, **named):
        handle = plain_open(path, *rest, **named)
        names[handle] = os.path.basename(path)
        return handle

    def synced(handle):
        seen.append(("sync", names.get(handle)))
        plain_sync(handle)

    def replaced(old, new, **named):
        seen.append(("rename", os.path.basename(new)))
        plain_replace(old, new, **named)

    monkeypatch.setattr(os, "open", opened)
    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", replaced)
    return seen


def test_content_then_name_then_folder(tmp_path, log):
    write_whole(tmp_path / "a", lambda file: file.write(b"1"))
    assert log == [("sync", ".a.part"), ("rename", "a"), ("sync", tmp_path.name)]
    log.clear()
    write_whole(tmp_path / "a", lambda file: file.write(b"2"), entry=False)
    assert log == [("sync", ".a.part"), ("rename", "a")]
    assert (tmp_path / "a").read_bytes() == b"2"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize("fault", [OSError(errno.ENOSPC, "No space left"), ValueError("x"), KeyboardInterrupt()])
def test_a_fault_leaves_the_old_file_and_no_part(tmp_path, fault):
    (tmp_path / "a").write_bytes(b"old")

    def fail(file):
        file.write(b"half")
        raise fault

    with pytest.raises((DiskError, ValueError, KeyboardInterrupt)):
        write_whole(tmp_path / "a", fail)
    assert (tmp_path / "a").read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_part_that_is_there_is_not_touched(tmp_path):
    """Somebody's file, or a link to one, under the name of a part."""
    victim = tmp_path / "victim"
    victim.write_bytes(b"theirs")
    part_of(tmp_path / "a").symlink_to(victim)
    write_whole(tmp_path / "a", lambda file: file.write(b"ours"))
    assert victim.read_bytes() == b"theirs"
    assert part_of(tmp_path / "a").is_symlink()
    assert (tmp_path / "a").read_bytes() == b"ours"
    assert part_of(tmp_path / "a").name == ".a.part"


def test_a_link_in_the_place_of_the_file_is_replaced_not_followed(tmp_path):
    victim = tmp_path / "victim"
    victim.write_bytes(b"theirs")
    (tmp_path / "a").symlink_to(victim)
    with replacing(tmp_path / "a") as temporary:
        temporary.write_bytes(b"ours")
    assert victim.read_bytes() == b"theirs"
    assert not (tmp_path / "a").is_symlink()


def test_an_io_error_of_a_folder_is_not_hidden(tmp_path, monkeypatch):
    def fail(code):
        def sync(handle):
            raise OSError(code, os.strerror(code))

        return sync

    monkeypatch.setattr(atomic.os, "fsync", fail(errno.EIO))
    with pytest.raises(OSError, match="Input/output"):
        flush_folder(tmp_path)
    monkeypatch.setattr(atomic.os, "fsync", fail(errno.EINVAL))
    flush_folder(tmp_path)  # a file system that can't


def test_the_message_names_the_file(tmp_path):
    (tmp_path / "no").write_text("a file")
    with pytest.raises(KeyfluidError, match=r"no/a: can't be written: .*; free some space or check permissions"):
        write_whole(tmp_path / "no" / "a", lambda file: file.write(b""))
