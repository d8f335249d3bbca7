"""Madill & Mould 2013 at its own size: `python benchmarks/results/particles.py [PART...] [--threads N]`.

Parts: cost, matching, vortices, targets, scenes, large, curves, extras, knobs, picture. Prints Markdown tables and
writes docs/images/particles_*.png; without names it does all of them, in a few minutes. Two threads unless told,
float32.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import keyfluid  # noqa: E402
from keyfluid.controllers.particles.control import ControlParticles  # noqa: E402
from keyfluid.controllers.particles.simulation import ParticleSimulation  # noqa: E402
from keyfluid.controllers.particles.streams import Stream, key  # noqa: E402
from keyfluid.controllers.particles.targets import TargetShape  # noqa: E402
from keyfluid.controllers.particles.vortices import Vortices  # noqa: E402
from keyfluid.controllers.turns import acting  # noqa: E402
from keyfluid.render import filmstrip, save_png  # noqa: E402
from keyfluid.render.camera import default_camera  # noqa: E402
from keyfluid.render.lighting import OPTICAL_DEPTH, KeyAndSky  # noqa: E402
from keyfluid.render.markers import MarkerCloud, blended, render_markers, shade_key, shades_of  # noqa: E402
from keyfluid.render.view import View  # noqa: E402
from keyfluid.runs.memory import peak_memory_mb  # noqa: E402
from keyfluid.threads import available  # noqa: E402
from timing import best, machine, table  # noqa: E402

IMAGES = HERE.parents[1] / "docs" / "images"
GALLERY = HERE.parents[1] / "src" / "keyfluid" / "gallery"

LETTER = """
name = "cost"
[domain]
size = [1.0, 1.0, 1.0]
resolution = 64
[time]
fps = 30
frames = 200
[smoke]
initial = { shape = "cylinder", radius = 0.24, height = 0.14, rotation = [90.0, 0.0, 0.0], mass = "first-key" }
[[keyframe]]
frame = 200
text = "Ψ"
depth = 0.14
fit = 0.75
[control]
method = "particles"
preset = "table2"
redistributions = 400000
vortex_energy = 100.0
"""


def begun(scene: str | Path, *overrides: str) -> ParticleSimulation:
    problem = keyfluid.build(keyfluid.load_scene(scene, overrides))
    simulation = ParticleSimulation(problem, problem.scene.control)
    simulation.begin()
    return simulation


def frames_of(simulation: ParticleSimulation, first: int, last: int) -> list[float]:
    """Seconds of each frame."""
    spent = []
    for frame in range(first, last + 1):
        began = time.perf_counter()
        simulation.frame(frame)
        spent.append(time.perf_counter() - began)
    return spent


def cost() -> None:
    """Table 1 and the fit."""
    counts, totals, modules = [400_000, 800_000, 1_200_000, 1_600_000, 2_000_000], [], {}
    for count in counts:
        simulation = begun(LETTER, f"control.markers={count}")
        frames_of(simulation, 1, 8)
        simulation.seconds.clear()
        worked = time.process_time()
        spent = frames_of(simulation, 9, 24)
        worked = time.process_time() - worked
        totals.append((1e3 * min(spent), 1e3 * float(np.median(spent)), 1e3 * worked / len(spent)))
        modules[count] = {name: 1e3 * total / len(spent) for name, total in simulation.seconds.items()}
    cloud, lattice = simulation.clouds[0], simulation.lattice
    print(f"### Simulation of a frame, ms ({keyfluid.threads.threads()} threads, {machine()})\n")
    print(
        f"{cloud.control.count} control particles, {simulation.vortices.count} vortices of mean radius "
        f"{simulation.vortices.radius.mean():.3f} m, velocity lattice {' x '.join(map(str, lattice.counts))}, "
        f"densities {' x '.join(map(str, simulation.grid.counts))}, 400000 redistribution trials, "
        f"{simulation.settings.swaps} swaps. Means over 16 frames; no rendering, no files.\n"
    )
    rows: list[dict[str, object]] = [
        {"module": name, **{f"{count:,} markers": modules[count][name] for count in counts}}
        for name in modules[counts[0]]
    ]
    rows.append({"module": "sum", **{f"{count:,} markers": sum(modules[count].values()) for count in counts}})
    rows.append({"module": "median frame", **{f"{c:,} markers": t[1] for c, t in zip(counts, totals)}})
    rows.append({"module": "fastest frame", **{f"{c:,} markers": t[0] for c, t in zip(counts, totals)}})
    rows.append({"module": "processor time", **{f"{c:,} markers": t[2] for c, t in zip(counts, totals)}})
    print(table(rows))
    x = np.array(counts) / 1e6
    for what, index in (("the fastest frames", 0), ("processor time", 2)):
        y = np.array([t[index] for t in totals])
        slope, base = np.polyfit(x, y, 1)
        left = y - (base + slope * x)
        fit = 1 - float((left**2).sum() / ((y - y.mean()) ** 2).sum())
        print(
            f"\nFit of {what}: {base:.1f} ms + {slope:.1f} ms per million markers, R^2 = {fit:.4f}, off by at most "
            f"{np.abs(left).max():.1f} ms."
        )
    print()
    places = np.random.default_rng(0).random((2, 3, 10_000)).astype(np.float32)

    control = crowd(places[0])
    begun_with = control.match.copy()

    def swap() -> None:
        control.match[:] = begun_with
        control.swap(places[1], 50_000, key(0, Stream.SWAP, 1))

    print(
        f"50,000 swaps among 10,000 particles, sorting and energy included: {1e3 * best(swap, 60).seconds:.2f} ms "
        "(the paper: under 1 ms).\n"
    )


FLAT = """
[domain]
resolution = 128
[time]
frames = 10
[smoke]
initial = { shape = "disk", mass = "first-key" }
[[keyframe]]
frame = 5
text = "Ψ"
[[keyframe]]
frame = 10
text = "Ω"
"""


def crowd(position: np.ndarray) -> ControlParticles:
    """Control particles at these places, each with a random target."""
    control = ControlParticles(np.dtype(np.float32))
    control.position = position.astype(np.float32)
    control.assign(0, 0)
    return control


def energies(source: np.ndarray, target: np.ndarray, marks: list[int]) -> list[float]:
    """Sum of squared distances after so many swaps."""
    control, targets = crowd(source), target.astype(np.float32)
    found, done = [], 0
    for mark in marks:
        found.append(control.count * control.swap(targets, mark - done, key(0, Stream.SWAP, mark)))
        done = mark
    return found


def disc(count: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    radius, angle = 0.15 * np.sqrt(rng.random(count)), 2 * np.pi * rng.random(count)
    return np.stack([0.25 + radius * np.cos(angle), 0.3 + radius * np.sin(angle), 0 * angle])


def matching() -> None:
    """Figure 2, and how far from the optimum."""
    from scipy.optimize import linear_sum_assignment

    problem = keyfluid.build(keyfluid.load_scene(FLAT))
    psi, omega = (TargetShape(k.body, problem.grid, k.path) for k in problem.keyframes)
    cases = {
        "a disc to a psi beside it": lambda n: (disc(n), psi.sample(n, 0, 0)),
        "psi to omega in place": lambda n: (psi.sample(n, 0, 0), omega.sample(n, 0, 1)),
    }
    print("### Correspondence: energy over the optimal assignment's, 1,000 particles in 2D\n")
    per = [0, 1, 2, 4, 8, 16, 30, 50, 100, 200]
    rows, curves = [], {}
    for name, make in cases.items():
        source, target = make(1000)
        square = ((source[:, :, None] - target[:, None, :]) ** 2).sum(axis=0)
        least = float(square[linear_sum_assignment(square)].sum())
        found = energies(source, target, [1000 * n for n in per])
        rows.append({"case": name, **{f"{n}": round(e / least, 3) for n, e in zip(per, found)}})
        marks = list(range(0, 200_001, 10_000))
        curves[name] = marks, energies(*make(10_000), marks)
    print(table([{"swaps per particle": row.pop("case"), **row} for row in rows]))
    print("\n### Figure 2: mean squared distance (m^2) of 10,000 particles\n")
    shown = (0, 2, 4, 8, 12, 16, 20)
    rows = [
        {"swaps": name, **{f"{marks[i]:,}": round(found[i] / 1e4, 5) for i in shown}}
        for name, (marks, found) in curves.items()
    ]
    print(table(rows))
    print()
    plot(
        "particles_matching.png", curves, "swaps", "energy over that at the start", lambda e: np.array(e) / e[0],
        "10,000 particles (the paper's figure 2)",
    )  # fmt: skip


def plot(name: str, curves: dict[str, Any], across: str, up: str, change: Any, title: str) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6.4, 3.2), dpi=110)
    for label, (x, y) in curves.items():
        axes.plot(x, change(y), label=label)
    axes.set(xlabel=across, ylabel=up, title=title, ylim=(0, None))
    axes.legend()
    figure.tight_layout()
    figure.savefig(IMAGES / name)
    pyplot.close(figure)


def vortices() -> None:
    """Lattice against direct sums; what exchange and spinning keep."""
    rng = np.random.default_rng(0)
    found = Vortices(np.dtype(np.float32))
    found.position = rng.uniform(0.2, 0.8, (3, 2000)).astype(np.float32)
    found.before = np.zeros((3, 2000), np.float32)
    found.omega = rng.normal(0, 2.5, (3, 2000)).astype(np.float32)
    found.radius = rng.uniform(0.025, 0.075, 2000).astype(np.float32)
    where = rng.uniform(0.25, 0.75, (3, 2000)).astype(np.float32)
    exact = np.zeros((3, 2000))
    for x, omega, sigma in zip(found.position.T, found.omega.T, found.radius):
        arm = where - x[:, None]
        q = (arm**2).sum(axis=0) / sigma**2
        exact += np.cross(omega, arm.T).T * np.where(q < 1, (4 - 20 / (q + 4)) ** 2, 0.0)
    rows = []
    for cells in (16, 32, 48, 64, 96, 128):
        lattice = cubic_lattice(cells)
        packed = found.velocity_field(lattice).reshape(-1, 4)
        read = np.stack([lattice.sample(np.ascontiguousarray(packed[:, a]), where) for a in range(3)])
        error = float(np.sqrt(((read - exact) ** 2).sum() / (exact**2).sum()))
        rows.append({"velocity cells": f"{cells}^3", "relative error (L2)": round(error, 4)})
    print("### Vortex velocity on a lattice against the direct sum, 2,000 vortices of mean radius 0.05 m\n")
    print(table(rows))
    problem = keyfluid.build(keyfluid.load_scene(LETTER))
    settings = ParticleSimulation(problem, problem.scene.control).settings
    total, weighted = found.omega.sum(axis=1, dtype=np.float64), (found.radius**3 * found.omega).sum(axis=1)
    size, sizes = float(np.abs(found.omega).sum()), np.linalg.norm(found.omega, axis=0)
    before = found.omega.copy()
    for _ in range(100):
        found.exchange(lattice, replace(settings, exchange=1.0, exchange_radius=0.05), 1 / 30)
    gone = np.abs(found.omega.sum(axis=1, dtype=np.float64) - total).max() / size
    volume = found.radius**3
    other = np.abs((volume * found.omega).sum(axis=1) - weighted).max() / (volume * np.abs(before)).sum()
    print(f"\n100 exchanges (float32): sum of omega changed by {gone:.1e} of sum |omega|; ", end="")
    print(f"sum of sigma^3 omega by {other:.1e}.")
    found.omega = before.copy()
    for _ in range(100):
        found.spin(lattice, packed.reshape(-1), 1 / 30)
    kept = np.abs(np.linalg.norm(found.omega, axis=0) / sizes - 1).max()
    turned = np.degrees(np.arccos(np.clip((found.omega * before).sum(axis=0) / sizes**2, -1, 1))).mean()
    print(f"100 spins (float32): magnitudes kept to {kept:.1e}, directions turned by {turned:.0f} degrees in mean.\n")


def cubic_lattice(cells: int) -> Any:
    from keyfluid.controllers.particles.lattice import Lattice
    from keyfluid.grid import Grid

    return Lattice.of_grid(Grid((cells,) * 3), np.dtype(np.float32))


def targets() -> None:
    """The skinned beast under an affine map, and bending."""
    problem = keyfluid.build(keyfluid.load_scene(GALLERY / "particles_beast.toml", ["domain.resolution=40"]))
    shape = TargetShape(problem.keyframes[0].body, problem.grid, "keyframe[0]")
    rest = shape.sample(5000, 0, 0)
    from keyfluid.controllers.particles.targets import follow

    corners, weights = shape.fixed(rest)._ties  # type: ignore[misc]
    rng = np.random.default_rng(1)
    matrix, shift = np.eye(3) + 0.4 * rng.normal(size=(3, 3)), rng.normal(size=3)
    vertices = problem.keyframes[0].body.surface(problem.grid, 0.0)[0]  # type: ignore[index]
    moved = follow(vertices @ matrix.T + shift, corners, weights)
    error = np.abs(moved - (matrix @ rest + shift[:, None])).max()
    print("### Target particles\n")
    print(f"5,000 target particles of the beast, vertices moved by an affine map: off by {error:.1e} m at most.\n")


def measured(simulation: ParticleSimulation, frame: int) -> tuple[float, float]:
    """Share of markers within r_c of the target, and the IoU of their blurred density with it at half of full."""
    problem, grid, cloud = simulation.problem, simulation.grid, simulation.clouds[0]
    turn = acting(cloud.turns, frame)
    assert turn is not None
    distance = cloud.shape_of(turn).signed_distance(grid, frame / problem.fps)
    near = grid.sample(distance.astype(grid.dtype), cloud.markers.position) <= simulation.settings.control_radius
    inside = distance < 0
    smoke = cloud.smoke > 0.5 * problem.peaks[cloud.name]
    return float(near.mean()), float((smoke & inside).sum() / (smoke | inside).sum())


def stop_redistributing(simulation: ParticleSimulation) -> None:
    simulation.settings = replace(simulation.settings, redistributions=0)
    for cloud in simulation.clouds:
        cloud.settings = simulation.settings


def scenes() -> None:
    """The gallery's three scenes: numbers and filmstrips."""
    show({"particles_morph": [], "particles_horse": [], "particles_beast": []})


