"""Some frames of a run, drawn or exported: a task of a farm, beside others that write to the same folder.

Files are made outside of the folder, which is then locked only while they are put into it.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from keyfluid.cli.writable import writable
from keyfluid.errors import KeyfluidError
from keyfluid.io.atomic import write_whole
from keyfluid.io.run.layout import PNG, VDB, numbered
from keyfluid.render import save_png
from keyfluid.runs.frames import Frames
from keyfluid.runs.pictures import Painter
from keyfluid.runs.vdb_files import write_frame
from keyfluid.scenes.build.problem import BuiltScene

_WAIT = 600.0
"""Seconds that a task waits for others to put their files into the folder."""

_RANGE = re.compile(r"(\d+)(?:(-)(\d*))?", re.ASCII)


def frames_in(text: str, there: Sequence[int]) -> list[int]:
    """The frames of "10-20", "5", "30-" or several of these with commas, as far as a run has them."""
    chosen: set[int] = set()
    for part in text.split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            raise KeyfluidError(f"--frames {text}: is not a range of frames; give one such as 10-20")
        first = int(match[1])
        last = first if match[2] is None else int(match[3]) if match[3] else max(there, default=0)
        if last < first and match[3]:
            raise KeyfluidError(f"--frames {text}: ends before it begins; give the smaller number first")
        chosen.update(index for index in there if first <= index <= last)
    if not chosen:
        raise KeyfluidError(f"--frames {text}: this run has frames {min(there, default=0)} to {max(there, default=0)}")
    return sorted(chosen)


def draw_frames(
    problem: BuiltScene, frames: Frames, indices: Sequence[int], size: int | None, output: Path | None, folder: Path
) -> Path:
    """Each as a PNG in png/ of the run's folder or of another; returns where."""
    painter = Painter(problem, size)
    _put(
        problem, indices, "png", f"{PNG}/", output, folder, "render",
        lambda path, index: save_png(path, painter.frame(frames, index)),
    )  # fmt: skip
    return (output or folder) / PNG


def export_frames(
    problem: BuiltScene, frames: Frames, indices: Sequence[int], output: Path | None, folder: Path
) -> Path:
    """Each as a VDB file in vdb/ of the run's folder, or in another; returns where."""
    _put(
        problem, indices, "vdb", f"{VDB}/" if output is None else "", output, folder, "export",
        lambda path, index: write_frame(path, problem, frames[index]),
    )  # fmt: skip
    return folder / VDB if output is None else output


def _put(
    problem: BuiltScene,
    indices: Sequence[int],
    ending: str,
    prefix: str,
    output: Path | None,
    folder: Path,
    kind: str,
    make: Callable[[Path, int], object],
) -> None:
    first = problem.scene.output.start_frame
    for index in indices:
        name = f"{numbered(problem.scene.name, first + index)}.{ending}"
        with tempfile.TemporaryDirectory(prefix="keyfluid-") as scratch:
            made = Path(scratch) / name
            make(made, index)
            with (
                made.open("rb") as file,
                writable(output, folder, kind, _WAIT) as place,
                place.writing(f"{prefix}{name}") as path,
            ):
                write_whole(path, lambda target, file=file: shutil.copyfileobj(file, target))  # type: ignore[misc]
