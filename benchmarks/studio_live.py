"""Frames per second of live particles in the studio, as a page gets them: simulated, packed, sent and acknowledged.

    python benchmarks/studio_live.py [--markers 100000] [--seconds 20] [--least 5]

The server, the live run's process and this client share the machine, as they do with a browser; the client only reads:
drawing points is the graphics card's work. The bundled `particles_horse` and `particles_morph` with so many markers; a
live run waits where it would be faster than the scene's 30 frames per second. On a machine with other work look at the
processor time of the live run's process, over all its threads, rather than at wall times. With --least the exit code is
1 where a scene is slower than that.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlencode

from websockets.sync.client import ClientConnection, connect

from keyfluid.gallery import bundled
from timing import machine, table

SCENES = ("particles_horse", "particles_morph")
WARM_UP = 5
"""Frames that do not count: the start is calmer than what follows."""


def prepare(folder: Path, name: str, markers: int) -> str:
    """A bundled scene with this many markers in the workspace; returns its name there."""
    source = bundled()[name]
    place = folder / "scenes" / name
    place.mkdir(parents=True)
    text = source.read_text(encoding="utf-8")
    text = text.replace('method = "particles"', f'method = "particles"\nmarkers = {markers}')
    (place / "scene.toml").write_text(text, encoding="utf-8")
    for mesh in source.parent.glob(f"{name}.obj"):
        (place / mesh.name).write_bytes(mesh.read_bytes())
    return f"scenes/{name}/scene.toml"


def header_of(message: bytes) -> dict[str, float]:
    return dict(json.loads(message[4 : 4 + int.from_bytes(message[:4], "little")]))


def processor_seconds(server: int) -> float:
    """Processor time of the live run's process so far."""
    total = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = path.read_text().rpartition(")")[2].split()
            line = (path.parent / "cmdline").read_bytes()
        except OSError:
            continue
        if int(words[1]) == server and b"live_process" in line:
            total += int(words[11]) + int(words[12])
    return total / os.sysconf("SC_CLK_TCK")


def measure(socket: ClientConnection, server: int, seconds: float) -> dict[str, float]:
    """Frames until so many seconds have passed after the first ones."""
    count, size, simulated, began, cpu = 0, 0, 0.0, 0.0, 0.0
    while count < WARM_UP or time.perf_counter() - began < seconds:
        message = socket.recv(600)
        if isinstance(message, str):
            said = json.loads(message)
            if said["type"] == "error":
                raise SystemExit(said["message"])
            continue
        header = header_of(message)
        socket.send(json.dumps({"type": "seen", "number": header["number"]}))
        count += 1
        size = len(message)
        if count == WARM_UP:
            began, cpu = time.perf_counter(), processor_seconds(server)
        elif count > WARM_UP:
            simulated += header["seconds_per_frame"]
    frames, passed = count - WARM_UP, time.perf_counter() - began
    return {
        "frames per second": frames / passed,
        "ms simulated (wall)": 1000 * simulated / frames,
        "ms of processor": 1000 * (processor_seconds(server) - cpu) / frames,
        "KiB sent": size / 1024,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--markers", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--least", type=float, default=0.0)
    given = parser.parse_args()
    rows: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        scenes = [prepare(folder, scene, given.markers) for scene in SCENES]
        command = [sys.executable, "-m", "keyfluid", "studio", name, "--port", "0", "--no-open"]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert server.stdout is not None
        address, _, token = server.stdout.readline().strip().partition("/?token=")
        try:
            for scene in scenes:
                place = f"{address.replace('http', 'ws')}/api/live?{urlencode({'scene': scene})}"
                headers = {"X-Keyfluid-Token": token, "Origin": address}
                with connect(place, additional_headers=headers, max_size=None, proxy=None) as socket:
                    found = measure(socket, server.pid, given.seconds)
                numbers = {name: round(value, 1) for name, value in found.items()}
                rows.append({"scene": Path(scene).parent.name, "markers": given.markers, **numbers})
        finally:
            server.terminate()
            server.wait()
    print(f"{machine()}\n\n{table(rows)}")
    return int(any(float(str(row["frames per second"])) < given.least for row in rows))


if __name__ == "__main__":
    raise SystemExit(main())
