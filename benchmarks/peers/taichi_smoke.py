"""Taichi on the CPU: gradient of a final-density loss with respect to the initial velocity of 2D smoke.

Scheme (that of DiffTaichi's smoke example, written here against Taichi's public API): collocated
velocity v in cells per step, periodic sides; one step is

    v*  = v_t sampled at x - v_t(x)            bilinear, Euler backtrace (RK1)
    p   = six Jacobi sweeps from zero on lap p = div v*
    v'  = v* - grad p
    rho'= rho_t sampled at x - v'(x)
    loss = 1/2 |rho_T - target|^2

All derivatives come from Taichi's autodiff. Two ways of driving it:

`--variant tape`   one kernel per operation, everything stored for every step, `ti.ad.Tape`: how the
                   example, and most code, is written.
`--variant fused`  one kernel per step and its `.grad` called by hand. The pressure solve is linear, so
                   its buffers are reused by every step and stay in cache (Taichi zeroes the adjoint of
                   whatever a kernel overwrites). `--threads 1` serialises the loops, which frees the
                   adjoint of atomic additions: on 2 cores that beats two threads.

Prints one JSON object; its `load_average` is the machine's at the start: near 0, or distrust the times.
`--check` adds a finite-difference test of the gradient in float64.
(No postponed annotations here: Taichi reads those of its kernels.)
"""

import argparse
import contextlib
import json
import os
import sys
import time

import numpy as np

with contextlib.redirect_stdout(sys.stderr):
    import taichi as ti

SWEEPS = 6


