"""Finer films of solved runs, for docs/upres.md: `python benchmarks/results/upres.py [PART]... [--threads N]`.

    letter    F, 64^2 to 256^2: guided, polished, by the run's forces alone, the frame blown up; energy by wave number
    full      F optimised at 256^2
    knobs     the letter with little, usual and much of each kind of detail
    cost      a guided step beside a plain one
    bodies    a moving obstacle, an inflow and an open side
    word      SMOKE, 160 x 80 to 960 x 480
    knot      ball to knot, 40^3 to 120^3, also polished
    volume    64^3 to 128^3, 30 frames, VDB files and film
    large     the same to 256^3

Tables go to the screen, pictures to docs/images/upres_*.png, runs to out/results_upres, where solved ones are reused.
Times are processor seconds. letter, knobs and cost take a minute or two, knot, volume and large an hour or more.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from collections.abc import Callable
from itertools import pairwise

import numpy as np
from _upres_scenes import BODIES, LETTER, QUIET, ROOT, RUNS, WORD, knot, solved

import keyfluid
from keyfluid.controllers.guided.air import SolvedAir
from keyfluid.controllers.guided.settings import RESOLVED
from keyfluid.controllers.march import march
from keyfluid.controls.resample import to_grid
from keyfluid.fields import density
from keyfluid.grid import Grid, Kind
from keyfluid.models.smoke import Smoke, SmokeOptions
from keyfluid.models.state import State
from keyfluid.operators.guide import Guide
from keyfluid.operators.long_waves import LongWaves
from keyfluid.problem import Advance, Clock
from keyfluid.render import filmstrip, save_png
from keyfluid.runs.metrics import overlap
from keyfluid.runs.other_runs import open_other_run
from keyfluid.runs.pictures import Painter
from keyfluid.runs.progress import Reporter
from keyfluid.runs.recorder import Recorder
from keyfluid.runs.run import RunResult
from keyfluid.runs.run_shell import RunShell
from keyfluid.runs.upres import upres_scene
from keyfluid.scenes.build.problem import BuiltScene

sys.path.insert(0, str(ROOT / "benchmarks"))
from flows import smooth
from timing import table


def film(name: str, factor: int, threads: int, *changes: str, polish: int = 0, keep: bool = False) -> RunResult:
    """A film of a solved run, in memory unless it is kept."""
    scene = upres_scene(RUNS / name, factor, [*QUIET, *changes], polish)
    folder = RUNS / f"{name}_x{factor}{'_polished' * bool(polish)}" if keep else None
    return keyfluid.run(scene, folder, overwrite=True, threads=threads)


def timed(work: Callable[[], RunResult]) -> tuple[RunResult, float]:
    began = time.process_time()
    return work(), time.process_time() - began


def row(label: str, result: RunResult, seconds: float) -> dict[str, object]:
    key, metrics = result.metrics["keyframes"][0], result.metrics
    return {
        "": label, "IoU": f"{key['iou']:.3f}", "error": f"{key['relative_error']:.3f}",
        "mass drift": f"{metrics['mass_drift']:.2%}", "divergence": f"{metrics['max_divergence']:.0e}",
        "s": f"{seconds:.0f}",
    }  # fmt: skip


def letter(threads: int) -> None:
    coarse, seconds = timed(lambda: solved("letter", LETTER.format(cells=64, steps=1), threads))
    rows = [row("solved at 64^2 (0 s: solved before)", coarse, seconds)]
    bare, bare_seconds = timed(lambda: film("letter", 4, threads, "control.turbulence=0", "control.carriers=true"))
    usual, usual_seconds = timed(lambda: film("letter", 4, threads))
    polished, polished_seconds = timed(lambda: film("letter", 4, threads, polish=20))
    rows += [
        {"": "its frame blown up", **blown_up(coarse, bare.problem)},
        {"": "its forces alone at 256^2", **by_forces(coarse, bare.problem)},
        row("guided at 256^2, no eddies", bare, bare_seconds),
        row("guided at 256^2", usual, usual_seconds),
        row("polished at 256^2, 20 iterations", polished, polished_seconds),
    ]
    print(table(rows), "\n")
    print(table(spectrum(bare)))
    frames = (12, 24, 36)
    shown = [Painter(result.problem, 300).picture(result.frames[index].densities, index)
             for result in (coarse, usual, polished) for index in frames]  # fmt: skip
    labels = [f"{name}, frame {index}" for name in ("64^2", "256^2", "polished") for index in frames]
    save("letter", shown, labels, columns=3)


def scores(smoke: np.ndarray, problem: BuiltScene) -> dict[str, object]:
    key = problem.keyframes[0]
    error = float(np.linalg.norm(smoke - key.target) / np.linalg.norm(key.target))
    return {"IoU": f"{overlap(smoke, key):.3f}", "error": f"{error:.3f}"}


def blown_up(coarse: RunResult, problem: BuiltScene) -> dict[str, object]:
    frame = problem.keyframes[0].frame
    smoke = density(coarse.problem.grid, coarse.frames[frame].densities["density"])
    return scores(to_grid(smoke, problem.grid).array, problem)


def by_forces(coarse: RunResult, problem: BuiltScene) -> dict[str, object]:
    """A plain run of the fine smoke under the forces that the coarse run found."""
    steps = problem.fluid.steps(problem)

    def step(state: State, clock: Clock) -> Advance:
        force = coarse.frames[int(clock.time * problem.fps + 1e-6) + 1].force
        return steps.advance(state, clock, None if force is None else to_grid(force, problem.grid))

    recorder, key = Recorder(problem), problem.keyframes[0]
    march(problem, RunShell(recorder, Reporter()), step)
    drift = recorder.result("finished")["mass_drift"]
    return {**scores(recorder.frames[key.frame].densities["density"], problem), "mass drift": f"{drift:.2%}"}


def spectrum(fine: RunResult) -> list[dict[str, object]]:
    """Energy by wave number of the velocities that carried the film, over that of the solved run at the same time."""
    problem, cutoff = fine.problem, 16.0
    other = open_other_run(str(RUNS / "letter"), "control.run")
    ours, theirs = (LongWaves(grid, cutoff, problem.dtype) for grid in (problem.grid, other.problem.grid))
    air = SolvedAir(other, theirs, 36)
    half_waves = np.arange(0, 32)
    number = np.sqrt((1 + half_waves[:, None]) ** 2 + np.arange(33)[None, :] ** 2) / 2
    shells = [(0, 2), (2, 4), (4, 8), (8, 12), (12, 16)]
    sums = np.zeros((2, len(shells)))
    for frame in range(1, 37):
        now = (frame - 1) / problem.fps
        for seconds, velocity in fine.frames[frame].carriers:
            pair = (air.over(now, now + seconds), ours.of(velocity))
            now += seconds
            for i, found in enumerate(pair):
                for axis, values in enumerate(found):
                    k = number if axis == 0 else number.T
                    sums[i] += [
                        float((values.astype(float) ** 2)[(k > low) & (k <= high)].sum()) for low, high in shells
                    ]
    total = sums.sum(axis=1)
    rows = [
        {"waves": f"{low} to {high}", "share of the energy": f"{a / total[0]:.1e}", "film / run": f"{b / a:.4f}"}
        for (low, high), a, b in zip(shells, *sums)
    ]
    return [*rows, {"waves": "all below the cutoff", "film / run": f"{total[1] / total[0]:.4f}"}]


def full(threads: int) -> None:
    result, seconds = timed(lambda: keyfluid.run(LETTER.format(cells=256, steps=1), overrides=QUIET, threads=threads))
    print(table([row("optimised at 256^2", result, seconds)]))


KNOBS = {
    "control.turbulence": (0.0, 0.1, 0.3),
    "smoke.vorticity": (0.0, 10.0, 20.0),
    "smoke.buoyancy": (0.0, 2.0, 6.0),
}


def knobs(threads: int) -> None:
    solved("letter", LETTER.format(cells=64, steps=1), threads)
    rows, pictures, labels = [], [], []
    for name, values in KNOBS.items():
        for value in values:
            changes = [f"{name}={value}"]
            if name != "control.turbulence":
                changes.append("control.turbulence=0")
            result, seconds = timed(lambda given=changes: film("letter", 4, threads, *given))
            rows.append(row(f"{name} = {value:g}", result, seconds))
            pictures.append(Painter(result.problem, 360).picture(result.frames[36].densities, 36))
            labels.append(f"{name.split('.')[1]} {value:g}")
    save("knobs", pictures, labels, columns=3, tile=300)
    print(table(rows))


def cost(threads: int) -> None:
    """Processor time of a step, guided and not; the cutoff is that of a run with a quarter of the cells per axis."""
    keyfluid.set_threads(threads)
    rows = []
    for cells in ((256, 256), (96, 96, 96)):
        grid = Grid(cells, 1.0 / cells[0])
        waves = LongWaves(grid, RESOLVED[grid.dim] * cells[0] / 4, np.dtype(np.float32))
        velocity = smooth(grid, Kind.FACES, 0.3)
        goal = waves.of(velocity)
        state = {"density": smooth(grid, Kind.CENTRES, 1.0), "velocity": velocity}
        models = {
            "plain": Smoke(grid, 1 / 48),
            "guided": Smoke(grid, 1 / 48, SmokeOptions(guide=lambda *_, w=waves, g=goal: Guide(w, g))),
        }
        taken = {name: seconds_of(lambda m=model, s=state: m.step(s, {}, 0)) for name, model in models.items()}
        each = {name: f"{1e9 * seconds / grid.count:.0f}" for name, seconds in taken.items()}
        ratio = taken["guided"] / taken["plain"]
        rows.append({"grid": "x".join(map(str, cells)), **{f"{k}, ns/cell-step": v for k, v in each.items()},
                     "ratio": f"{ratio:.2f}"})  # fmt: skip
    print(table(rows))


def seconds_of(work: Callable[[], object], repeats: int = 5) -> float:
    """The least processor seconds."""
    work()
    found = []
    for _ in range(repeats):
        began = time.process_time()
        work()
        found.append(time.process_time() - began)
    return min(found)


def bodies(threads: int) -> None:
    coarse, seconds = timed(lambda: solved("bodies", BODIES, threads))
    fine, fine_seconds = timed(lambda: film("bodies", 4, threads))
    changes = [*QUIET, "domain.resolution=192", f"time.steps_per_frame={fine.problem.steps_per_frame}"]
    plain, plain_seconds = timed(lambda: keyfluid.run(BODIES.split("[control]")[0], overrides=changes, threads=threads))
    inside = max(
        float(frame.densities["density"][fine.problem.solids(frame.meta["time"]).solid].max()) for frame in fine.frames
    )
    rows = [
        row("solved at 38 x 48", coarse, seconds),
        row("guided at 152 x 192", fine, fine_seconds),
        {"": "152 x 192 by its forces alone", **by_forces(coarse, fine.problem)},
        row("152 x 192, not steered", plain, plain_seconds),
    ]
    print(table(rows))
    print(f"\nlargest density inside the obstacle: {inside:g}")
    jumps = [(b.velocity - a.velocity).norm() for a, b in pairwise(fine.frames)]
    late, middle = max(jumps[32:]), float(np.median(jumps))
    print(f"largest change of velocity in a frame after the key: {late / middle:.2f} of the median")
    strips("bodies", (coarse, fine), (16, 32, 48))


def word(threads: int) -> None:
    coarse, seconds = timed(lambda: solved("word", WORD, threads))
    changes = ("smoke.vorticity=6", "output.video=true", "output.size=320")
    fine, fine_seconds = timed(lambda: film("word", 6, threads, *changes, keep=True))
    print(table([row("solved at 160 x 80", coarse, seconds), row("guided at 960 x 480", fine, fine_seconds)]))
    strips("word", (coarse, fine), (24, 40), tile=420)
    assert fine.folder is not None
    shutil.copy(fine.folder / "video.webp", ROOT / "docs" / "films" / "upres_word.webp")


def knot_film(threads: int) -> None:
    coarse, seconds = timed(lambda: solved("knot", knot(40, 20), threads))
    bare, bare_seconds = timed(lambda: film("knot", 3, threads, "control.turbulence=0"))
    fine, fine_seconds = timed(lambda: film("knot", 3, threads, keep=True))
    rows = [
        row("solved at 40^3 (0 s: solved before)", coarse, seconds),
        {"": "its frame blown up", **blown_up(coarse, fine.problem)},
        {"": "its forces alone at 120^3", **by_forces(coarse, fine.problem)},
        row("guided at 120^3, no eddies", bare, bare_seconds),
        row("guided at 120^3", fine, fine_seconds),
    ]
    carried = coarse.metrics["keyframes"][0]["transported_iou"]
    print(table(rows), f"\nthe start carried through the run's velocities: IoU {carried:.3f}", flush=True)
    strips("knot", (coarse, fine), (10, 20))
    polished, polished_seconds = timed(lambda: film("knot", 2, threads, polish=20, keep=True))
    rows.append(row("polished at 80^3, 20 iterations", polished, polished_seconds))
    again = upres_scene(RUNS / "knot_x2_polished", 1, [*QUIET, "domain.resolution=120"])
    filmed, filmed_seconds = timed(lambda: keyfluid.run(again, threads=threads))
    rows.append(row("that one filmed at 120^3", filmed, filmed_seconds))
    print(table(rows[-2:]))


def volume(threads: int, factor: int = 2) -> RunResult:
    coarse, seconds = timed(lambda: solved("volume", knot(64, 28), threads))
    outputs = ("output.vdb=true", "output.video=true")
    fine, fine_seconds = timed(lambda: film("volume", factor, threads, *outputs, keep=True))
    label = f"guided at {64 * factor}^3, VDB and film"
    print(table([row("solved at 64^3", coarse, seconds), row(label, fine, fine_seconds)]))
    print(f"\n{fine.metrics['seconds']:.0f} s on the wall, {fine.metrics['peak_memory_mb']:.0f} MB")
    return fine


def large(threads: int) -> None:
    folder = volume(threads, 4).folder
    assert folder is not None
    shutil.copy(folder / "strip.png", ROOT / "docs" / "images" / "upres_large.png")


def strips(name: str, results: tuple[RunResult, ...], frames: tuple[int, ...], tile: int = 260) -> None:
    pictures = [Painter(result.problem, 420).picture(result.frames[index].densities, index)
                for result in results for index in frames]  # fmt: skip
    sizes = ["x".join(map(str, result.problem.grid.cells)) for result in results]
    save(name, pictures, [f"{size}, frame {index}" for size in sizes for index in frames], len(frames), tile)


def save(name: str, pictures: list[np.ndarray], labels: list[str], columns: int, tile: int = 260) -> None:
    save_png(ROOT / "docs" / "images" / f"upres_{name}.png", filmstrip(pictures, labels, columns=columns, tile=tile))


PARTS = {
    "letter": letter, "full": full, "knobs": knobs, "cost": cost, "bodies": bodies, "word": word, "knot": knot_film,
    "volume": volume, "large": large,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=[])
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    for part in given.parts or PARTS:
        print(f"\n## {part}\n", flush=True)
        PARTS[part](given.threads)


if __name__ == "__main__":
    main()
