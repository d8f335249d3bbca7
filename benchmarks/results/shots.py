"""Real shots with the methods that optimise: `python benchmarks/results/shots.py [PART]... [--small] [--threads N]`.

    punch      a keyframe every frame from an animated figure, 90,000 voxels, 20 steps       [McNamara 2004, figure 6a]
    preview    a fist becomes a hand: frames and times at the cutoffs 1, 8 and 64            [Tang 2021, figure 16]
    long       eight keyframes over 240 frames at 128^2, one after the other; sixteen others
    windows    one window each: holes that close, open and move, 64^2
    schedules  the eight all at once, and by shooting
    tidy       the same in sequence, with stray smoke taken back
    obstacle   a solid sphere, a keyframe every 30 frames, one after the other, 64^3         [Tang 2021, figure 13]
    twist      a free plume, twisted at two frames, 48 x 96 x 48                             [Tang 2021, figure 10]
    ghost      a free plume whose render is painted over, 64^3                               [Tang 2021, figure 12]
    coarse     time to the same error with and without coarser grids first, 128^2 and 64^3

All parts in this order if none is named. Tables go to the screen, pictures to docs/images/shots_*.png, and
docs/results.md quotes both. Every run is a process of its own: its peak memory is told above what is resident once
the package is imported and its kernels are compiled. --paper: preview 200 x 100 x 100 with a body, obstacle 128^3,
twist 100 x 200 x 100 and ghost 128^3, in hours; --half: about half of every size, where time is short; --small: tiny
grids, to see that a part works, whose pictures are not kept. --folder DIR: the runs are kept in DIR; called again with
the same words, what is there is gone on with.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import _shots_coarse as coarse
import _shots_common as common
import _shots_edit as edit
import _shots_long as long
import _shots_obstacle as obstacle
import _shots_punch as punch
import _shots_tidy as tidy
import _shots_windows as windows

PARTS = {
    "punch": punch.punch,
    "preview": punch.preview,
    "long": long.run,
    "windows": windows.run,
    "schedules": long.schedules,
    "tidy": tidy.run,
    "obstacle": obstacle.run,
    "twist": edit.twist,
    "ghost": edit.ghost,
    "coarse": coarse.run,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], metavar="PART")
    parser.add_argument("--paper", dest="size", action="store_const", const="paper")
    parser.add_argument("--half", dest="size", action="store_const", const="half", default="full")
    parser.add_argument("--small", dest="size", action="store_const", const="small")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    common.chosen.threads, common.chosen.size = options.threads, options.size
    with tempfile.TemporaryDirectory() as scratch:
        common.chosen.scratch = (options.folder or Path(scratch)).resolve()
        common.chosen.scratch.mkdir(parents=True, exist_ok=True)
        if options.size == "small":
            common.chosen.images = common.chosen.scratch
        for part in options.parts or PARTS:
            print(f"## {part}\n\n{common.machine()}; float32, compile time out\n", flush=True)
            PARTS[part]()


if __name__ == "__main__":
    main()
