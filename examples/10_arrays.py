"""Arrays in, arrays out: a blob in an array becomes a ring in another, and the film is a third.

python 10_arrays.py [CELLS]
"""

from __future__ import annotations

import sys

import numpy as np

import keyfluid


def film(cells: int = 64, frames: int = 36) -> tuple[np.ndarray, float]:
    """density[frame, x, y], and the relative error at the last frame."""
    points = (np.arange(cells) + 0.5) / cells
    x, y = np.meshgrid(points, points, indexing="ij")
    blob = np.exp(-((x - 0.3) ** 2 + (y - 0.4) ** 2) / 0.03)
    ring = np.exp(-((np.hypot(x - 0.55, y - 0.55) - 0.22) ** 2) / 0.004)
    result = keyfluid.run(
        {
            "domain": {"resolution": cells},
            "time": {"frames": frames},
            "smoke": {"initial": blob},
            "keyframe": [{"frame": frames, "npy": ring}],
            "control": {"method": "spectral"},
        }
    )
    density = np.stack([frame.densities["density"] for frame in result.frames])
    return density, result.metrics["keyframes"][0]["relative_error"]


if __name__ == "__main__":
    density, error = film(*map(int, sys.argv[1:]))
    print(f"film {density.shape}, error {error:.3f}, mass from {density[0].mean():.4f} to {density[-1].mean():.4f}")