def large() -> None:
    """The same with the paper's numbers of markers and of redistributions (table 2: 400,000 of each)."""
    creature = ["control.markers=400000", "control.redistributions=400000"]
    letters = ["control.markers=2000000", "control.redistributions=400000"]
    show({"particles_morph": letters, "particles_horse": creature, "particles_beast": creature}, "_large")


def show(chosen: dict[str, list[str]], suffix: str = "") -> None:
    """Scenes by name with what is changed in each; pictures get the suffix."""
    rows = []
    for name, changes in chosen.items():
        live = keyfluid.LiveRun(GALLERY / f"{name}.toml", changes)
        last = live.problem.frames
        shown = [0, *(round(last * share) for share in (0.08, 0.2, 0.45, 0.6, 0.8, 1.0))]
        wanted = {index for place in shown for index in (place, place - 1, place - 2)}
        pictures, teleports, speeds, spent = [live.picture(420)], [], [], []
        for frame in range(1, last + 1):
            if frame == last:
                stop_redistributing(live.simulation)
            began = time.perf_counter()
            report = live.step()
            spent.append(time.perf_counter() - began)
            teleports.append(report.teleports)
            speeds.append(report.mean_speed)
            if frame in wanted:
                picture = live.picture(420)
                if frame in shown:
                    pictures.append(picture)
        near, iou = measured(live.simulation, last)
        moved = float(np.mean(teleports[:-1]))
        strip = filmstrip(pictures, [f"frame {f}" for f in shown], columns=7, tile=168)
        save_png(IMAGES / f"{name}{suffix}.png", strip)
        rows.append({
            "scene": name, "frames": last, "markers": live.simulation.marker_count,
            "r_c (m)": round(live.simulation.settings.control_radius, 4), "within r_c": f"{near:.1%}",
            "IoU": round(iou, 3), "teleports per frame": f"{moved:.0f} ({moved / live.simulation.marker_count:.1%})",
            "mean speed, last second (m/s)": round(float(np.mean(speeds[-31:-1])), 3),
            "of its fastest": f"{np.mean(speeds[-31:-1]) / max(speeds):.0%}",
            "median frame (ms)": round(1e3 * float(np.median(spent))), "peak so far (MB)": round(peak_memory_mb()),
        })  # fmt: skip
    print(f"### Scenes at their last frame, redistribution off in it{', the size of the paper' if suffix else ''}\n")
    print(table(rows))
    print()


