"""Figure 1 of McNamara et al. 2004: a man of water who runs, a keyframe every frame; and a finer film of him."""

from __future__ import annotations

import shutil
from pathlib import Path

import _liquid_film as film
from _liquid_common import HEAD, draw, solve
from _shots_common import ROOT, chosen
from _shots_figure import write_run

MAN = """
name = "man"
[domain]
size = [0.9, 1.0, 0.72]
resolution = {size}
[time]
frames = {frames}
[liquid]
initial = {{ mesh = "{mesh}", fit = 0.86, volume = "first-key" }}
[[keyframe]]
frame = 1
until = {frames}
mesh = "{mesh}"
fit = 0.86
[control]
method = "spectral"
schedule = "sequence"
ahead = 1
coarse = 0
blur = [0.04, 0.02]
iterations = 15
"""
FILMS = {
    "calm": ["control.turbulence=0"],
    "spray": ["control.turbulence=0.3", "control.spray=0.8", "control.near=0.95"],
}


def man() -> None:
    print("### Figure 1: a man of water runs, two strides in 46 frames, gravity 9.81\n\n" + HEAD)
    size, frames = chosen.pick((50, 46), (32, 46), (20, 3))
    mesh = write_run(chosen.scratch / "poses", frames)
    shot = solve("man", MAN.format(size=size, frames=frames, mesh=mesh))
    draw(shot.result, "man", range(0, frames + 1, max(1, frames // 15)), columns=8)
    finer(shot.folder)


def finer(solved: Path) -> None:
    """The film at twice the resolution: calm, and with eddies and spray."""
    print("\n### The same at twice the resolution; distances in cells of the run\n\n" + film.HEAD)
    video = ["output.video=true", "output.vdb=false", "output.size=240"]
    for name, more in FILMS.items():
        folder = chosen.scratch / f"film_{name}"
        picture = chosen.images / f"liquid_man_{name}.png"
        film.film_of(solved, name, 2, [*video, *more], folder, picture, chosen.threads)
        if chosen.size == "full":
            shutil.copy(folder / "video.webp", ROOT / "docs" / "films" / f"liquid_man_{name}.webp")
    print()
