"""What a user waits for: importing is fast, and a second run compiles nothing."""

from __future__ import annotations

import subprocess
import sys
import time

GRADIENT = """
import sys, numpy as np
from keyfluid.threads import set_threads
from keyfluid.grid import Grid, Kind
from keyfluid.fields import Field
from keyfluid.models import Smoke, SmokeOptions
from keyfluid.rollout import Rollout
from keyfluid.verify.check import Distance
set_threads(1)
grid = Grid((8, 7))
model = Smoke(grid, 0.1, SmokeOptions(dtype=np.float64, buoyancy=1.0))
start = model.initial_state(density=Field.from_function(grid, Kind.CENTRES, lambda x, y: x + y * y))
Rollout(model, 2).gradient(start, Distance(2, Field.zeros(grid, Kind.CENTRES, np.float64)))
hits = misses = 0
for name in [name for name in sys.modules if name.startswith("keyfluid.") and ".kernels." in name]:
    for item in vars(sys.modules[name]).values():
        if hasattr(item, "stats"):
            hits += sum(item.stats.cache_hits.values())
            misses += sum(item.stats.cache_misses.values())
print(hits, misses)
"""


def run(program):
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return done.stdout


def test_a_second_run_compiles_nothing():
    run(GRADIENT)
    hits, misses = map(int, run(GRADIENT).split())
    assert misses == 0
    assert hits >= 4


def test_importing_is_fast_and_leaves_numba_alone():
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        loaded = run("import sys, keyfluid, keyfluid.errors; print(*sys.modules)")
        seconds.append(time.perf_counter() - start)
    assert min(seconds) < 1.0
    assert not {"numba", "matplotlib", "scipy"} & set(loaded.split())


def test_fewer_threads_by_numbas_variable(monkeypatch):
    from keyfluid.threads import available

    monkeypatch.delenv("NUMBA_NUM_THREADS", raising=False)
    cores = available()
    for said, wanted in (("1", 1), (str(cores + 3), cores), ("0", cores), ("many", cores)):
        monkeypatch.setenv("NUMBA_NUM_THREADS", said)
        assert available() == wanted
