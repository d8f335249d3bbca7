"""What the parts of liquid.py share: a run and its row, a strip of its frames."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from _shots_common import OUTPUT, Shot, chosen, shoot

from keyfluid.render import filmstrip, save_png
from keyfluid.runs.pictures import Painter
from keyfluid.runs.run import RunResult

COLUMNS = ("scene", "unknowns", "evaluations", "IoU", "carried IoU", "volume", "churn", "seconds", "CPU s", "MB above")
HEAD = f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|"


def solve(name: str, scene: str, sets: Sequence[str] = (), picture: str | None = None) -> Shot:
    """Run a scene and print its row; of many keyframes the least IoU and the mean."""
    shot = shoot("-".join(name.split()), scene + OUTPUT, sets)
    metrics = shot.result.metrics
    keys, liquid = metrics["keyframes"], metrics.get("liquid")
    ious = [key["iou"] for key in keys]
    iou = f"{ious[-1]:.3f}" if len(keys) == 1 else f"{min(ious):.3f}, mean {np.mean(ious):.3f}"
    kept = f"{100 * (liquid['volume_end'] / liquid['volume_start'] - 1):+.2f} %" if liquid else "-"
    churn = f"{100 * liquid['churn']:.1f} %" if liquid else "-"
    unknowns = shot.plan[0].split()[0] if shot.plan else "-"
    cells = (name, unknowns, metrics["evaluations"], iou, f"{keys[-1]['transported_iou']:.3f}", kept, churn)
    costs = (f"{shot.seconds:.0f}", f"{shot.cpu:.0f}", f"{shot.memory:.0f}")
    print(f"| {' | '.join(map(str, cells + costs))} |", flush=True)
    if picture is not None:
        draw(shot.result, picture)
    return shot


def draw(result: RunResult, name: str, shown: Sequence[int] = (), columns: int = 6) -> None:
    """Some frames beside their keyframes: docs/images/liquid_NAME.png; default: five, spread over the film."""
    painter = Painter(result.problem, 200)
    last = result.problem.frames
    shown = shown or [round(last * share) for share in (0, 0.25, 0.5, 0.75, 1)]
    pictures = [painter.frame(result.frames, index) for index in shown]
    wanted = [painter.target(index) for index in shown]
    strip = filmstrip(pictures, [f"frame {i}" for i in shown], wanted, columns=columns)
    save_png(chosen.images / f"liquid_{name}.png", strip)
