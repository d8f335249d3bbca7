"""How much faster two workers of a cluster are than one, and whether their bits are those of a serial run.

    python benchmarks/cluster_speed.py wedge     a wedge of 12 runs
    python benchmarks/cluster_speed.py film      a film of 8 windows, schedule = "shooting", rounds as by default

Each is computed without a cluster, by one worker and by two, as whole commands from start to exit; then all arrays of
all frames and all numbers of all results are compared. --folder keeps the runs, and what is there of the serial one,
which --serial alone makes, is not computed again. It needs the extra `cluster`, two cores, and nothing else at work.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from cluster import bits, cluster

KEYS = "".join(
    f"""[[keyframe]]
frame = {8 * (number + 1)}
shape = "{"box" if number % 2 else "disk"}"
center = [{0.4 + 0.05 * (number % 4)}, {0.6 - 0.04 * (number % 3)}]
"""
    for number in range(16)
)
OUTPUT = """
[output]
vdb = false
video = false
size = 128
"""
FILM = f"""
name = "film"
[domain]
resolution = 96
[time]
frames = 128
fps = 10
[smoke]
initial = {{ shape = "disk", center = [0.4, 0.4], radius = 0.2 }}
{KEYS}{OUTPUT}
[control]
method = "spectral"
schedule = "shooting"
span = 16
iterations = 100
cutoff = 5
coarse = 0
"""
WEDGE = f"""
name = "wedge"
[domain]
resolution = 128
[time]
frames = 48
fps = 12
[smoke]
initial = {{ shape = "disk", center = [0.35, 0.4], radius = 0.15 }}
[[keyframe]]
frame = 24
shape = "box"
center = [0.6, 0.6]
size = [0.3, 0.3]
[[keyframe]]
frame = 48
shape = "disk"
center = [0.4, 0.6]
radius = 0.17
{OUTPUT}
[control]
method = "spectral"
schedule = "all"
iterations = 12
coarse = 0
"""
VALUES = "smoke.buoyancy=" + ",".join(f"{number / 10}" for number in range(12))
WORDS = {"wedge": ["wedge", "wedge.toml", VALUES], "film": ["run", "film.toml", "--continue"]}
AFTERWARDS = ("seconds", "peak_memory_mb", "threads")
"""Numbers of a result that are about the computing."""


def command(folder: Path, *words: str) -> float:
    """Seconds of a command of keyfluid."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-m", "keyfluid", *words], cwd=folder, check=True, capture_output=True)
    return time.perf_counter() - began


def serial(folder: Path, what: str) -> None:
    """What is there is not computed again."""
    command(folder, *WORDS[what], "-o", f"{what}-serial", "--threads", "1")


def numbers(value: Any) -> Any:
    """A result without what differs from run to run."""
    if isinstance(value, dict):
        return {name: numbers(entry) for name, entry in value.items() if name not in AFTERWARDS}
    return [numbers(entry) for entry in value] if isinstance(value, list) else value


def content(folder: Path) -> list[Any]:
    """The arrays of all frames and the numbers of all results, of a run or of a wedge."""
    runs = sorted(path.parent for path in folder.rglob("result.json"))
    return [(bits(run), numbers(json.loads((run / "result.json").read_text()))) for run in runs]


def measure(folder: Path, what: str) -> None:
    serial(folder, what)
    # Where the serial run was there already, kernels may not be compiled.
    command(
        folder, "run", f"{what}.toml", "--set", "control.iterations=1", "-o", "warm", "--overwrite", "--threads", "1"
    )
    before = content(folder / f"{what}-serial")
    taken = {}
    for workers in (1, 2):
        place = folder / f"{what}-{workers}"
        shutil.rmtree(place, ignore_errors=True)
        with cluster(folder, workers) as (address, certificates, _):
            more = ["--cluster", address, "--certificates", str(certificates)]
            taken[workers] = command(folder, *WORDS[what], "-o", place.name, *more)
        same = content(place) == before
        print(f"{what}: {taken[workers]:.1f} s by {workers} of the cluster's workers; ", end="")
        print(f"{len(before)} runs, {sum(len(found) for found, _ in before)} frames, bit-identical: {same}", flush=True)
    print(f"{what}: {taken[2] / taken[1]:.3f} of one worker's time by two")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=list(WORDS))
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--serial", action="store_true")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="keyfluid-") as name:
        folder = (chosen.folder or Path(name)).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "wedge.toml").write_text(WEDGE)
        (folder / "film.toml").write_text(FILM)
        (serial if chosen.serial else measure)(folder, chosen.what)


if __name__ == "__main__":
    main()
