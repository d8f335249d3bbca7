"""A folder for a new run: new or empty, or that of an old run, which is moved aside until the new one has begun."""

from __future__ import annotations

from pathlib import Path

from keyfluid import __version__
from keyfluid.errors import KeyfluidError
from keyfluid.io.atomic import DiskError
from keyfluid.io.run.aside import move_aside, recover
from keyfluid.io.run.fingerprint import Fingerprint, changed_keys
from keyfluid.io.run.layout import FILES, FOLDERS, FRAMES, names_there, scene_file
from keyfluid.io.run.owned import OwnedFolder
from keyfluid.io.run.record import Record
from keyfluid.io.run.run_folder import RunFolder, readable, recover_unlocked
from keyfluid.scenes import Scene, dump_scene, load_scene
from keyfluid.scenes.build.inputs import hashed_scene, input_files


def new_folder(path: str | Path, scene: Scene, overwrite: bool = False) -> RunFolder:
    """Locked; raises, nothing touched, if something is there that is not to be replaced."""
    place = Path(path)
    fingerprint = Fingerprint.of(hashed_scene(scene), __version__)
    with readable(place):
        recover_unlocked(place)
        record = Record.read(place)
    if record is None:
        _refuse_old_run(place)
        owned = OwnedFolder.claim(place, fingerprint.header())
    else:
        owned = _replaced(place, record, scene, fingerprint, overwrite)
    folder = RunFolder(place, fingerprint, owned)
    try:
        folder.write_scene(dump_scene(scene))
    except KeyfluidError:
        folder.abandon()
        raise
    return folder


def adopted_folder(path: str | Path) -> RunFolder:
    """The folder of a run, locked; of one from before there were records, what a run of its scene would have written
    is taken as its own."""
    found = RunFolder.find(path)
    if found.fingerprint is not None:
        return RunFolder.open(path)
    scene = load_scene(found.scene_file)
    fingerprint = Fingerprint.of(hashed_scene(scene), __version__)
    nameless = Fingerprint(**{**vars(fingerprint), "accepted": (None,), "changes": ("from an older keyfluid",)})
    owned = OwnedFolder(found.path, Record(found.path, nameless.header(), {}))
    owned.lock()
    owned.record.files = {name: (found.path / name).stat().st_size for name in names_there(found.path, scene.name)}
    owned.record.write()
    return RunFolder(found.path, nameless, owned)


def _replaced(place: Path, record: Record, scene: Scene, fingerprint: Fingerprint, overwrite: bool) -> OwnedFolder:
    """A folder whose run was moved aside for a new one."""
    kind = record.header.get("keyfluid")
    if kind != "run":
        raise KeyfluidError(f"{place}: holds the output of keyfluid {kind}; choose another folder with -o")
    if not overwrite:
        raise KeyfluidError(f"{place}: {_in_the_way(place, record, fingerprint)}")
    owned = OwnedFolder.open(place)
    try:
        for name in (*FILES, *(f"{folder}/-" for folder in FOLDERS), *names_there(place, scene.name)):
            if name not in owned.changed():
                owned.require_free(name)
        move_aside(owned, input_files(scene))
        owned.record = Record(place, fingerprint.header(), {})
        owned.record.write()
    except OSError as error:
        recover(place)
        owned.unlock()
        raise DiskError(f"{place}: can't be written: {error.strerror or error}; choose another folder") from None
    except BaseException:
        recover(place)
        owned.unlock()
        raise
    return owned


def _in_the_way(place: Path, record: Record, fingerprint: Fingerprint) -> str:
    """What the run in a folder is to the one that should go there, and what to do."""
    held = record.header.get("scene")
    if record.header.get("run") != fingerprint.run:
        changed = changed_keys(held, fingerprint.scene) if isinstance(held, dict) else []
        what = f" ({changed[0]}{', and more' * (len(changed) > 1)})" if changed else ""
        return f"holds a run of another scene{what}; choose another folder with -o, or add --overwrite to replace it"
    if RunFolder.read(place).finished is not None:
        return (
            f"already holds this run, finished; look at it: keyfluid show {place}, or add --overwrite to compute it "
            "again"
        )
    return f"already holds this run, unfinished; continue it: keyfluid resume {place}, or add --overwrite to restart"


def _refuse_old_run(place: Path) -> None:
    if scene_file(place).is_file() and (place / FRAMES).is_dir():
        raise KeyfluidError(
            f"{place}: holds a run of an older keyfluid, which kept no record of its files, so it is not replaced; "
            "choose another folder with -o, or remove it yourself"
        )
