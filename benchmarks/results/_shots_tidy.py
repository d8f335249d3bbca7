"""The eight shapes in sequence as they are, and with stray smoke taken back."""

from __future__ import annotations

from collections.abc import Iterable

from _shots_common import Shot, chosen, frame_pictures, save_strip, shoot, table
from _shots_long import SHAPES, scene

VARIANTS = {"as it is": [], "tidy = 12": ["control.tidy=12"]}


def run() -> None:
    size, gap = chosen.pick((128, 30), (64, 30), (24, 6))
    less = chosen.pick([], [], ["control.iterations=20", "control.coarse=0"])
    shots = {}
    for name, sets in VARIANTS.items():
        number = len(shots)
        shots[name] = shoot(f"tidy{number}", scene(size, gap), ["control.schedule=sequence", *sets, *less])
        print(f"{table([_row(name, shots[name])])}\n", flush=True)
    print(f"\n{table([_row(name, shot) for name, shot in shots.items()])}\n")
    shown = [gap * (i + 1) for i in range(len(SHAPES))]
    pictures = [picture for shot in shots.values() for picture in frame_pictures(shot.result, shown, 140)]
    save_strip("tidy", pictures, [f"{name}, {i}" for name in shots for i in shown], len(shown), 110)
    way = range(shown[-1] - 12, shown[-1] + 1, 2)
    both = [shots["as it is"], shots["tidy = 12"]]
    pictures = [picture for shot in both for picture in frame_pictures(shot.result, way, 140)]
    save_strip("tidy_way", pictures, [f"{name}, {i}" for name in ("as it is", "tidy") for i in way], len(way), 110)


def _row(name: str, shot: Shot) -> dict[str, object]:
    keys = shot.result.metrics["keyframes"]
    errors = [key["relative_error"] for key in keys]
    return {
        "run": name,
        "errors": " ".join(f"{error:.3f}" for error in errors),
        "mean": sum(errors) / len(errors),
        "carried IoU of the last": keys[-1]["transported_iou"],
        "stray, %": _percent(key["stray"] for key in keys),
        "gathered, %": _percent(key.get("gathered") for key in keys),
        "CPU seconds": round(shot.cpu),
    }


def _percent(shares: Iterable[float | None]) -> str:
    return " ".join("-" if share is None else f"{100 * share:.1f}" for share in shares)