def curves() -> None:
    """Speed after arrival: particles beside target driving, on one scene."""
    scene = GALLERY / "particles_morph.toml"
    coarse = "domain.resolution=48"
    simulation = begun(scene, coarse)
    ours = [simulation.frame(frame).mean_speed for frame in range(1, simulation.problem.frames + 1)]
    data = keyfluid.load_scene(scene, [coarse]).model_dump(mode="python", exclude_none=True)
    driven = keyfluid.scene_from({**data, "control": {"method": "target"}})
    other = keyfluid.run(driven, threads=keyfluid.threads.threads())
    theirs = []
    for frame in list(other.frames)[1:]:
        density = frame.densities["density"]
        parts = [0.5 * (part[1:] + part[:-1]) for part in (
            np.moveaxis(component, axis, 0) for axis, component in enumerate(frame.velocity.components())
        )]  # fmt: skip
        speed = np.sqrt(sum(np.moveaxis(part, 0, axis) ** 2 for axis, part in enumerate(parts)))
        theirs.append(float((density * speed).sum() / density.sum()))
    fps = simulation.problem.fps
    times = [frame / fps for frame in range(1, len(ours) + 1)]
    plot(
        "particles_speed.png", {"particles": (times, ours), "target (Fattal & Lischinski 2004)": (times, theirs)},
        "seconds", "mean speed of the smoke, m/s", np.array, "psi, then omega: speed after arrival",
    )  # fmt: skip
    print("### Mean speed of the smoke, m/s, psi then omega\n")
    rows = []
    for name, speeds in (("particles", ours), ("target", theirs)):
        rows.append({
            "method": name, "fastest": round(max(speeds), 3),
            "at psi (frames 60-70)": round(float(np.mean(speeds[59:70])), 3),
            "at omega (frames 140-150)": round(float(np.mean(speeds[139:150])), 3),
            "last over fastest": f"{np.mean(speeds[139:150]) / max(speeds):.0%}",
        })  # fmt: skip
    print(table(rows))
    print()


