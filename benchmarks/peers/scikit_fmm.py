"""scikit-fmm's distance of a ball on a grid given as arguments; prints {"peer", "version", "seconds"} as JSON,
the seconds by the order of its differences."""

from __future__ import annotations

import json
import sys
import time
from importlib.metadata import version

import numpy as np
import skfmm

cells = [int(word) for word in sys.argv[1:]]
spacing = 1.0 / max(cells)
axes = np.meshgrid(*[(np.arange(n) + 0.5) * spacing for n in cells], indexing="ij")
phi = np.sqrt(sum((a - c) ** 2 for a, c in zip(axes, (0.47, 0.52, 0.49)))) - 0.27
seconds = {}
for order in (1, 2):
    runs = []
    for _ in range(4):
        begin = time.process_time()
        skfmm.distance(phi, dx=spacing, order=order)
        runs.append(time.process_time() - begin)
    seconds[order] = min(runs)
print(json.dumps({"peer": "scikit-fmm", "version": version("scikit-fmm"), "seconds": seconds}))
