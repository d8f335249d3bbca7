"""Scene files, read and saved with a revision: who saves says which one they changed, so that no edit is lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from keyfluid.io.atomic import write_whole
from keyfluid.scenes.schema.load import MOST_BYTES
from keyfluid.studio.answers import Refused
from keyfluid.studio.events import Events
from keyfluid.studio.scene_changes import Change
from keyfluid.studio.scene_check import check_text
from keyfluid.studio.toml_changes import changed_text
from keyfluid.studio.watcher import FileWatcher, revision_of
from keyfluid.studio.workspace import Workspace

_MOST_FILES = 500


@dataclass(frozen=True)
class SceneText:
    """A scene's text with line breaks as "\\n"; `breaks` are those of the file."""

    revision: str
    text: str
    breaks: str


class SceneFiles:
    """The scenes of a workspace."""

    def __init__(self, workspace: Workspace, events: Events) -> None:
        self._workspace, self._lock = workspace, Lock()
        self.watcher = FileWatcher(workspace, events)

    def opened(self, name: str) -> dict[str, Any]:
        """A scene for the page, watched from now on."""
        path = self._workspace.scene(name)
        found = read_scene(path)
        self.watcher.watch(path, found.revision)
        return self._view(path, found)

    def saved(self, name: str, revision: str, text: str) -> dict[str, Any]:
        """Replace the text; refused with the file's own if that is not at `revision`."""
        return self._replaced(name, revision, lambda _: text)

    def changed(self, name: str, revision: str, changes: Sequence[Change]) -> dict[str, Any]:
        """Make changes in the text of the file."""
        return self._replaced(name, revision, lambda text: changed_text(text, changes))

    def checked(self, name: str, text: str, changes: Sequence[Change] = ()) -> dict[str, Any]:
        """Faults of a text in a scene's place, with changes made; nothing is saved."""
        path = self._workspace.scene(name)
        text = changed_text(text, changes) if changes else text
        data, faults = check_text(self._workspace, text, path.parent)
        return {"text": text, "data": data, "faults": faults}

    def _replaced(self, name: str, revision: str, make: Any) -> dict[str, Any]:
        path = self._workspace.scene(name)
        with self._lock:
            there = read_scene(path)
            if there.revision != revision:
                message = "the scene was changed elsewhere meanwhile; nothing was saved"
                raise Refused(409, message, revision=there.revision, text=there.text)
            text = make(there.text)
            content = _bytes(text, there.breaks)
            saved = SceneText(revision_of(content), text, there.breaks)
            if saved.revision != there.revision:
                write_whole(path, lambda file: file.write(content))
                self.watcher.saved(path, saved.revision)
        return self._view(path, saved)

    def _view(self, path: Path, found: SceneText) -> dict[str, Any]:
        data, faults = check_text(self._workspace, found.text, path.parent)
        return {
            "path": self._workspace.name_of(path), "revision": found.revision, "text": found.text, "data": data,
            "faults": faults, "files": files_beside(path),
        }  # fmt: skip


def read_scene(path: Path) -> SceneText:
    with path.open("rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise Refused(413, f"{path.name}: longer than {MOST_BYTES >> 20} MiB; a scene has a few kilobytes")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Refused(422, f"{path.name}: is not text in UTF-8; save it so") from None
    breaks = "\r\n" if "\r\n" in text else "\n"
    return SceneText(revision_of(content), text.replace("\r\n", "\n"), breaks)


def _bytes(text: str, breaks: str) -> bytes:
    try:
        content = text.replace("\r\n", "\n").replace("\n", breaks).encode()
    except UnicodeEncodeError:
        raise Refused(400, "text: holds signs that are not text") from None
    if len(content) > MOST_BYTES:
        raise Refused(413, f"text: longer than {MOST_BYTES >> 20} MiB; a scene has a few kilobytes")
    return content


def files_beside(path: Path) -> list[str]:
    """Names of the files in a scene's folder, for keys that name one."""
    names = sorted(entry.name for entry in path.parent.iterdir() if entry.is_file() and not entry.name.startswith("."))
    return [name for name in names if not name.endswith(".toml")][:_MOST_FILES]
