"""Processes of a cluster killed with kill -9: does the run end bit-identical, and what is repeated?

    python benchmarks/cluster_kills.py              all of these
    python benchmarks/cluster_kills.py film         ten workers, at random, each in the middle of a window
    python benchmarks/cluster_kills.py wedge        ten workers, at random, each in the middle of a variant
    python benchmarks/cluster_kills.py client       the command itself; then `keyfluid resume` without a cluster
    python benchmarks/cluster_kills.py scheduler    the scheduler; then `keyfluid resume` on another cluster

Runs are whole commands. Who began which task is read from the run's folder. It needs the extra `cluster`.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from cluster import cluster
from cluster_speed import FILM, content
from keyfluid.io.run.layout import CREW

KILLS = 10
FEWER = (("resolution = 96", "resolution = 64"), ("iterations = 100", "iterations = 50"))
FREE = """
name = "free"
[domain]
resolution = 128
[time]
frames = 150
[smoke]
initial = { shape = "disk", center = [0.4, 0.5], radius = 0.2 }
buoyancy = 1.0
[output]
vdb = false
video = false
size = 64
"""
WORDS = {
    "film": ["run", "film.toml"],
    "wedge": ["wedge", "free.toml", "smoke.vorticity=0,1,2,3,4,5,6,7,8,9,10,11"],
}


def keyfluid(folder: Path, *words: str) -> subprocess.Popen[str]:
    said = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    return subprocess.Popen([sys.executable, "-m", "keyfluid", *words], cwd=folder, text=True, **said)  # type: ignore[call-overload,no-any-return]


class Look:
    """What happens in a run's folder: who began each task, in order."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.begun: dict[str, list[str]] = {}

    def at_work(self) -> list[tuple[str, int]]:
        """Tasks that somebody is at, and the process."""
        found = []
        for path in (self._folder / CREW).glob("*/*.by"):
            try:
                lines = path.read_text().splitlines()
            except OSError:
                continue
            name = f"{path.parent.name}/{path.stem}"
            self.begun[name] = max(lines, self.begun.get(name, []), key=len)
            if lines and not path.with_suffix(".answer").exists() and psutil.pid_exists(int(lines[-1].split()[1])):
                found.append((name, int(lines[-1].split()[1])))
        return found


def workers_killed(folder: Path, what: str, chance: random.Random) -> bool:
    """Ten workers while a command runs; whether all was as promised."""
    place, killed = folder / f"{what}-killed", []
    with cluster(folder, 2) as (address, certificates, _):
        more = ["-o", place.name, "--cluster", address, "--certificates", str(certificates)]
        client, look, due = keyfluid(folder, *WORDS[what], *more), Look(place), 0.0
        while client.poll() is None:
            at_work = look.at_work()
            if at_work and len(killed) < KILLS and due == 0.0:
                due = time.monotonic() + chance.uniform(0.2, 1.2)
            if at_work and due and time.monotonic() > due:
                name, process = chance.choice(at_work)
                os.kill(process, signal.SIGKILL)
                killed.append(name)
                due = 0.0
            time.sleep(0.005)
    repeated = {name: len(lines) - 1 for name, lines in look.begun.items() if len(lines) > 1}
    same = content(place) == content(folder / f"{what}-serial")
    only = repeated == {name: killed.count(name) for name in killed}
    print(
        f"{what}: {len(killed)} workers killed, {len(look.begun)} tasks, {sum(repeated.values())} begun again, ", end=""
    )
    print(f"only those of the killed: {only}; bit-identical: {same}", flush=True)
    return same and only and len(killed) == KILLS


def ended_and_resumed(folder: Path, what: str, chance: random.Random) -> bool:
    """The client or the scheduler, in the middle of a window; then the run is resumed, here or on another cluster."""
    place, moment = folder / f"{what}-killed", chance.randrange(3, 20)
    with cluster(folder, 2) as (address, certificates, scheduler):
        more = ["--cluster", address, "--certificates", str(certificates)]
        client, look = keyfluid(folder, *WORDS["film"], "-o", place.name, *more), Look(place)
        while client.poll() is None and not (look.at_work() and len(look.begun) >= moment):
            time.sleep(0.005)
        os.kill(client.pid if what == "client" else scheduler, signal.SIGKILL)
        said = client.communicate()[1].splitlines()[-1:]
    if what == "client":
        resumed = keyfluid(folder, "resume", place.name)
        resumed.communicate()
    else:
        with cluster(folder, 2) as (address, certificates, _):
            resumed = keyfluid(folder, "resume", place.name, "--cluster", address, "--certificates", str(certificates))
            resumed.communicate()
    same = content(place) == content(folder / "film-serial")
    print(f"{what} killed after {len(look.begun)} windows had begun: exit {client.returncode}", end="")
    print(f", {' '.join(said).replace(str(folder), 'DIR')!r}; " if what == "scheduler" else "; ", end="")
    print(f"resumed with exit {resumed.returncode}, bit-identical: {same}", flush=True)
    return same and resumed.returncode == 0


def main() -> None:
    every: dict[str, Callable[[Path, str, random.Random], bool]] = {
        "film": workers_killed, "wedge": workers_killed, "client": ended_and_resumed, "scheduler": ended_and_resumed,
    }  # fmt: skip
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=list(every))
    parser.add_argument("--seed", type=int, default=5)
    chosen = parser.parse_args()
    wanted, film = [chosen.what] if chosen.what else list(every), FILM
    for large, small in FEWER:
        film = film.replace(large, small)
    with tempfile.TemporaryDirectory(prefix="keyfluid-") as name:
        folder = Path(name)
        (folder / "film.toml").write_text(film)
        (folder / "free.toml").write_text(FREE)
        for what in {"wedge" if what == "wedge" else "film" for what in wanted}:
            keyfluid(folder, *WORDS[what], "-o", f"{what}-serial", "--threads", "1").communicate()
        good = [every[what](folder, what, random.Random(chosen.seed)) for what in wanted]
    raise SystemExit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
