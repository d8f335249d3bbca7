"""What has changed between the start of a run and its resumption, and whether it can go on with that."""

from __future__ import annotations

from keyfluid import __version__
from keyfluid.errors import KeyfluidError
from keyfluid.io.run.fingerprint import Fingerprint, changed_keys, machine_notes
from keyfluid.io.run.run_folder import RunFolder
from keyfluid.scenes import Scene
from keyfluid.scenes.build.inputs import hashed_scene
from keyfluid.scenes.schema.load import dump_data

_FIXED = ("domain.", "time.fps", "simulation.precision", "smoke.field", "liquid.field", "control.method", "edit.")
"""Keys that the state of a run depends on: with others it could not even be read."""


def go_on_with(place: RunFolder, scene: Scene, from_frames: bool, accept: bool) -> list[str]:
    """Compare a run with what it began as; returns lines to note. Raises for changes that are not accepted.

    from_frames: the method goes through time once, so later frames can be of a changed scene.
    """
    before = place.fingerprint
    assert before is not None
    now = Fingerprint.of(hashed_scene(scene), __version__)
    keys = changed_keys(before.scene, now.scene, dump_data(Scene()))
    if before.version != now.version:
        # Keys that a newer keyfluid added are at their defaults.
        keys = [line for line in keys if " was not given, is " not in line]
    lines = list(keys)
    if before.transforms != now.transforms:
        lines.append(f"its transforms were computed by {before.transforms}, this machine uses {now.transforms}")
    notes = machine_notes(before, now)
    if not lines:
        return notes
    told = lines[0] + (f" (and {len(lines) - 1} more)" if len(lines) > 1 else "")
    if not _acceptable(keys, from_frames):
        way = "undo the change, or run the changed scene in another folder"
        if not from_frames:
            way += f", from these forces: keyfluid run SCENE --from {place.path}"
        raise KeyfluidError(f"{place.path}: {told} since the run began; {way}")
    if not accept:
        raise KeyfluidError(f"{place.path}: {told} since the run began; undo the change, or add --accept-changes")
    place.accept(now.after(before, lines))
    return [*lines, *notes]


def _acceptable(keys: list[str], from_frames: bool) -> bool:
    """Whether a run can continue: only methods that go through time once can, and only on the same grid."""
    if not keys:
        return True
    return from_frames and not any(line.removeprefix("the content of ").startswith(_FIXED) for line in keys)
