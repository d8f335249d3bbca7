"""One virtual environment per peer, made on first use, with the versions docs/benchmarks.md names.

A peer is never a dependency of keyfluid: it lives in benchmarks/.envs/NAME, which git ignores. A stamp
file written after a complete install holds the pins, so the second use costs nothing and a changed pin
installs again. The pins carry whatever decides a peer's speed; the rest is left to pip.

    python benchmarks/peers/environments.py            # make all of them, print their pythons
    python benchmarks/peers/environments.py warp       # one
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ENVIRONMENTS = HERE.parent / ".envs"

PINS: dict[str, tuple[str, ...]] = {
    "taichi": ("taichi==1.7.4", "numpy==2.4.6"),
    "phiflow": ("phiflow==3.4.0", "jax==0.10.2", "jaxlib==0.10.2", "numpy==2.4.6"),
    "warp": ("warp-lang==1.19.0", "numpy==2.4.6"),
    "fmm": ("scikit-fmm==2025.6.23", "numpy==2.4.6"),
}
SCRIPTS = {
    "taichi": "taichi_smoke.py",
    "phiflow": "phiflow_smoke.py",
    "warp": "warp_advection.py",
    "fmm": "scikit_fmm.py",
}


class PeerUnavailable(RuntimeError):
    """A peer that cannot be installed or run here; the message is one line for the table."""


def ensure(name: str) -> Path:
    """The python of the environment of peer `name`, made and filled first if need be."""
    if name not in PINS:
        raise PeerUnavailable(f"no peer is called {name!r}; there are {', '.join(PINS)}")
    folder = ENVIRONMENTS / name
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    stamp = folder / "installed.txt"
    wanted = "\n".join(PINS[name]) + "\n"
    if stamp.is_file() and stamp.read_text() == wanted and python.exists():
        return python
    stamp.unlink(missing_ok=True)
    print(f"installing {' '.join(PINS[name])} (first use only)", file=sys.stderr, flush=True)
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PINS[name]]
    _run([sys.executable, "-m", "venv", "--clear", str(folder)], f"{name}: no virtual environment")
    _run(install, f"{name}: install failed")
    stamp.write_text(wanted)
    return python


def measure(name: str, *arguments: str) -> dict[str, Any]:
    """What the script of peer `name` prints, or {"peer": name, "skipped": why} when it cannot run."""
    try:
        command = [str(ensure(name)), str(HERE / SCRIPTS[name]), *arguments]
        output = _run(command, f"{name}: {SCRIPTS[name]} failed")
        return json.loads(output.strip().splitlines()[-1])
    except (PeerUnavailable, ValueError, IndexError) as fault:
        return {"peer": name, "skipped": str(fault)}


def _run(command: list[str], fault: str) -> str:
    """Standard output of `command`; on failure one line that ends with the last thing it said."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    except OSError as error:
        raise PeerUnavailable(f"{fault}: {error}") from None
    if done.returncode != 0:
        said = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        errors = [line for line in said if "ERROR" in line] or said or [f"exit code {done.returncode}"]
        raise PeerUnavailable(f"{fault}: {errors[-1].strip()[:200]}")
    return done.stdout


if __name__ == "__main__":
    for peer in sys.argv[1:] or PINS:
        try:
            print(peer, ensure(peer))
        except PeerUnavailable as unavailable:
            print(f"{peer} skipped: {unavailable}")
