"""Coarse to fine: evaluations and time to the same error with and without coarser grids before the scene's own."""

from __future__ import annotations

import _spectral_common as common
from _shots_common import chosen, table


def run() -> None:
    common.chosen.threads = chosen.threads
    flat, deep, frames = chosen.pick((128, 64, 20), (96, 32, 20), (32, 16, 6))
    less = chosen.pick([], [], ["control.iterations=6"])
    grid = "control.paths=0"
    scenes = {
        f"F, {flat}^2": (common.letter(flat, "F", 2 * frames), ["control.iterations=150", grid, *less]),
        f"knot, {deep}^3": (
            common.ball(deep, frames),
            ["control.iterations=60", "control.cutoff=8", "control.paths=0", *less],
        ),
    }
    rows = []
    for name, (scene, sets) in scenes.items():
        common.compile_first(scene, [*sets, "control.cutoff=4"] if "knot" in name else sets)
        runs = {
            "coarse grids first": common.measure(scene, sets),
            "the scene's grid alone": common.measure(scene, [*sets, "control.coarse=0"]),
        }
        # Both get there.
        level = 1.01 * max(float(run.record.lowest()[-1]) for run in runs.values())
        for way, run in runs.items():
            place = run.record.first_below(level)
            assert place is not None
            rows.append(
                {
                    "scene": name,
                    "way": way,
                    "error both reach": level,
                    "evaluations, coarser grids by their cells": round(float(run.record.work()[place])),
                    "seconds to it": round(run.record.seconds[place], 1),
                    "its own end": float(run.record.lowest()[-1]),
                    "seconds in all": round(run.record.seconds[-1], 1),
                    "threads": run.result.metrics["threads"],
                }
            )
            print(rows[-1], flush=True)
    print(f"\n{table(rows)}\n")
