"""What a user sees when a cluster can't be used: every fault as a whole command, from its start to its exit.

    python benchmarks/cluster_faults.py     a table: seconds, exit code, and what was printed

Fails if a command takes 15 s or more, does not exit with 2, prints more or less than one line, or leaves a folder. It
needs the extra `cluster`, and Linux for the folder that workers don't see.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import keyfluid

LIMIT = 15.0

SCENE = """
name = "free"
[domain]
resolution = 12
[time]
frames = 3
[smoke]
initial = { shape = "disk", radius = 0.2 }
"""
WEDGE = ("smoke.vorticity=0,1",)


@dataclass(frozen=True)
class Ended:
    """A command that ended."""

    seconds: float
    code: int
    said: str

    @property
    def is_right(self) -> bool:
        return self.seconds < LIMIT and self.code == 2 and bool(re.fullmatch(r"keyfluid: [^\n]+\n", self.said))


def wedge(folder: Path, address: str, *more: str, output: str | None = None) -> Ended:
    """`keyfluid wedge --cluster ADDRESS` in a folder."""
    (folder / "free.toml").write_text(SCENE)
    words = ["wedge", "free.toml", *WEDGE, "-o", output or str(folder / "out"), "--cluster", address, *more]
    began = time.perf_counter()
    done = subprocess.run([sys.executable, "-m", "keyfluid", *words], cwd=folder, capture_output=True, text=True)
    ended = Ended(time.perf_counter() - began, done.returncode, done.stderr)
    return ended if not (folder / "out").exists() else Ended(ended.seconds, ended.code, f"{ended.said}(left a folder)")


@contextmanager
def cluster(folder: Path, *more: str, **variables: str) -> Iterator[str]:
    """`keyfluid cluster start` with two workers: its address. variables: of its environment."""
    words = [sys.executable, "-m", "keyfluid", "cluster", "start", "--workers", "2", *more]
    process = subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, text=True, env={**os.environ, **variables})
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()


def other_version(folder: Path) -> str:
    """A copy of the package with another version number: what to put on PYTHONPATH."""
    source = Path(keyfluid.__file__).parent
    copy = folder / "other" / "keyfluid"
    shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "__init__.py").write_text(
        re.sub(r'__version__ = "[^"]*"', '__version__ = "0.0.9"', (source / "__init__.py").read_text())
    )
    return str(copy.parent)


@contextmanager
def full_port() -> Iterator[int]:
    """A port whose queue is full: nobody answers there, and nobody refuses."""
    with ExitStack() as open_ones:
        listener = open_ones.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(4):
            waiting = open_ones.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listener.getsockname())
        time.sleep(0.1)
        yield listener.getsockname()[1]


@contextmanager
def port_that_says(content: bytes) -> Iterator[int]:
    """A port that takes connections and answers with the same bytes, or with silence."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        kept: list[socket.socket] = []

        def serve() -> None:
            while True:
                try:
                    taken, _ = listener.accept()
                    kept.append(taken)
                    taken.sendall(content)
                except OSError:
                    return

        threading.Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1]


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def unreachable(folder: Path) -> Iterator[tuple[str, Ended]]:
    """Nobody there whom Dask could talk to."""
    yield "nobody listens (tcp)", wedge(folder, f"tcp://127.0.0.1:{closed_port()}")
    own = ("--certificates", str(folder / "own"))
    subprocess.run(
        [sys.executable, "-m", "keyfluid", "cluster", "certificates", own[1]], check=True, stdout=subprocess.DEVNULL
    )
    yield "nobody listens (tls)", wedge(folder, f"tls://127.0.0.1:{closed_port()}", *own)
    with full_port() as port:
        yield "packets vanish (tcp)", wedge(folder, f"tcp://127.0.0.1:{port}")
        yield "packets vanish (tls)", wedge(folder, f"tls://127.0.0.1:{port}", *own)
    yield "a name without a machine", wedge(folder, "tls://nowhere.invalid:8786", *own)
    for name, content in (("silence", b""), ("a web server", b"HTTP/1.1 400 Bad Request\r\n\r\n")):
        with port_that_says(content) as port:
            yield f"{name} (tcp)", wedge(folder, f"tcp://127.0.0.1:{port}")
            yield f"{name} (tls)", wedge(folder, f"tls://127.0.0.1:{port}", *own)


def refused(folder: Path) -> Iterator[tuple[str, Ended]]:
    """A cluster that does not accept us, and what its workers can't do."""
    own, other = ("--certificates", str(folder / "cluster")), ("--certificates", str(folder / "own"))
    with cluster(folder, *own) as address:
        yield "another certificate", wedge(folder, address, *other)
        yield "no certificate", wedge(folder, address, "--certificates", str(folder / "none"))
        yield "plain tcp to tls", wedge(folder, address.replace("tls:", "tcp:"))
        # A folder that is another one in every process, as one of the same name on each machine's own disk.
        (folder / "client").mkdir()
        yield "a folder that workers don't see", wedge(folder / "client", address, *own, output="/proc/self/cwd/out")
    with cluster(folder, "--insecure") as address:
        yield "tls to plain tcp", wedge(folder, address.replace("tcp:", "tls:"), *own)
    with cluster(folder, *own, NUMBA_CPU_FEATURES="+sse4.2,+avx") as address:
        yield "workers without FMA", wedge(folder, address, *own)
    with cluster(folder, *own, PYTHONPATH=other_version(folder)) as address:
        yield "workers of another version", wedge(folder, address, *own)


def main() -> None:
    wrong = []
    with tempfile.TemporaryDirectory(prefix="keyfluid-") as name:
        folder = Path(name)
        for faults in (unreachable, refused):
            for what, ended in faults(folder):
                said = ended.said.strip().replace(name, "DIR")
                print(f"{what:<32}{ended.seconds:6.1f} s  exit {ended.code}  {said}", flush=True)
                if not ended.is_right:
                    wrong.append(what)
    print(f"not as promised: {', '.join(wrong)}" if wrong else "all in under 15 s, exit code 2, one line each")
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()