def extras() -> None:
    """What each switch costs, and what it does."""
    cases = {
        "as in the paper": [],
        "project": ["control.project=true"],
        "contain = 4": ["control.contain=4.0"],
        "buoyancy = 0.5": ["smoke.buoyancy=0.5"],
        "an obstacle": ["obstacle=[{shape='sphere', center=[0.5, 0.5, 0.5], radius=0.08}]"],
        "a source": [
            "source=[{shape='sphere', center=[0.5, 0.15, 0.5], radius=0.06, rate=5.0, velocity=[0.0, 0.4, 0.0]}]"
        ],
    }
    rows = []
    from keyfluid.controllers.particles.lattice_effects import Projection
    from keyfluid.operators.project import relative_divergence

    for name, overrides in cases.items():
        if name == "a source":
            overrides = [*overrides, "keyframe[0].mass=match"]
        simulation = begun(LETTER, *overrides)
        frames_of(simulation, 1, 4)
        bulk = simulation._bulk_velocity()
        spread = relative_divergence(Projection(simulation.lattice).faces(bulk))
        worked = time.process_time()
        spent = frames_of(simulation, 5, 20)
        worked = (time.process_time() - worked) / len(spent)
        frames_of(simulation, 21, 60)
        near, iou = measured(simulation, 60)
        rows.append({
            "switch": name, "fastest frame (ms)": 1e3 * min(spent), "processor time (ms)": 1e3 * worked,
            "divergence of the control field": round(spread, 3), "within r_c": f"{near:.1%}", "IoU": round(iou, 3),
        })  # fmt: skip
    print(f"### Extras: 400,000 markers, {keyfluid.threads.threads()} threads ({machine()})\n")
    print(table(rows))
    print("\nDivergence: max |div v| dx / max |v| at frame 4; shape at frame 60.\n")


