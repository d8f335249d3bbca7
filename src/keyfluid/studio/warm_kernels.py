"""The kernels of common scenes, compiled into Numba's cache: `python -m keyfluid.studio.warm_kernels`.

Each scene is run at the smallest size that calls what a real one calls; nothing is written but the cache. Takes a
minute or more the first time and seconds later.
"""

from __future__ import annotations

import os
from typing import Any

METHODS = ("none", "target", "spectral", "particles")
_SMALL: dict[str, dict[str, Any]] = {"spectral": {"iterations": 1}, "particles": {"control_particles": 50}}


def main() -> None:
    if hasattr(os, "nice"):
        os.nice(19)
    from keyfluid.runs.run import run  # after the priority is low: it imports the engine

    for dim in (2, 3):
        for method in METHODS:
            run(scene(method, dim), threads=1)


def scene(method: str, dim: int) -> dict[str, Any]:
    """Two frames of a puff, with a keyframe at the second where there is a method."""
    puff = {"shape": "disk" if dim == 2 else "sphere", "center": [0.4] * dim, "radius": 0.2}
    made: dict[str, Any] = {
        "name": "warm",
        "domain": {"size": [1.0] * dim, "resolution": 16 if dim == 2 else 12},
        "time": {"frames": 2},
        "smoke": {"initial": puff, "buoyancy": 0.5},
        "control": {"method": method},
        "output": {"vdb": False, "video": False, "size": 32},
    }
    if method != "none":
        made["keyframe"] = [{**puff, "frame": 2, "center": [0.6] * dim}]
    made["control"] |= _SMALL.get(method, {})
    return made


if __name__ == "__main__":
    main()
