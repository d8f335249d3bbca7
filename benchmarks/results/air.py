"""Wind, drag, dissipation and heat, for docs/air.md: `python benchmarks/results/air.py [PART]... [--threads N]`.

    plumes   one warm plume: as it is, cooling, thinning out, braked, in four winds
    word     the gallery's wind_word: a word that a wind blows away
    exact    a uniform wind, drag, dissipation and cooling against their exact solutions

Tables go to the screen, pictures to docs/images/air_*.png. A minute or two for plumes, several for the word.
"""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path

import numpy as np

import keyfluid
from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.models import Smoke, SmokeOptions
from keyfluid.models.air import Air
from keyfluid.models.wind import Wind, whole_air
from keyfluid.problem import dissipated_name
from keyfluid.render import filmstrip, save_png
from keyfluid.rollout import Rollout
from keyfluid.runs.pictures import Painter
from keyfluid.runs.run import RunResult

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
from timing import table  # noqa: E402

IMAGES = ROOT / "docs" / "images"
QUIET = ["output.vdb=false", "output.video=false"]

PLUME = """
[domain]
size = [1.5, 1.0]
resolution = 96
boundary = "open"
[time]
frames = 48
steps_per_frame = 2
[simulation]
interpolation = "cubic"
[smoke]
{smoke}
[[source]]
shape = "disk"
center = [0.45, 0.12]
radius = 0.06
rate = 8.0
temperature = 30.0
{wind}
"""
PLUMES = {
    "warm, 30 K": ("", ""),
    "cooling = 4": ("cooling = 4.0", ""),
    "dissipation = 1.5": ("dissipation = 1.5", ""),
    "drag = 3": ("drag = 3.0", ""),
    "wind": ("", "[wind]\nvelocity = [0.6, 0.0]"),
    "wind, gust = 0.5": ("", "[wind]\nvelocity = [0.6, 0.0]\ngust = 0.5"),
    "wind, stop = 24": ("", "[wind]\nvelocity = [0.6, 0.0]\nstop = 24"),
    "wind in a box": (
        "",
        "[wind]\nvelocity = [1.2, 0.0]\nrate = 8.0\n"
        'mask = { shape = "box", center = [0.45, 0.55], size = [0.6, 0.12] }',
    ),
}


def plumes(threads: int) -> None:
    """The last frame of each plume, and where its smoke is."""
    pictures, rows = [], []
    for label, (smoke, wind) in PLUMES.items():
        result = keyfluid.run(PLUME.format(smoke=smoke, wind=wind), overrides=QUIET, threads=threads)
        frame = result.frames[-1]
        pictures.append(Painter(result.problem, 300).picture(frame.densities, frame.index))
        rows.append({"plume": label, **where(result)})
    save("plumes", pictures, list(PLUMES), columns=4, tile=220)
    print(table(rows))


def where(result: RunResult) -> dict[str, object]:
    """Centre of the smoke at the last frame, metres; masses over what the source gave."""
    frames = result.frames
    smoke = frames[-1].densities["density"]
    x, y = (float((smoke * line).sum() / smoke.sum()) for line in result.problem.grid.coordinates((False, False)))
    metas = [frame.meta for frame in frames]
    given = sum(meta["emitted"].get("density", 0.0) for meta in metas)
    gone = sum(meta.get("numbers", {}).get(dissipated_name("density"), 0.0) for meta in metas)
    return {
        "x": f"{x:.2f}",
        "y": f"{y:.2f}",
        "in the box": f"{metas[-1]['mass']['density'] / given:.2f}",
        "dissipated": f"{gone / given:.2f}",
        "left the box or drifted": f"{-result.metrics['mass_drift']:.2f}",
    }


def word(threads: int) -> None:
    """Frames of the word, before and after the wind starts."""
    gallery = Path(keyfluid.__file__).parent / "gallery"
    result = keyfluid.run(gallery / "wind_word.toml", overrides=QUIET, threads=threads)
    painter, shown = Painter(result.problem, 360), (0, 20, 40, 48, 56, 64)
    pictures = [painter.picture(result.frames[index].densities, index) for index in shown]
    save("word", pictures, [f"frame {index}" for index in shown], columns=3, tile=290)
    (key,) = result.metrics["keyframes"]
    print(table([{"error": key["relative_error"], "IoU": key["iou"], "mass": key["mass_ratio"]}]))
    x = result.problem.grid.coordinates((False, False))[0]
    rows = []
    for index in (40, 44, 48, 56, 64, 72):
        smoke = result.frames[index].densities["density"]
        rows.append({"frame": index, "centre, x": f"{float((smoke * x).sum() / smoke.sum()):.2f}"})
    print(table(rows))


def exact(threads: int) -> None:
    """Largest relative errors after one second, in float64, for one step and for many."""
    keyfluid.set_threads(threads)
    grid = Grid((24, 16), boundary=("open", "walls"))
    wind = Wind((0.3, 0.0), whole_air(grid, np.float64), rate=4.0)
    ones = Field(grid, Kind.CENTRES, np.ones(grid.count))
    cases = {
        "wind, 4/s": (Air(winds=[wind]), "velocity", 0.3 * -math.expm1(-4.0)),
        "drag, 3/s": (Air(drag=3.0), "velocity", 0.3 * math.exp(-3.0)),
        "dissipation, 2/s": (Air(dissipation=2.0), "density", math.exp(-2.0)),
        "cooling, 5/s": (Air(cooling=5.0), "temperature", math.exp(-5.0)),
    }
    rows = []
    for label, (air, name, value) in cases.items():
        row: dict[str, object] = {"": label, "exact": value}
        for steps in (1, 24):
            model = Smoke(grid, 1.0 / steps, SmokeOptions(dtype=np.float64, air=air, warm=True))
            moving = whole_air(grid, np.float64) * (0.3 if label.startswith("drag") else 0.0)
            for component in moving.components()[1:]:
                component[...] = 0
            end = Rollout(model, steps).run(model.initial_state(moving, density=ones, temperature=ones))[steps]
            found = end[name].component(0)
            row[f"error, {steps} steps" if steps > 1 else "error, 1 step"] = float(np.abs(found / value - 1).max())
        rows.append(row)
    print(table(rows))


def save(name: str, pictures: list[np.ndarray], labels: list[str], columns: int, tile: int) -> None:
    """docs/images/air_NAME.png, with a palette so that it stays small."""
    from PIL import Image

    path = IMAGES / f"air_{name}.png"
    save_png(path, filmstrip(pictures, labels, columns=columns, tile=tile))
    Image.open(path).convert("P", palette=Image.Palette.ADAPTIVE, colors=256).save(path, optimize=True)
    print(f"\n{path.relative_to(ROOT)}\n", flush=True)


PARTS = {"plumes": plumes, "word": word, "exact": exact}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], metavar="PART")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    for part in options.parts or PARTS:
        print(f"## {part}\n", flush=True)
        PARTS[part](options.threads)


if __name__ == "__main__":
    main()
