"""Time of one picture of a 128^3 plume at 512 x 512: ``python benchmarks/raymarch.py``.

Prints the best of several runs, the processor time over wall time (how many threads worked), and what part is
light and what part is rays. The goals are 2 s a frame on 2 cores, and a liquid at most 3 times smoke of its shape.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numba
import numpy as np

from keyfluid.render import Backdrop, ColouredField, KeyAndSky, View, default_camera, render_volume
from keyfluid.render.lighting import LitVolume
from keyfluid.render.liquid import render_liquid_volume
from keyfluid.render.volume import trace_volume

CELLS, PIXELS, REPEATS = 128, 512, 5


def plume(n: int) -> np.ndarray:
    """A rough rising column under a cap, about a fifth of the domain."""
    x, y, z = (np.indices((n, n, n), dtype=np.float32) + 0.5) / n
    swirl = 0.03 * (np.sin(31 * x + 9 * y) + np.sin(27 * y + 11 * z) + np.sin(29 * z + 7 * x))
    column = 0.04 + 0.22 * y - np.hypot(x - 0.5, z - 0.5)
    cap = 0.3 - np.sqrt((x - 0.5) ** 2 + 1.3 * (y - 0.65) ** 2 + (z - 0.5) ** 2)
    return np.clip((np.maximum(column * (y < 0.7), cap) + swirl * y) / 0.06, 0, 1).astype(np.float32)


def best(work: Callable[[], object]) -> tuple[float, float]:
    """Least wall time, and processor time over wall time of that run."""
    runs = []
    for _ in range(REPEATS):
        wall, processor = time.perf_counter(), time.process_time()
        work()
        wall = time.perf_counter() - wall
        runs.append((wall, (time.process_time() - processor) / wall))
    return min(runs)


def main() -> None:
    smoke = [ColouredField(plume(CELLS))]
    x, y, z = (np.indices((CELLS,) * 3, dtype=np.float32) + 0.5) / CELLS
    ball = np.sqrt((x - 0.3) ** 2 + (y - 0.35) ** 2 + (z - 0.7) ** 2) - np.float32(0.13)
    pool = np.minimum(y - np.float32(0.25), ball)
    shape = [ColouredField(np.clip(np.float32(0.5) - pool * CELLS, 0, 1))]
    camera, spacing, size = default_camera((1, 1, 1)), 1 / CELLS, (PIXELS, PIXELS)
    start = time.perf_counter()
    render_volume(smoke, spacing, View(camera, (8, 8)))
    filled = np.mean(smoke[0].values > 0)
    print(f"{CELLS}^3 at {PIXELS}^2, {numba.get_num_threads()} threads, {filled:.0%} of the cells hold smoke")
    print(f"first picture, with compilation or its cache: {time.perf_counter() - start:.1f} s")
    volume = LitVolume(smoke, spacing, KeyAndSky(), camera.position)
    plain, floor = View(camera, size), View(camera, size, backdrop=Backdrop(floor=True))
    for name, work in {
        "light": lambda: LitVolume(smoke, spacing, KeyAndSky(), camera.position),
        "rays": lambda: trace_volume(volume, plain),
        "whole picture": lambda: render_volume(smoke, spacing, plain),
        "with floor": lambda: render_volume(smoke, spacing, floor),
        "with solid and floor": lambda: render_volume(smoke, spacing, floor, ball),
        "a pool as smoke": lambda: render_volume(shape, spacing, floor),
        "a pool as liquid": lambda: render_liquid_volume(pool, spacing, "#3f8fd0", floor),
    }.items():
        wall, threads = best(work)
        print(f"{name:22s} {wall:6.3f} s   processor/wall {threads:.2f}")


if __name__ == "__main__":
    main()
