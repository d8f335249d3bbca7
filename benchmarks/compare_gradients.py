"""The rows of "Whole gradients" for two checkouts in one run, by turns; the best of each side, and their ratio.

python benchmarks/compare_gradients.py BEFORE AFTER [ROUNDS]      folders of checkouts; 6 rounds unless given
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

COLUMNS = ("forward, ms", "forward + adjoint, ms")
CODE = """
import json, sys
sys.path.insert(0, sys.argv[1] + "/benchmarks")
import gradients
from keyfluid.threads import available
print(json.dumps({name: gradients.measure(name, available()) for name in gradients.RUNS}))
"""


def measured(folder: str) -> dict[str, dict[str, float]]:
    """All rows of a checkout, from a process of its own."""
    folder = os.path.abspath(folder)
    environment = {**os.environ, "PYTHONPATH": f"{folder}/src"}
    command = [sys.executable, "-c", CODE, folder]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    rows: dict[str, dict[str, float]] = json.loads(done.stdout.splitlines()[-1])
    return rows


def main(before: str, after: str, rounds: int = 6) -> None:
    best: dict[tuple[str, str, str], float] = {}
    for _ in range(rounds):
        for folder in (before, after):
            for name, row in measured(folder).items():
                for column in COLUMNS:
                    place = (folder, name, column)
                    best[place] = min(best.get(place, row[column]), row[column])
    for name in dict.fromkeys(name for _, name, _ in best):
        parts = []
        for column in COLUMNS:
            old, new = best[before, name, column], best[after, name, column]
            parts.append(f"{column} {old:8.1f} -> {new:8.1f} ({new / old:.3f})")
        print(f"{name:32s} " + "   ".join(parts))


if __name__ == "__main__":
    main(*sys.argv[1:3], *map(int, sys.argv[3:4]))
