"""What a cluster costs: time per empty task, memory of the scheduler, and bytes through it per window.

    python benchmarks/cluster.py    the three numbers, on a cluster of this machine with two workers

How much faster two workers are: cluster_speed.py; what happens when processes are killed: cluster_kills.py; what is
said when something else is wrong: cluster_faults.py. All need the extra `cluster`. Bytes are counted by a relay between
the client and the scheduler, in both directions; the scheduler sends a task on to one worker, so about as many go to
and from workers.
"""

from __future__ import annotations

import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
from distributed import Client

from keyfluid.cluster.dask_cluster import connected
from keyfluid.cluster.session import Session
from keyfluid.io import container
from keyfluid.runs.run import run_problem
from keyfluid.scenes import load_scene
from keyfluid.scenes.build.problem import build

TASKS = 1000

KEYS = "".join(
    f"""[[keyframe]]
frame = {4 * (number + 1)}
shape = "{"box" if number % 2 else "disk"}"
center = [{0.4 + 0.05 * (number % 4)}, {0.6 - 0.04 * (number % 3)}]
"""
    for number in range(16)
)
FILM = f"""
name = "film"
[domain]
resolution = 32
[time]
frames = 64
fps = 10
[smoke]
initial = {{ shape = "disk", center = [0.4, 0.4], radius = 0.2 }}
{KEYS}
[output]
vdb = false
video = false
size = 32
[control]
method = "spectral"
schedule = "shooting"
span = 8
iterations = 3
cutoff = 5
coarse = 0
rounds = 2
"""
"""Eight windows in a layer."""


@contextmanager
def cluster(folder: Path, workers: int) -> Iterator[tuple[str, Path, int]]:
    """`keyfluid cluster start`: address, certificates and process id."""
    certificates = folder / f"certificates{workers}"
    words = ["cluster", "start", "--workers", str(workers), "--certificates", str(certificates)]
    process = subprocess.Popen([sys.executable, "-m", "keyfluid", *words], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip(), certificates, process.pid
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()


def empty(number: int) -> int:
    return number


def overhead(folder: Path) -> None:
    """Empty tasks, and the memory of the process that is scheduler and nannies."""
    with cluster(folder, 2) as (address, certificates, process), connected(address, certificates) as found:
        client: Client = found._client
        client.gather(client.map(empty, range(100, 120), pure=False))
        before = psutil.Process(process).memory_info().rss
        spent, began = psutil.Process(process).cpu_times(), time.perf_counter()
        futures = client.map(empty, range(TASKS), pure=False)
        client.gather(futures)
        wall = time.perf_counter() - began
        used = psutil.Process(process).cpu_times()
        busy = used.user + used.system - spent.user - spent.system
        after = psutil.Process(process).memory_info().rss
        print(f"{TASKS} empty tasks: {wall / TASKS * 1e6:.0f} us each on the wall, ", end="")
        print(f"{busy / TASKS * 1e6:.0f} us of the scheduler's processor")
        print(f"memory of the scheduler's process: {before / 1e6:.0f} MB before, {after / 1e6:.0f} MB with them")


class Relay:
    """Passes bytes between a port of its own and the scheduler, and counts them."""

    def __init__(self, port: int) -> None:
        self._port, self.count = port, 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            near, _ = self._listener.accept()
            far = socket.create_connection(("127.0.0.1", self._port))
            threading.Thread(target=self._pass, args=(near, far), daemon=True).start()

    def _pass(self, near: socket.socket, far: socket.socket) -> None:
        other = {near: far, far: near}
        while True:
            for ready in select.select([near, far], [], [])[0]:
                data = ready.recv(1 << 16)
                if not data:
                    near.close()
                    far.close()
                    return
                self.count += len(data)
                other[ready].sendall(data)


def traffic(folder: Path) -> None:
    """Bytes between the client and the scheduler while a film of 8 windows is solved, and what went by files."""
    tickets, parcels = [0], [0]
    put = Session.put

    def counted(self: Session, *rest: object) -> object:
        ticket = put(self, *rest)  # type: ignore[arg-type]
        tickets[0] += 1
        parcels[0] += (self.folder / f"{ticket.name}.task").stat().st_size
        return ticket

    Session.put = counted  # type: ignore[method-assign,assignment]
    with cluster(folder, 2) as (address, certificates, _):
        relay = Relay(int(address.rpartition(":")[2]))
        with connected(f"tls://127.0.0.1:{relay.port}", certificates) as found:
            problem = build(load_scene(FILM))
            began, idle = relay.count, time.monotonic()
            run_problem(problem, folder / "traffic", elsewhere=found)
            seconds = time.monotonic() - idle
            moved = relay.count - began
    Session.put = put  # type: ignore[method-assign]
    print(f"{tickets[0]} windows: {moved / tickets[0] / 1e3:.1f} kB each between client and scheduler ", end="")
    print(f"(encrypted, with heartbeats over {seconds:.0f} s); {parcels[0] / tickets[0] / 1e3:.0f} kB each by files")


def bits(folder: Path) -> list[dict[str, bytes]]:
    frames = [container.load_arrays(path)[0] for path in sorted((folder / "frames").glob("*.npz"))]
    return [{name: array.tobytes() for name, array in arrays.items()} for arrays in frames]


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="keyfluid-") as folder:
        overhead(Path(folder))
        traffic(Path(folder))


if __name__ == "__main__":
    main()
