"""What the liquid step keeps and how its derivative fares: marching, rest, volume, a dam break, gradients."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.models.liquid import Liquid, LiquidOptions, filled
from keyfluid.models.state import State
from keyfluid.objectives.surface import SurfaceKey, SurfaceMatch
from keyfluid.operators.redistance import Redistance
from keyfluid.rollout import Rollout, StoredForcing

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

MARTIN_MOYCE = ((0.832, 1.217), (1.219, 1.474), (1.997, 2.292), (2.547, 2.995), (3.345, 4.134))
"""t sqrt(2 g / a) and front / a of a column twice as high as wide, a = 2.25 inches [Martin & Moyce 1952, figure 3]."""


def _ball(*x: np.ndarray) -> np.ndarray:
    return np.sqrt(sum((a - c) ** 2 for a, c in zip(x, (0.47, 0.52, 0.49)))) - 0.27


def _box(*x: np.ndarray) -> np.ndarray:
    sides = [abs(a - c) - h for a, c, h in zip(x, (0.48, 0.53, 0.51), (0.21, 0.17, 0.19))]
    outside = np.sqrt(sum(np.maximum(q, 0) ** 2 for q in sides))
    return outside + np.minimum(np.maximum.reduce(np.broadcast_arrays(*sides)), 0)


def marching() -> None:
    print("### Fast marching\n")
    print("| shape | cells | mean error / dx | within 0.08 m |\n|---|---|---|---|")
    orders = []
    for name, shape in (("circle", _ball), ("box", _box)):
        sizes, means = (64, 128, 256, 512), []
        for n in sizes:
            grid = Grid((n, n))
            exact = Field.from_function(grid, Kind.CENTRES, shape)
            (found,) = Redistance(grid).forward(exact)
            error = np.abs(found.data - exact.data)
            near = error[np.abs(exact.data) < 0.08].mean()
            means.append((error.mean(), near))
            print(f"| {name} | {n}^2 | {n * error.mean():.3f} | {n * near:.3f} |")
        slopes = [-np.polyfit(np.log(sizes), np.log(column), 1)[0] for column in zip(*means)]
        orders.append(f"{name}: order {slopes[0]:.2f} everywhere, {slopes[1]:.2f} within 0.08 m")
    print("\n" + "; ".join(orders) + "\n")
    from peers.environments import measure

    print("| grid | keyfluid, second order, s | scikit-fmm, second order, s | first order, s | theirs / ours |")
    print("|---|---|---|---|---|")
    for cells in ((256, 256), (128, 128, 128)):
        grid = Grid(cells)
        phi = Field.from_function(grid, Kind.CENTRES, _ball)
        _seconds(grid, phi)
        ours = [_seconds(grid, phi) for _ in range(3)]
        peer = measure("fmm", *map(str, cells))
        again = min(*ours, *(_seconds(grid, phi) for _ in range(2)))
        if "skipped" in peer:
            print(f"| {cells} | {again:.3f} | {peer['skipped']} | | |")
        else:
            first, second = peer["seconds"]["1"], peer["seconds"]["2"]
            print(f"| {cells} | {again:.3f} | {second:.3f} | {first:.3f} | {second / again:.2f} |")
    print()


def _seconds(grid: Grid, phi: Field) -> float:
    """Processor time of a march: other processes on the machine do not count."""
    begin = time.process_time()
    Redistance(grid).work(phi)
    return time.process_time() - begin


def _volume(state: State) -> float:
    phi = state["surface"]
    return float(filled(phi.data.astype(np.float64), phi.grid.spacing).sum()) * phi.grid.cell_volume


def invariants() -> None:
    print("### Rest, volume, dam break\n")
    grid = Grid((32, 24))
    model = Liquid(grid, 1 / 24, LiquidOptions(dtype=np.float64, gravity=(0.0, -9.81), tolerance=1e-12))
    level = Field.from_function(grid, Kind.CENTRES, lambda x, y: y - 0.3137 + 0 * x)
    state: State = model.initial_state(surface=level)
    for index in range(50):
        state = model.step(state, index=index)
    speed = state["velocity"].peak() / (9.81 * 50 / 24)
    print(f"A flat level off the grid after 50 steps: speed / (g t) = {speed:.1e}\n")
    print("| 100 steps | cells | volume kept | without keep_volume |\n|---|---|---|---|")
    turning = lambda x, y: (-6.28 * (y - 0.5) + 0 * x, 6.28 * (x - 0.5) + 0 * y)  # noqa: E731
    cases = {
        "disk carried": (lambda x, y: np.hypot(x - 0.3, y - 0.35) - 0.15, lambda x, y: (0.4 + 0 * x, 0.3 + 0 * x)),
        "bar turned once": (lambda x, y: np.maximum(abs(x - 0.5) - 0.25, abs(y - 0.5) - 0.1), turning),
    }
    for name, (shape, wind) in cases.items():
        for n in (64, 96):
            grid = Grid((n, n))
            (phi,) = Redistance(grid).forward(Field.from_function(grid, Kind.CENTRES, shape))
            velocity = Field.from_function(grid, Kind.FACES, wind)
            shares = []
            for keep in (True, False):
                model = Liquid(grid, 1 / 100, LiquidOptions(dtype=np.float64, keep_volume=keep))
                state = model.initial_state(surface=phi, velocity=velocity)
                before = _volume(state)
                for index in range(100):
                    state = model.step(state, index=index)
                shares.append(100 * (_volume(state) / before - 1))
            print(f"| {name} | {n}^2 | {shares[0]:+.2f} % | {shares[1]:+.2f} % |")
    print()
    dam_break()


def dam_break() -> None:
    """Beside the experiment, on two grids, and as if it had begun later: a gate does not open at once."""
    runs = {n: _dam_front(n) for n in (80, 160)}
    when, measured = np.array(MARTIN_MOYCE).T
    times, fronts, kept = runs[160]
    delays = np.linspace(0.0, 0.6, 61)
    misses = [float(np.sum((np.interp(when - delay, times, fronts) - measured) ** 2)) for delay in delays]
    delay = float(delays[int(np.argmin(misses))])
    print(f"| t sqrt(2 g / a) | Martin & Moyce 1952 | 80 x 40 | 160 x 80 | 160 x 80, {delay:.2f} later |")
    print("|---|---|---|---|---|")
    for t, front in MARTIN_MOYCE:
        ours = " | ".join(f"{np.interp(t, *runs[n][:2]):.2f}" for n in runs)
        print(f"| {t} | {front} | {ours} | {np.interp(t - delay, times, fronts):.2f} |")
    print(f"\nFront over the column's width a. Volume {100 * (kept - 1):+.2f} % at 160 x 80. In the experiment, of a")
    print(f"column 2.25 inches wide, a delay of {delay:.2f} is {1000 * delay / np.sqrt(2 * 9.81 / 0.05715):.0f} ms.\n")


def _dam_front(n: int) -> tuple[list[float], list[float], float]:
    """Times and fronts of a column a wide and 2 a high, and the share of its volume that is left; the front is where
    the surface meets the floor."""
    a = 0.2
    grid = Grid((n, n // 2), spacing=1.0 / n)
    model = Liquid(grid, 1 / (3 * n), LiquidOptions(gravity=(0.0, -9.81)))
    (phi,) = Redistance(grid).forward(
        Field.from_function(grid, Kind.CENTRES, lambda x, y: np.maximum(x - a, y - 2 * a), np.float32)
    )
    state: State = model.initial_state(surface=phi)
    before = _volume(state)
    times, fronts = [0.0], [1.0]
    while times[-1] < MARTIN_MOYCE[-1][0]:
        state = model.step(state, index=len(times) - 1)
        floor = state["surface"].array[:, 0]
        last = int(np.flatnonzero(floor < 0)[-1])
        beyond = min(last + 1, n - 1)
        share = float(floor[last] / min(floor[last] - floor[beyond], -1e-12))
        times.append((len(times)) * model.dt * float(np.sqrt(2 * 9.81 / a)))
        fronts.append((last + 0.5 + share) * grid.spacing / a)
    return times, fronts, _volume(state) / before


def gradients() -> None:
    print("### Gradient of ten steps against central differences, 40 directions in winds and sources, 32^2, float64\n")
    from scipy.ndimage import gaussian_filter

    grid, steps = Grid((32, 32)), 10

    def smooth(kind: Kind, size: float, seed: int) -> Field:
        field = Field.zeros(grid, kind, np.float64)
        for values in field.components():
            drawn = gaussian_filter(np.random.default_rng(seed).normal(size=values.shape), 2.5)
            values[...] = size * drawn / np.abs(drawn).max()
        return field

    def forces(size: float, source: float, seed: int) -> list[dict[str, Field]]:
        return [
            {
                "force": smooth(Kind.FACES, size, seed + i),
                "source.surface": smooth(Kind.CENTRES, source, seed + 500 + i),
            }
            for i in range(steps)
        ]

    print("| liquid | eps | directions | of them no cell changes | median | largest | all: median | all: largest |")
    print("|---|---|---|---|---|---|---|---|")
    shapes = {
        "one body": lambda x, y: np.hypot(x - 0.48, y - 0.4) - 0.22,
        "pool and drop": lambda x, y: np.minimum(y - 0.31, np.hypot(x - 0.52, y - 0.62) - 0.14),
    }
    (goal,) = Redistance(grid).forward(
        Field.from_function(grid, Kind.CENTRES, lambda x, y: np.maximum(abs(x - 0.53) - 0.21, abs(y - 0.46) - 0.16))
    )
    objective = SurfaceMatch([SurfaceKey(steps, goal)], 2 * grid.spacing)
    for name, viscosity, shape in (
        ("water", 0.0, "one body"),
        ("clay", 0.5, "one body"),
        ("water", 0.0, "pool and drop"),
    ):
        (phi,) = Redistance(grid).forward(Field.from_function(grid, Kind.CENTRES, shapes[shape]))
        options = LiquidOptions(dtype=np.float64, gravity=(0.0, -1.0), viscosity=viscosity, tolerance=1e-13)
        model = Liquid(grid, 1 / 24, options)
        rollout, start, acting = Rollout(model, steps), model.initial_state(surface=phi), forces(1.5, 0.05, 0)
        forcing = StoredForcing(acting)
        rollout.gradient(start, objective, forcing)
        for eps in (1e-6, 1e-4, 1e-2):
            errors, same = [], []
            for direction in range(40):
                ways = forces(1.0, 0.03, 10_000 + 1000 * direction)
                sides = []
                for sign in (1, -1):
                    moved = [{k: f[k].add_scaled(sign * eps, w[k]) for k in f} for f, w in zip(acting, ways)]
                    wet: list[np.ndarray] = []
                    keep = lambda _, s, wet=wet: wet.append(s["surface"].data < 0)  # noqa: E731
                    last = rollout.run(start, StoredForcing(moved), on_step=keep)[steps]
                    sides.append((np.concatenate(wet), objective.term(steps, last)[0]))
                slope = sum(bar[k].dot(w[k]) for bar, w in zip(forcing.bars, ways) for k in w)
                errors.append(abs((sides[0][1] - sides[1][1]) / (2 * eps) / slope - 1))
                same.append(bool(np.array_equal(sides[0][0], sides[1][0])))
            chosen = [e for e, s in zip(errors, same) if s] or [np.nan]
            print(
                f"| {name}, {shape} | {eps:.0e} | {len(errors)} | {sum(same)} | {np.median(chosen):.1e} | "
                f"{max(chosen):.1e} | {np.median(errors):.1e} | {max(errors):.1e} |",
                flush=True,
            )
    print()