def knobs() -> None:
    """The two sensitive parameters: low, right, high."""
    sheets = {"strength": ["0.6", "6.0", "60.0"], "redistributions": ["0", "200000", "5000000"]}
    pictures, labels, rows = [], [], []
    for knob, values in sheets.items():
        for value in values:
            live = keyfluid.LiveRun(GALLERY / "particles_beast.toml", [f"control.{knob}={value}"])
            for frame in range(1, 76):
                report = live.step()
                if frame in (73, 74):
                    live.picture(360)
            near, iou = measured(live.simulation, 75)
            pictures.append(live.picture(360))
            labels.append(f"{knob} = {value}")
            rows.append({
                "knob": knob, "value": value, "within r_c": f"{near:.1%}", "IoU": round(iou, 3),
                "speed (m/s)": round(report.mean_speed, 3), "teleports per frame": report.teleports,
            })  # fmt: skip
    save_png(IMAGES / "particles_knobs.png", filmstrip(pictures, labels, columns=3, tile=190))
    print("### The two sensitive parameters: the beast at frame 75\n")
    print(table(rows))
    print()


def picture() -> None:
    """A picture of 400,000 markers at 1280 x 720."""
    simulation = begun(GALLERY / "particles_horse.toml", "control.preset=table2", "domain.resolution=96")
    frames_of(simulation, 1, 60)
    problem, cloud = simulation.problem, simulation.clouds[0]
    white = np.array([0.9, 0.9, 0.88], np.float32)
    kappa = OPTICAL_DEPTH / max(problem.grid.size)
    size, light = (1280, 720), KeyAndSky()
    camera = replace(default_camera(problem.grid.size, aspect=16 / 9, azimuth=25.0), fov_degrees=22.0)
    kept: list[np.ndarray] = []

    def draw(frame: int = 60) -> np.ndarray:
        points = MarkerCloud.of([cloud.markers.position], [white], [cloud.marker_mass / problem.peaks[cloud.name]])
        shades = shades_of(points, light, "y", kappa, shade_key(0, frame))
        kept.insert(0, shades)
        return render_markers(points, blended(kept[:3]), View(camera, size, light), kappa)

    for frame in (58, 59):
        draw(frame)
    spent, worked = [], time.process_time()
    for _ in range(6):
        began = time.perf_counter()
        image = draw()
        spent.append(time.perf_counter() - began)
    worked = (time.process_time() - worked) / len(spent)
    from PIL import Image

    Image.fromarray(image).resize((720, 405), Image.Resampling.LANCZOS).convert("RGB").save(
        IMAGES / "particles_lit.png", optimize=True
    )
    print("### Rendering\n")
    print(
        f"{cloud.markers.count:,} markers at 1280 x 720, two shadow maps, sorting and compositing: "
        f"{min(spent):.2f} s a frame, {worked:.2f} s of processor time "
        f"({keyfluid.threads.threads()} threads, {machine()}).\n"
    )


PARTS = {
    part.__name__: part for part in (cost, matching, vortices, targets, scenes, large, curves, extras, knobs, picture)
}


def main() -> int:
    words = sys.argv[1:]
    count = min(2, available())
    if "--threads" in words:
        place = words.index("--threads")
        count = int(words[place + 1])
        del words[place : place + 2]
    unknown = [name for name in words if name not in PARTS]
    if unknown:
        print(f"no such part: {', '.join(unknown)}; there are {', '.join(PARTS)}", file=sys.stderr)
        return 2
    keyfluid.set_threads(count)
    IMAGES.mkdir(parents=True, exist_ok=True)
    for name in words or PARTS:
        PARTS[name]()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