@ti.data_oriented
class Smoke:
    """Fields of all steps, the operations on one cell, and kernels that string them together."""

    def __init__(self, size: int, steps: int, real, fused: bool, serial: bool):
        self.size, self.steps, self.fused, self.serial = size, steps, fused, serial
        buffers = 1 if fused else steps
        self.velocity = ti.Vector.field(2, real, (steps + 1, size, size), needs_grad=True)
        self.density = ti.field(real, (steps + 1, size, size), needs_grad=True)
        self.advected = ti.Vector.field(2, real, (buffers, size, size), needs_grad=True)
        self.pressure = ti.field(real, (buffers, SWEEPS, size, size), needs_grad=True)
        self.target = ti.field(real, (size, size))
        self.loss = ti.field(real, (), needs_grad=True)

    @ti.func
    def wrap(self, i):
        if i < 0:
            i += self.size
        if i >= self.size:
            i -= self.size
        return i

    @ti.func
    def sample(self, field: ti.template(), t, x, y):
        low_x, low_y = ti.floor(x), ti.floor(y)
        a, b = x - low_x, y - low_y
        i, j = self.wrap(int(low_x)), self.wrap(int(low_y))
        i1, j1 = self.wrap(i + 1), self.wrap(j + 1)
        near = (1 - b) * field[t, i, j] + b * field[t, i, j1]
        far = (1 - b) * field[t, i1, j] + b * field[t, i1, j1]
        return (1 - a) * near + a * far

    @ti.func
    def advect_velocity_cell(self, t, k, i, j):
        v = self.velocity[t, i, j]
        self.advected[k, i, j] = self.sample(self.velocity, t, i - v[0], j - v[1])

    @ti.func
    def first_sweep_cell(self, k, i, j):
        """The first Jacobi sweep from zero is -div / 4; it also serves the others as right-hand side."""
        east, west = self.advected[k, self.wrap(i + 1), j], self.advected[k, self.wrap(i - 1), j]
        north, south = self.advected[k, i, self.wrap(j + 1)], self.advected[k, i, self.wrap(j - 1)]
        self.pressure[k, 0, i, j] = -0.125 * (east[0] - west[0] + north[1] - south[1])

    @ti.func
    def sweep_cell(self, k, s, i, j):
        p = ti.static(self.pressure)
        along_x = p[k, s - 1, self.wrap(i + 1), j] + p[k, s - 1, self.wrap(i - 1), j]
        along_y = p[k, s - 1, i, self.wrap(j + 1)] + p[k, s - 1, i, self.wrap(j - 1)]
        p[k, s, i, j] = 0.25 * (along_x + along_y) + p[k, 0, i, j]

    @ti.func
    def projected(self, k, i, j):
        p = ti.static(self.pressure)
        slope_x = p[k, SWEEPS - 1, self.wrap(i + 1), j] - p[k, SWEEPS - 1, self.wrap(i - 1), j]
        slope_y = p[k, SWEEPS - 1, i, self.wrap(j + 1)] - p[k, SWEEPS - 1, i, self.wrap(j - 1)]
        return self.advected[k, i, j] - 0.5 * ti.Vector([slope_x, slope_y])

    @ti.func
    def advect_density_cell(self, t, i, j):
        v = self.velocity[t + 1, i, j]
        self.density[t + 1, i, j] = self.sample(self.density, t, i - v[0], j - v[1])

    @ti.kernel
    def advect_velocity(self, t: ti.i32):
        for i, j in ti.ndrange(self.size, self.size):
            self.advect_velocity_cell(t, t, i, j)

    @ti.kernel
    def first_sweep(self, t: ti.i32):
        for i, j in ti.ndrange(self.size, self.size):
            self.first_sweep_cell(t, i, j)

    @ti.kernel
    def sweep(self, t: ti.i32, s: ti.i32):
        for i, j in ti.ndrange(self.size, self.size):
            self.sweep_cell(t, s, i, j)

    @ti.kernel
    def project(self, t: ti.i32):
        for i, j in ti.ndrange(self.size, self.size):
            self.velocity[t + 1, i, j] = self.projected(t, i, j)

    @ti.kernel
    def advect_density(self, t: ti.i32):
        for i, j in ti.ndrange(self.size, self.size):
            self.advect_density_cell(t, i, j)

    @ti.kernel
    def whole_step(self, t: ti.i32):
        ti.loop_config(serialize=self.serial)
        for i in range(self.size):
            for j in range(self.size):
                self.advect_velocity_cell(t, 0, i, j)
        ti.loop_config(serialize=self.serial)
        for i in range(self.size):
            for j in range(self.size):
                self.first_sweep_cell(0, i, j)
        for s in ti.static(range(1, SWEEPS)):
            ti.loop_config(serialize=self.serial)
            for i in range(self.size):
                for j in range(self.size):
                    self.sweep_cell(0, s, i, j)
        ti.loop_config(serialize=self.serial)
        for i in range(self.size):
            for j in range(self.size):
                self.velocity[t + 1, i, j] = self.projected(0, i, j)
        ti.loop_config(serialize=self.serial)
        for i in range(self.size):
            for j in range(self.size):
                self.advect_density_cell(t, i, j)

    @ti.kernel
    def measure_loss(self):
        for i, j in ti.ndrange(self.size, self.size):
            self.loss[None] += 0.5 * (self.density[self.steps, i, j] - self.target[i, j]) ** 2

    @ti.kernel
    def clear_start_gradients(self):
        for i, j in ti.ndrange(self.size, self.size):
            self.velocity.grad[0, i, j] = ti.Vector([0.0, 0.0])
            self.density.grad[0, i, j] = 0.0

    def start_from(self, velocity: np.ndarray, density: np.ndarray, target: np.ndarray) -> None:
        later = ((0, self.steps), (0, 0), (0, 0))
        self.velocity.from_numpy(np.pad(velocity[None], (*later, (0, 0))))
        self.density.from_numpy(np.pad(density[None], later))
        self.target.from_numpy(target)

    def forward(self) -> None:
        for t in range(self.steps):
            if self.fused:
                self.whole_step(t)
                continue
            self.advect_velocity(t)
            self.first_sweep(t)
            for s in range(1, SWEEPS):
                self.sweep(t, s)
            self.project(t)
            self.advect_density(t)
        self.measure_loss()

    def loss_and_gradient(self) -> None:
        self.loss[None] = 0.0
        if not self.fused:
            with ti.ad.Tape(self.loss):
                self.forward()
            return
        self.forward()
        self.clear_start_gradients()
        self.loss.grad[None] = 1.0
        self.measure_loss.grad()
        for t in reversed(range(self.steps)):
            self.whole_step.grad(t)

    def loss_at(self, velocity: np.ndarray, density: np.ndarray, target: np.ndarray) -> float:
        self.start_from(velocity, density, target)
        self.loss[None] = 0.0
        self.forward()
        return self.loss[None]


