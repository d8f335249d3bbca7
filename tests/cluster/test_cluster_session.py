"""Tasks and answers in files: only those of the session are read, and none are left."""

from __future__ import annotations

import pytest

from keyfluid.cluster.session import Session, is_open, open_parcel, seal_parcel
from keyfluid.errors import KeyfluidError
from keyfluid.io.run.layout import CREW
from keyfluid.io.run.owned import OwnedFolder


@pytest.fixture
def owned(tmp_path):
    folder = OwnedFolder.claim(tmp_path / "run", {"keyfluid": "run"})
    yield folder
    folder.leave()


def test_a_task_and_its_answer(owned):
    session = Session(owned)
    assert is_open(session.folder, session.nonce)
    assert not is_open(session.folder, "another")
    ticket = session.put("module", {"x": 1}, has_job=False)
    assert open_parcel(session.folder / f"{ticket.name}.task", ticket.key) == {"x": 1}
    seal_parcel(session.folder / f"{ticket.name}.answer", [2], ticket.key)
    assert session.answer(ticket) == [2]
    assert [path.name for path in session.folder.iterdir()] == ["nonce"]
    session.close()
    assert not session.folder.parent.exists()
    with pytest.raises(FileNotFoundError):  # a worker that comes too late
        seal_parcel(session.folder / "0000.answer", [2], ticket.key)
    assert not session.folder.parent.exists()


def test_what_the_session_did_not_write_is_not_unpickled(owned):
    session = Session(owned)
    first, second = (session.put("module", number, has_job=False) for number in range(2))
    forged = session.folder / f"{first.name}.answer"
    seal_parcel(forged, "forged", b"another key")
    with pytest.raises(KeyfluidError, match="is damaged or from elsewhere"):
        session.answer(first)
    seal_parcel(session.folder / f"{second.name}.answer", 1, second.key)
    forged.write_bytes((session.folder / f"{second.name}.answer").read_bytes())
    with pytest.raises(KeyfluidError, match="is damaged or from elsewhere"):
        session.answer(first)
    assert "key" not in repr(first).partition("machine")[0]
    session.close()


def test_what_a_killed_run_left_goes_when_its_folder_is_opened(owned):
    session = Session(owned)
    ticket = session.put("module", 1, has_job=False)
    seal_parcel(session.folder / f"{ticket.name}.answer", 1, ticket.key)
    (session.folder / ".0000.answer.part").write_bytes(b"a worker was killed while it wrote this")
    owned.unlock()
    again = OwnedFolder.open(owned.path)
    assert not (owned.path / CREW).exists()
    again.unlock()
