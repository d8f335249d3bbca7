"""Finer films of solved liquids, for docs/upres.md: `python benchmarks/results/_liquid_film.py [RUN] [--factor N]`.

Without a run, a man of water who throws a punch is solved first, 28^3, 16 frames, a keyframe in each: five minutes.
`film_of(RUN, ...)` films a solved run, prints a row of `HEAD`, and draws a strip: the run, the film, the keyframes.
Distances are in cells of the run, between the surface of a frame and that of its keyframe drawn on the film's grid, at
the points where the surface crosses lines between cell centres: "off" from the film's surface, "missed" from the
keyframe's. Of all keyframes the worst is printed. Distances to a keyframe are marched: those to a mesh of bones also
count the surfaces of bones inside of others.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import trimesh
from _shots_figure import write_punch
from scipy.ndimage import label, map_coordinates

import keyfluid
from keyfluid.fluids.liquid.fluid import distance_wanted
from keyfluid.models.liquid import filled
from keyfluid.render import filmstrip, save_png
from keyfluid.runs.mesh_files import surface_mesh
from keyfluid.runs.pictures import Painter
from keyfluid.runs.run import RunResult, open_run
from keyfluid.runs.upres import upres_scene

COLUMNS = (
    "film", "cells", "least IoU", "off: most", "off: 99 %", "missed: most", "missed: 99 %", "volume", "pieces",
    "meshes closed", "CPU s",
)  # fmt: skip
FILMS = {
    "calm": ["control.turbulence=0"],
    "usual": [],
    "rough": ["control.turbulence=0.3"],
    "spray": ["control.turbulence=0.3", "control.spray=0.8"],
}
"""What is changed in each film."""
PUNCH = """
[domain]
size = [1.0, 1.0, 1.0]
resolution = 28
[time]
frames = 16
[liquid]
gravity = 1.0
initial = {{ mesh = "{mesh}", fit = 0.86, volume = "first-key" }}
[[keyframe]]
frame = 1
until = 16
mesh = "{mesh}"
fit = 0.86
[control]
method = "adjoint"
schedule = "sequence"
spacing = 0.0714
iterations = 12
[output]
vdb = false
video = false
"""
HEAD = f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|"


def film_of(
    solved: Path,
    name: str,
    factor: int = 2,
    changes: Sequence[str] = (),
    folder: Path | None = None,
    picture: Path | None = None,
    threads: int = 1,
) -> RunResult:
    """Film the run in `solved`, in memory or to a folder; changes: keys of the film's scene."""
    began = time.process_time()
    scene = upres_scene(solved, factor, [*([] if folder else ["output.vdb=false", "output.video=false"]), *changes])
    film = keyfluid.run(scene, folder, threads=threads, overwrite=True)
    seconds = time.process_time() - began
    print(f"| {' | '.join([name, *row(film, factor)])} | {seconds:.0f} |", flush=True)
    if picture is not None:
        draw(film, open_run(solved), picture)
    return film


def row(film: RunResult, factor: int) -> list[str]:
    """What the table says of a film, times apart."""
    problem, cell = film.problem, film.problem.grid.spacing * factor
    volume = _volume(film, 0)
    ious, off, missed, changed, pieces, closed = [], [], [], [], 0, True
    for key in problem.keyframes:
        surface = film.frames[key.frame].surface
        assert surface is not None
        target = distance_wanted(problem, key, key.frame).array.astype(np.float64)
        ious.append(np.count_nonzero((surface < 0) & (target < 0)) / np.count_nonzero((surface < 0) | (target < 0)))
        off.append(_spread(surface, target, cell))
        missed.append(_spread(target, surface, cell))
        changed.append(_volume(film, key.frame) / volume - 1)
        pieces = max(pieces, _pieces(film, key.frame))
        if problem.grid.dim == 3:
            mesh = surface_mesh(problem, film.frames[key.frame])
            closed &= bool(trimesh.Trimesh(*mesh, process=False).is_watertight)
    worst = [f"{value:.2f}" for spread in (off, missed) for value in np.max(spread, axis=0)]
    size = " x ".join(map(str, problem.grid.cells))
    drift = max(changed, key=abs)
    shut = "-" if problem.grid.dim == 2 else "yes" if closed else "no"
    return [size, f"{min(ious):.3f}", *worst, f"{100 * drift:+.2f} %", str(pieces), shut]


def _pieces(film: RunResult, frame: int) -> int:
    """Connected bodies of liquid."""
    return int(label(film.frames[frame].surface < 0)[1])


def _volume(film: RunResult, frame: int) -> float:
    surface = film.frames[frame].surface
    assert surface is not None
    return float(filled(surface.astype(np.float64), film.problem.grid.spacing).sum())


def _spread(surface: np.ndarray, other: np.ndarray, cell: float) -> tuple[float, float]:
    """The largest distance from the points of a surface to another surface, and the 99th percentile, in cells."""
    points = []
    for axis in range(surface.ndim):
        low, high = (np.take(surface, range(a, surface.shape[axis] - 1 + a), axis) for a in (0, 1))
        where = np.nonzero((low < 0) != (high < 0))
        found = np.array(where, float)
        found[axis] += low[where] / (low[where] - high[where])
        points.append(found)
    distances = np.abs(map_coordinates(other, np.concatenate(points, axis=1), order=1, mode="nearest")) / cell
    return float(distances.max()), float(np.percentile(distances, 99))


def draw(film: RunResult, solved: RunResult, path: Path, shown: int = 5, tile: int = 300) -> None:
    """The run, the film and the keyframes, at frames spread over the shot: in each part the one with most drops."""
    keys = [key.frame for key in film.problem.keyframes]
    parts = np.array_split(keys, min(shown, len(keys)))
    frames = [max(map(int, part), key=lambda frame: _pieces(film, frame)) for part in parts]
    pictures, labels = [], []
    for name, result in (("run", solved), ("film", film)):
        painter = Painter(result.problem, tile)
        pictures += [painter.frame(result.frames, frame) for frame in frames]
        labels += [f"{name}, frame {frame}" for frame in frames]
    wanted = [painter.target(frame) for frame in frames]
    pictures += [picture for picture in wanted if picture is not None]
    save_png(path, filmstrip(pictures, [*labels, *(f"keyframe {frame}" for frame in frames)], columns=len(frames)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, nargs="?", help="folder of a solved run of a liquid")
    parser.add_argument("--factor", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--picture", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        solved = options.run or punch(Path(scratch), options.threads)
        print(HEAD)
        for name, changes in FILMS.items():
            picture = options.picture and options.picture.with_stem(f"{options.picture.stem}_{name}")
            film_of(solved, name, options.factor, changes, picture=picture, threads=options.threads)


def punch(scratch: Path, threads: int) -> Path:
    """The man, solved."""
    mesh = write_punch(scratch / "figure", 16)
    keyfluid.run(PUNCH.format(mesh=mesh), scratch / "punch", threads=threads)
    return scratch / "punch"


if __name__ == "__main__":
    main()
