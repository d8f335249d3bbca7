"""V-cycles beside figure 6: factors over sizes and steps, cost, and the map over CFL and kappa."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from _spacetime_print import head, line, plots, save

from keyfluid.controllers.spacetime.flow import Flow, peak
from keyfluid.controllers.spacetime.gauss_newton import GaussNewton
from keyfluid.controllers.spacetime.multigrid import Multigrid
from keyfluid.grid import Grid, Kind
from keyfluid.optimise.lbfgs import Lbfgs
from keyfluid.solvers.fas import FullApproximation, Trajectory
from keyfluid.solvers.solenoidal import Solenoidal


def guided(cells: Sequence[int], steps: int, courant: float, sides: str) -> tuple[Flow, np.ndarray]:
    """A smooth random guide without divergence, the same physical field on every grid; float32."""
    grid = Grid(cells, boundary=sides)
    rng = np.random.default_rng(0)
    solenoidal = Solenoidal(grid, np.float32)
    guide = np.zeros((grid.value_count(Kind.FACES), steps), np.float32)
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
            component += (wave[..., None] * np.sin(rate * moments + phase[3])).astype(np.float32)
    guide = solenoidal.project(guide)
    guide *= np.float32(courant / peak(guide))
    return Flow(grid, solenoidal), guide


def cycles(
    cells: Sequence[int], steps: int, courant: float, kappa: float, sides: str, most: int = 6
) -> tuple[Any, ...]:
    """Residuals before and after each V(2,2) cycle, and processor seconds per cycle: a busy machine matters less."""
    flow, guide = guided(cells, steps, courant, sides)
    x, right = (Trajectory.zeros(flow.grid, steps, np.float32) for _ in range(2))
    right.v[...] = np.float32(kappa) * guide
    right.v[:, 0] = 0
    fas = FullApproximation(flow.grid)
    residuals, seconds = [peak(guide) * kappa], []
    for _ in range(most):
        began = time.process_time()
        fas.cycle(x, right, kappa)
        seconds.append(time.process_time() - began)
        residuals.append(max(peak(part) for part in fas.levels[0].residual(x, right, kappa).parts()))
        # Below that float32 has no more to say.
        if not 3e-6 * residuals[0] < residuals[-1] < 1e3 * residuals[0]:
            break
    return residuals, min(seconds)


def factor(residuals: list[float]) -> float:
    """Mean factor of the cycles after the first, of which the last may be at rounding."""
    kept = [r for r in residuals[1:] if r > 3e-6 * residuals[0]]
    kept = kept if len(kept) > 1 else residuals[:2]
    return float((kept[-1] / kept[0]) ** (1.0 / max(1, len(kept) - 1)))


def fas(small: bool) -> None:
    cycles((16, 16), 4, 1.0, 1.0, "walls", 1)
    cycles((8, 8, 8), 4, 1.0, 1.0, "walls", 1)
    print("\nFactor per V(2,2), float32. The paper (figure 6): the same for all sizes and steps.\n")
    pairs = ((1.0, 0.5), (1.0, 1.0), (10.0, 1.0), (10.0, 3.0))
    head("cells", "steps", "sides", *(f"kappa {k:g}, CFL {c:g}" for k, c in pairs), "processor s per cycle")
    flat = (32, 64) if small else (32, 64, 128, 256)
    solid = (16,) if small else (16, 32, 64)
    plans: list[tuple[tuple[int, ...], int]] = [
        ((n, n), s) for n in flat for s in ((20, 40) if small else (20, 40, 80))
    ]
    plans += [((n,) * 3, s) for n in solid for s in (10, 20)]
    work, costs, found, curves = [], [], [], {}
    for cells, steps in plans:
        for sides in ("walls", "periodic"):
            size = int(np.prod(cells)) * steps
            rows = []
            for kappa, courant in pairs:
                if size > 2_000_000 and (kappa, courant) not in ((1.0, 1.0), (10.0, 3.0)):
                    rows.append("-")
                    continue
                residuals, seconds = cycles(cells, steps, courant, kappa, sides, 4 if size > 2_000_000 else 6)
                rows.append(factor(residuals))
                found.append((len(cells), kappa, courant, rows[-1]))
                if (kappa, courant, sides) == (1.0, 1.0, "walls"):
                    curves[f"{'x'.join(map(str, cells))} / {steps}"] = residuals
            work.append((len(cells), size))
            costs.append(seconds)
            line("x".join(map(str, cells)), steps, sides, *rows, seconds)
    for kappa, courant in pairs:
        values = [f for _, k, c, f in found if (k, c) == (kappa, courant)]
        print(
            f"\nkappa {kappa:g}, CFL {courant:g}: {min(values):.2f} to {max(values):.2f}, "
            f"spread {max(values) - min(values):.2f}"
        )
    for dim in (2, 3):
        points = [(n, t) for (d, n), t in zip(work, costs) if d == dim]
        if len(points) > 2:
            slope = np.polyfit(np.log([n for n, _ in points]), np.log([t for _, t in points]), 1)[0]
            each = min(t / n for n, t in points) * 1e9
            print(
                f"\ncost in {dim}D: slope of log time against log n^d N {slope:.3f}; "
                f"{each:.0f} ns per cell-step and cycle"
            )
    plot_cycles(curves)


def solver_map(small: bool) -> None:
    cycles((16, 16), 4, 1.0, 1.0, "periodic", 1)
    print("\nAt 64^2/20, periodic: FAS factor; what the watched solver ended with; Gauss-Newton-CG beside it\n")
    head("CFL", "kappa", "factor", "solver", "converged", "processor s", "Gauss-Newton processor s", "CG iterations")
    for courant in (0.5, 1.0, 3.0):
        for kappa in (0.1, 1.0, 10.0):
            flow, guide = guided((64, 64), 20, courant, "periodic")
            rate = factor(cycles((64, 64), 20, courant, kappa, "periodic")[0])
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
    sizes = [peak(state.now.gradient)]
    while state.iteration < 10 and not state.stalled:
        state = lbfgs.advance(state, function)
        sizes.append(peak(state.now.gradient))
    axes.semilogy(np.array(sizes) / sizes[0], "k--", lw=1, label="L-BFGS 64x64 / 20")
    axes.set(xlabel="V(2,2) cycle (L-BFGS: iteration)", ylabel="largest residual")
    axes.legend(fontsize=5, ncol=2)
    save(figure, "spacetime_cycles")
