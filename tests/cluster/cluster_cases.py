"""A cluster on this machine for the tests, scenes for it, and a look at which processes are there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from keyfluid.io import container
from shooting_scene import shooting_scene
from waiting import wait_until

SHOOTING = shooting_scene(every=4, iterations=6, rounds=2)

FREE = """
name = "free"
[domain]
resolution = 12
[time]
frames = 3
[smoke]
initial = { shape = "disk", center = [0.4, 0.5], radius = 0.2, velocity = [0.3, 0.1] }
[output]
vdb = false
video = false
size = 32
"""


class Started:
    """`keyfluid cluster start` in a process of its own, with certificates in `folder`."""

    def __init__(self, folder: Path, workers: int = 2) -> None:
        self.certificates = folder / "certificates"
        command = ["cluster", "start", "--workers", str(workers), "--certificates", str(self.certificates)]
        self.process = subprocess.Popen(keyfluid(*command), stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip()
        self.children = descendants(self.process.pid)

    def end(self, number: int = signal.SIGINT) -> set[int]:
        """Stop it; which of its processes are left."""
        ours = {self.process.pid, *self.children, *descendants(self.process.pid)}
        self.process.send_signal(number)
        self.process.wait()
        with suppress(AssertionError):
            wait_until(lambda: not any(map(alive, ours)), "the end of the workers", 30)
        left = {process for process in ours if alive(process)}
        for process in left:
            os.kill(process, signal.SIGKILL)
        return left


def keyfluid(*words: object) -> list[str]:
    return [sys.executable, "-m", "keyfluid", *map(str, words)]


def descendants(process: int) -> set[int]:
    """All processes below one."""
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
        except (FileNotFoundError, ProcessLookupError):
            continue
    found, more = set(), {process}
    while more:
        more = {child for child, parent in parents.items() if parent in more} - found
        found |= more
    return found


def alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def bits(folder: Path) -> dict[str, dict[str, bytes]]:
    """The arrays of all frames."""
    found = {}
    for path in sorted((folder / "frames").glob("*.npz")):
        arrays, _ = container.load_arrays(path)
        found[path.name] = {name: array.tobytes() for name, array in arrays.items()}
    return found