def scene(size: int, dtype: type) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A swirl of at most half a cell per step, a disk of smoke, and the disk wanted elsewhere.

    At 1.5 cells per step the flow is chaotic after 50 steps and no difference quotient can be trusted.
    """
    x, y = np.meshgrid(*2 * [(np.arange(size) + 0.5) / size], indexing="ij")
    swirl = 0.5 * np.stack([np.sin(2 * np.pi * y), -np.sin(2 * np.pi * x)], axis=-1)
    disk = np.hypot(x - 0.5, y - 0.3) < 0.2
    target = np.hypot(x - 0.55, y - 0.7) < 0.2
    return swirl.astype(dtype), disk.astype(dtype), target.astype(dtype)


def start_taichi(real, threads: int) -> None:
    with contextlib.redirect_stdout(sys.stderr):
        ti.init(arch=ti.cpu, default_fp=real, cpu_max_num_threads=threads, offline_cache=False)


def timed(work) -> float:
    begin = time.perf_counter()
    work()
    ti.sync()
    return time.perf_counter() - begin


def check_gradient(size: int, steps: int, fused: bool, threads: int) -> float:
    """Relative difference of autodiff and a central difference along a random direction, float64."""
    start_taichi(ti.f64, threads)
    smoke = Smoke(size, steps, ti.f64, fused, serial=threads == 1)
    velocity, density, target = scene(size, np.float64)
    direction = np.random.default_rng(0).standard_normal(velocity.shape)
    smoke.start_from(velocity, density, target)
    smoke.loss_and_gradient()
    slope = float(np.sum(smoke.velocity.grad.to_numpy()[0] * direction))
    step = 1e-7
    ahead = smoke.loss_at(velocity + step * direction, density, target)
    behind = smoke.loss_at(velocity - step * direction, density, target)
    return abs((ahead - behind) / (2 * step) - slope) / abs(slope)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=110)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--variant", choices=["fused", "tape"], default="fused")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    load_average = os.getloadavg()[0]
    fused = options.variant == "fused"

    start_taichi(ti.f32, options.threads)
    smoke = Smoke(options.size, options.steps, ti.f32, fused, serial=options.threads == 1)
    smoke.start_from(*scene(options.size, np.float32))
    first = timed(smoke.loss_and_gradient)
    forward = min(timed(smoke.forward) for _ in range(options.repeats))
    seconds = [timed(smoke.loss_and_gradient) for _ in range(options.repeats)]
    best = min(seconds)
    report = {
        "peer": "taichi",
        "version": ".".join(map(str, ti.__version__)),
        "task": "2D smoke, gradient of final density loss with respect to initial velocity",
        "variant": options.variant,
        "advection": "RK1 semi-Lagrangian, bilinear, velocity and density",
        "projection": f"{SWEEPS} Jacobi sweeps from zero, collocated",
        "boundary": "periodic",
        "grid": [options.size, options.size],
        "steps": options.steps,
        "precision": "float32",
        "threads": options.threads,
        "load_average": load_average,
        "compile_seconds": first - best,
        "seconds": best,
        "all_seconds": seconds,
        "forward_seconds": forward,
        "ns_per_cell_step": 1e9 * best / (options.size**2 * options.steps),
    }
    if options.check:
        report["gradient_defect"] = check_gradient(options.size, options.steps, fused, options.threads)
    print(json.dumps(report))


if __name__ == "__main__":
    main()
