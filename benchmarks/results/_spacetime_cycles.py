"""V-cycles beside figure 6: factors over sizes and steps, cost, and the map over CFL and kappa."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from _spacetime_print import head, line, plots, save

from keyfluid.controllers.spacetime.flow import FlowEquations, dot, peak
from keyfluid.controllers.spacetime.gauss_newton import GaussNewton
from keyfluid.controllers.spacetime.multigrid import Multigrid
from keyfluid.grid import Grid, Kind
from keyfluid.optimise.lbfgs import Lbfgs
from keyfluid.solvers.fas import FullApproximation, Trajectory
from keyfluid.solvers.solenoidal import Solenoidal

PAIRS = ((1.0, 0.5), (1.0, 1.0), (10.0, 1.0), (10.0, 3.0))
"""kappa and CFL."""
LARGE = 2_000_000
"""Cell-steps above which fewer cycles are run."""


def guided(
    cells: Sequence[int], steps: int, courant: float, sides: str, dtype: Any = np.float32
) -> tuple[FlowEquations, np.ndarray]:
    """A smooth random guide without divergence, the same physical field on every grid."""
    grid = Grid(cells, boundary=sides)
    rng = np.random.default_rng(0)
    solenoidal = Solenoidal(grid, dtype)
    guide = np.zeros((grid.value_count(Kind.FACES), steps), dtype)
    moments = np.arange(steps) / steps
    waves = [
        [(rng.standard_normal(), rng.integers(1, 4, 3), rng.uniform(0, 6.28, 4), rng.uniform(1, 5)) for _ in range(8)]
        for _ in range(3)
    ]
    for a, place in enumerate(Kind.FACES.places(grid.dim)):
        component = solenoidal.component(guide, a)
        for size, k, phase, rate in waves[a]:
            wave: Any = size
            for x, number, shift in zip(grid.coordinates(place), k, phase):
                wave = wave * np.sin(2 * np.pi * number * x + shift)
            component += (wave[..., None] * np.sin(rate * moments + phase[3])).astype(dtype)
    guide = solenoidal.project(guide)
    guide *= guide.dtype.type(courant / peak(guide))
    return FlowEquations(grid, solenoidal), guide


def cycles(
    cells: Sequence[int], steps: int, courant: float, kappa: float, sides: str, most: int = 8
) -> tuple[list[float], float]:
    """Sizes of the residual before and after each V(2,2) cycle from rest, and processor seconds of the fastest cycle.

    In float64: in float32 a cycle or two after the first ones is all that rounding leaves.
    """
    flow, guide = guided(cells, steps, courant, sides, np.float64)
    x, right = (Trajectory.zeros(flow.grid, steps, np.float64) for _ in range(2))
    right.v[...] = kappa * guide
    right.v[:, 0] = 0
    fas = FullApproximation(flow.grid, dtype=np.float64)
    level = fas.levels[0]

    def size() -> float:
        return float(np.sqrt(sum(dot(part, part) for part in level.residual(x, right, kappa).parts())))

    sizes, seconds = [size()], []
    for _ in range(most):
        began = time.process_time()
        fas.cycle(x, right, kappa)
        seconds.append(time.process_time() - began)
        sizes.append(size())
        if not 1e-12 * sizes[0] < sizes[-1] < 1e3 * sizes[0]:
            break
    return sizes, min(seconds)


def factor(sizes: list[float]) -> float:
    """Mean factor of the last three cycles: the first ones depend on the guide, whose waves are long."""
    return float((sizes[-1] / sizes[-4]) ** (1 / 3)) if len(sizes) > 4 else sizes[-1] / sizes[-2]


def fas(small: bool) -> None:
    cycles((16, 16), 4, 1.0, 1.0, "walls", 1)
    sizes = (32, 64) if small else (32, 64, 128, 256)
    curves = fas_table([((n, n), s) for n in sizes for s in ((20, 40) if small else (20, 40, 80))])
    plot_cycles(curves)


def fas3(small: bool) -> None:
    cycles((8, 8, 8), 4, 1.0, 1.0, "walls", 1)
    fas_table([((n, n, n), s) for n in ((16,) if small else (16, 32, 64)) for s in (10, 20)])


def fas_table(plans: Sequence[tuple[tuple[int, ...], int]]) -> dict[str, list[float]]:
    """Rows of factors and costs; the curves of kappa 1, CFL 1 between walls."""
    print("\nFactor per V(2,2), float64, last three of eight cycles (five above two million cell-steps)\n")
    head("cells", "steps", "sides", *(f"kappa {k:g}, CFL {c:g}" for k, c in PAIRS), "processor s per cycle")
    found: dict[tuple[float, float], list[float]] = {pair: [] for pair in PAIRS}
    work, costs, curves = [], [], {}
    for cells, steps in plans:
        size = int(np.prod(cells)) * steps
        for sides in ("walls", "periodic"):
            row: list[object] = []
            for kappa, courant in PAIRS:
                sizes, seconds = cycles(cells, steps, courant, kappa, sides, 5 if size > LARGE else 8)
                row.append(factor(sizes))
                found[kappa, courant].append(factor(sizes))
                if (kappa, courant, sides) == (1.0, 1.0, "walls"):
                    curves[f"{'x'.join(map(str, cells))} / {steps}"] = sizes
            work.append(size)
            costs.append(seconds)
            line("x".join(map(str, cells)), steps, sides, *row, seconds)
    for (kappa, courant), values in found.items():
        low, high = min(values), max(values)
        print(f"\nkappa {kappa:g}, CFL {courant:g}: {low:.3f} to {high:.3f}, spread {high - low:.3f}")
    slope = np.polyfit(np.log(work), np.log(costs), 1)[0]
    each = min(t / n for n, t in zip(work, costs)) * 1e9
    print(f"\ncost: slope of log time against log n^d N {slope:.3f}; {each:.0f} ns per cell-step and cycle")
    return curves


def solver_map(small: bool) -> None:
    cycles((16, 16), 4, 1.0, 1.0, "periodic", 1)
    print("\nAt 64^2/20, periodic: FAS factor; what the watched solver ended with; Gauss-Newton-CG beside it\n")
    head("CFL", "kappa", "factor", "solver", "converged", "processor s", "Gauss-Newton processor s", "CG iterations")
    for courant in (0.5, 1.0, 3.0):
        for kappa in (0.1, 1.0, 10.0):
            flow, guide = guided((64, 64), 20, courant, "periodic")
            sizes, _ = cycles((64, 64), 20, courant, kappa, "periodic")
            rate = factor(sizes)
            v, w = np.zeros_like(guide), np.zeros_like(guide)
            began = time.process_time()
            _, report = Multigrid(flow, 1e-5, np.float32).solve(v, guide, kappa)
            middle = time.process_time()
            _, other = GaussNewton(flow, 1e-5).solve(w, guide, kappa)
            line(courant, kappa, rate if rate < 1 else "diverges", report.solver, report.converged, middle - began,
                 time.process_time() - middle, other.cg_iterations)  # fmt: skip


def plot_cycles(curves: dict[str, list[float]]) -> None:
    plt = plots()
    figure, axes = plt.subplots(figsize=(5.2, 3.2))
    for name, residuals in curves.items():
        axes.semilogy(np.array(residuals) / residuals[0], marker=".", lw=0.8, label=name)
    flow, guide = guided((64, 64), 20, 1.0, "walls")

    def function(z: np.ndarray) -> tuple[float, np.ndarray]:
        v = flow.admissible(z.reshape(guide.shape).copy())
        u = flow.forces(v)
        return flow.objective(u, v, guide, 1.0), flow.gradient(v, u, guide, 1.0).reshape(-1)

    lbfgs = Lbfgs(history=8)
    state = lbfgs.start(np.zeros(guide.size, np.float32), function)
    sizes = [np.sqrt(dot(state.now.gradient, state.now.gradient))]
    while state.iteration < 10 and not state.stalled:
        state = lbfgs.advance(state, function)
        sizes.append(np.sqrt(dot(state.now.gradient, state.now.gradient)))
    axes.semilogy(np.array(sizes) / sizes[0], "k--", lw=1, label="L-BFGS 64x64 / 20")
    axes.set(xlabel="V(2,2) cycle (L-BFGS: iteration)", ylabel="residual, relative")
    axes.legend(fontsize=5, ncol=2)
    save(figure, "spacetime_cycles")
