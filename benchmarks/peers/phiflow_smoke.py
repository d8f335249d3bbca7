"""PhiFlow on JAX: gradient of a final-density loss with respect to the initial velocity of 2D smoke.

Scheme, written here against PhiFlow's public API: staggered velocity, walls all round, cells of side 1,
dt = 1; one step is

    v'   = v projected, conjugate gradients on the pressure to a relative residual of 1e-3
    rho' = rho advected by v',  v'' = v' advected by v'     semi-Lagrangian, Euler backtrace, bilinear
    loss = 1/2 |rho_T - target|^2

The whole rollout and its gradient are one jitted function; the pressure solve is differentiated
implicitly (a second solve to the same tolerance). XLA takes all cores of the machine.

Prints one JSON object; its `load_average` is the machine's at the start: near 0, or distrust the times.
`--check` adds a finite-difference test of the gradient in float64 with solves to 1e-10, on a grid of
24^2 and 5 steps, because the solver's tolerance bounds what a difference can show. (One step agrees to
1e-6; over several PhiFlow's gradient is off by 1e-3.)
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import time
from collections.abc import Callable

import jax
import numpy as np
from phi.jax.flow import (
    Box,
    CenteredGrid,
    Field,
    Solve,
    StaggeredGrid,
    Tensor,
    advect,
    extrapolation,
    field,
    fluid,
    math,
    vec,
)


def loss_after(steps: int, target: Field, tolerance: float) -> Callable[[Field, Field], Tensor]:
    def loss(velocity: Field, density: Field) -> Tensor:
        for _ in range(steps):
            solve = Solve("CG", rel_tol=tolerance, abs_tol=1e-3 * tolerance)
            velocity, _ = fluid.make_incompressible(velocity, (), solve)
            density = advect.semi_lagrangian(density, velocity, 1.0)
            velocity = advect.semi_lagrangian(velocity, velocity, 1.0)
        return field.l2_loss(density - target)

    return loss


def scene(size: int) -> tuple[Field, Field, Field]:
    """A swirl of at most one cell per step with some divergence, a disk of smoke, the disk elsewhere."""
    domain = {"x": size, "y": size, "bounds": Box(x=size, y=size)}

    def swirl(at: Tensor) -> Tensor:
        x, y = at.vector["x"] / size, at.vector["y"] / size
        bump = 4 * x * (1 - x) * 4 * y * (1 - y)
        return vec(x=bump * math.sin(2 * math.PI * y), y=bump * math.sin(1 - 2 * math.PI * x))

    def disk(x0: float, y0: float) -> Callable[[Tensor], Tensor]:
        return lambda at: math.to_float(math.vec_squared(at / size - vec(x=x0, y=y0)) < 0.04)

    velocity = StaggeredGrid(swirl, 0, **domain)
    density = CenteredGrid(disk(0.5, 0.35), extrapolation.BOUNDARY, **domain)
    target = CenteredGrid(disk(0.55, 0.6), extrapolation.BOUNDARY, **domain)
    return velocity, density, target


def timed(work: Callable[[], tuple[Tensor, Field]]) -> float:
    begin = time.perf_counter()
    loss, gradient = work()
    components = [gradient.vector[axis].values.numpy("x,y") for axis in "xy"]
    if not (np.isfinite(float(loss)) and all(np.isfinite(c).all() for c in components)):
        raise SystemExit("PhiFlow's gradient is not finite")
    return time.perf_counter() - begin


def check_gradient() -> float:
    """Relative difference of the gradient and a central difference along a random direction."""
    with math.precision(64):
        velocity, density, target = scene(24)
        loss = loss_after(5, target, 1e-10)
        _, gradient = math.jit_compile(math.gradient(loss, "velocity"))(velocity, density)
        math.seed(0)
        direction = velocity.with_values(math.random_normal(velocity.values.shape))
        slope = float(math.sum(gradient.values * direction.values, velocity.values.shape))
        step = 1e-5
        ends = [math.jit_compile(loss)(velocity + sign * step * direction, density) for sign in (1, -1)]
        return abs(float(ends[0] - ends[1]) / (2 * step) - slope) / abs(slope)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=128)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    load_average = os.getloadavg()[0]

    velocity, density, target = scene(options.size)
    gradient = math.jit_compile(math.gradient(loss_after(options.steps, target, 1e-3), "velocity"))
    first = timed(lambda: gradient(velocity, density))
    seconds = [timed(lambda: gradient(velocity, density)) for _ in range(options.repeats)]
    best = min(seconds)
    report = {
        "peer": "phiflow",
        "version": f"{importlib.metadata.version('phiflow')} on JAX {jax.__version__}",
        "task": "2D smoke, gradient of final density loss with respect to initial velocity",
        "advection": "RK1 semi-Lagrangian, bilinear, velocity and density",
        "projection": "CG to relative residual 1e-3, staggered",
        "boundary": "walls",
        "grid": [options.size, options.size],
        "steps": options.steps,
        "precision": "float32",
        "threads": os.cpu_count(),
        "load_average": load_average,
        "compile_seconds": first - best,
        "seconds": best,
        "all_seconds": seconds,
        "ns_per_cell_step": 1e9 * best / (options.size**2 * options.steps),
    }
    if options.check:
        report["gradient_defect"] = check_gradient()
    print(json.dumps(report))


if __name__ == "__main__":
    main()
