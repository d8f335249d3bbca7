"""What a newcomer waits for: import, cold compilation, and a second run that compiles nothing.

    python benchmarks/compile_time.py

Each figure comes from a process of its own; "cold" starts with an empty kernel cache.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

from timing import machine, table

GRADIENT = """
import numpy as np, time
start = time.perf_counter()
from keyfluid.grid import Grid, Kind
from keyfluid.fields import Field
from keyfluid.models import Smoke, SmokeOptions
from keyfluid.rollout import Rollout, StoredForcing
grid = Grid(({cells}))
model = Smoke(grid, 0.05, SmokeOptions(buoyancy=1.0))
state = model.initial_state(density=Field.from_function(grid, Kind.CENTRES, lambda *x: x[0] + 0.1))
class Loss:
    def steps(self): return (2,)
    def term(self, step, state):
        rho = state["density"]
        return rho.dot(rho), {{"density": 2 * rho}}
Rollout(model, 2).gradient(state, Loss())
print(time.perf_counter() - start)
"""


def run(code: str, cache: str | None = None) -> float:
    environment = dict(os.environ)
    if cache:
        environment["NUMBA_CACHE_DIR"] = cache
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout.strip().splitlines()[-1])


def measure() -> list[dict[str, object]]:
    timed = "import time; s = time.perf_counter(); import keyfluid; print(time.perf_counter() - s)"
    imported = min(run(timed) for _ in range(5))
    rows: list[dict[str, object]] = [{"what": "import keyfluid", "seconds": imported}]
    for cells in ("12, 10", "10, 9, 8"):
        code = GRADIENT.format(cells=cells)
        with tempfile.TemporaryDirectory() as cache:
            name = f"{cells.count(',') + 1}D smoke gradient"
            rows.append({"what": f"{name}, cold", "seconds": run(code, cache)})
            rows.append({"what": f"{name}, second run", "seconds": min(run(code, cache) for _ in range(3))})
    start = time.perf_counter()
    subprocess.run([sys.executable, "-m", "keyfluid", "--help"], capture_output=True, check=True)
    rows.append({"what": "keyfluid --help", "seconds": time.perf_counter() - start})
    return rows


if __name__ == "__main__":
    print(f"{machine()}\n\n{table(measure())}")
