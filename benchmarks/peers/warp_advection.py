"""NVIDIA Warp on the CPU: RK3 semi-Lagrangian advection of one scalar in 3D, and its adjoint.

Scheme, written here against Warp's public API: scalar q at cell centres of a periodic grid, velocity u
in cells per step; from each centre x Ralston's third-order Runge-Kutta runs backwards,

    k1 = u(x),  k2 = u(x - k1/2),  k3 = u(x - 3/4 k2),  foot = x - (2/9 k1 + 3/9 k2 + 4/9 k3)

with trilinear sampling throughout, and q'(x) = q(foot). The adjoint, for a given q'_bar, is what
`wp.Tape.backward` gives for q and u together; zeroing their gradients is part of it.

`--velocity staggered`   one array per component, each on its own faces, as keyfluid has it: eight
                         weights per component, and k1 a mean of two faces
`--velocity collocated`  one vec3 array at the centres, cheaper for Warp: eight weights for all three

Warp runs CPU kernels on one thread.

Prints one JSON object; its `load_average` is the machine's at the start: near 0, or distrust the times.
`--check` compares the adjoint with central differences along smooth directions of q and of u.
"""

import argparse
import contextlib
import json
import os
import sys
import tempfile
import time

import numpy as np
import warp as wp

STEP = np.float32(1 / 128)  # of the difference quotients


@wp.func
def wrapped(i: int, n: int) -> int:
    j = i
    if j < 0:
        j = j + n
    if j >= n:
        j = j - n
    return j


@wp.func
def sample_vector(u: wp.array3d(dtype=wp.vec3), x: wp.vec3, n: int) -> wp.vec3:
    low_x, low_y, low_z = wp.floor(x[0]), wp.floor(x[1]), wp.floor(x[2])
    a, b, c = x[0] - low_x, x[1] - low_y, x[2] - low_z
    i, j, k = wrapped(int(low_x), n), wrapped(int(low_y), n), wrapped(int(low_z), n)
    i1, j1, k1 = wrapped(i + 1, n), wrapped(j + 1, n), wrapped(k + 1, n)
    u00 = (1.0 - c) * u[i, j, k] + c * u[i, j, k1]
    u01 = (1.0 - c) * u[i, j1, k] + c * u[i, j1, k1]
    u10 = (1.0 - c) * u[i1, j, k] + c * u[i1, j, k1]
    u11 = (1.0 - c) * u[i1, j1, k] + c * u[i1, j1, k1]
    return (1.0 - a) * ((1.0 - b) * u00 + b * u01) + a * ((1.0 - b) * u10 + b * u11)


@wp.func
def sample_scalar(q: wp.array3d(dtype=float), x: wp.vec3, n: int) -> float:
    low_x, low_y, low_z = wp.floor(x[0]), wp.floor(x[1]), wp.floor(x[2])
    a, b, c = x[0] - low_x, x[1] - low_y, x[2] - low_z
    i, j, k = wrapped(int(low_x), n), wrapped(int(low_y), n), wrapped(int(low_z), n)
    i1, j1, k1 = wrapped(i + 1, n), wrapped(j + 1, n), wrapped(k + 1, n)
    q00 = (1.0 - c) * q[i, j, k] + c * q[i, j, k1]
    q01 = (1.0 - c) * q[i, j1, k] + c * q[i, j1, k1]
    q10 = (1.0 - c) * q[i1, j, k] + c * q[i1, j, k1]
    q11 = (1.0 - c) * q[i1, j1, k] + c * q[i1, j1, k1]
    return (1.0 - a) * ((1.0 - b) * q00 + b * q01) + a * ((1.0 - b) * q10 + b * q11)


@wp.kernel
def advect(q: wp.array3d(dtype=float), u: wp.array3d(dtype=wp.vec3), n: int, advected: wp.array3d(dtype=float)):
    i, j, k = wp.tid()
    x = wp.vec3(float(i), float(j), float(k))
    k1 = u[i, j, k]
    k2 = sample_vector(u, x - 0.5 * k1, n)
    k3 = sample_vector(u, x - 0.75 * k2, n)
    foot = x - (2.0 / 9.0 * k1 + 3.0 / 9.0 * k2 + 4.0 / 9.0 * k3)
    advected[i, j, k] = sample_scalar(q, foot, n)


@wp.func
def sample_faces(
    u: wp.array3d(dtype=float), v: wp.array3d(dtype=float), w: wp.array3d(dtype=float), x: wp.vec3, n: int
) -> wp.vec3:
    return wp.vec3(
        sample_scalar(u, x + wp.vec3(0.5, 0.0, 0.0), n),
        sample_scalar(v, x + wp.vec3(0.0, 0.5, 0.0), n),
        sample_scalar(w, x + wp.vec3(0.0, 0.0, 0.5), n),
    )


@wp.kernel
def advect_staggered(
    q: wp.array3d(dtype=float),
    u: wp.array3d(dtype=float),
    v: wp.array3d(dtype=float),
    w: wp.array3d(dtype=float),
    n: int,
    advected: wp.array3d(dtype=float),
):
    i, j, k = wp.tid()
    x = wp.vec3(float(i), float(j), float(k))
    k1 = 0.5 * wp.vec3(
        u[i, j, k] + u[wrapped(i + 1, n), j, k],
        v[i, j, k] + v[i, wrapped(j + 1, n), k],
        w[i, j, k] + w[i, j, wrapped(k + 1, n)],
    )
    k2 = sample_faces(u, v, w, x - 0.5 * k1, n)
    k3 = sample_faces(u, v, w, x - 0.75 * k2, n)
    foot = x - (2.0 / 9.0 * k1 + 3.0 / 9.0 * k2 + 4.0 / 9.0 * k3)
    advected[i, j, k] = sample_scalar(q, foot, n)


class Advection:
    """Arrays on the CPU, one recorded forward pass, and its adjoint."""

    def __init__(self, q: np.ndarray, u: np.ndarray, staggered: bool):
        self.size = q.shape[0]
        self.kernel = advect_staggered if staggered else advect
        self.q = wp.array(q, dtype=float, device="cpu", requires_grad=True)
        if staggered:
            components = [np.ascontiguousarray(u[..., axis]) for axis in range(3)]
            self.u = [wp.array(c, dtype=float, device="cpu", requires_grad=True) for c in components]
        else:
            self.u = [wp.array(u, dtype=wp.vec3, device="cpu", requires_grad=True)]
        self.advected = wp.zeros(q.shape, dtype=float, device="cpu", requires_grad=True)
        self.tape = wp.Tape()
        with self.tape:
            self.forward()

    def forward(self) -> None:
        inputs = [self.q, *self.u, self.size]
        wp.launch(self.kernel, dim=self.q.shape, inputs=inputs, outputs=[self.advected], device="cpu")

    def adjoint(self, advected_bar: wp.array) -> None:
        self.tape.zero()
        self.tape.backward(grads={self.advected: advected_bar})

    def velocity_gradient(self) -> np.ndarray:
        parts = [array.grad.numpy() for array in self.u]
        return parts[0] if len(parts) == 1 else np.stack(parts, axis=-1)


def scene(size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Periodic swirl of at most 2.4 cells per step and component, a ball of smoke, a wavy cotangent."""
    x, y, z = np.meshgrid(*3 * [(np.arange(size) + 0.5) / size], indexing="ij")
    turn = 2 * np.pi
    pairs = ((y, z), (z, x), (x, y))
    u = np.stack([np.sin(turn * a) + 0.5 * np.cos(turn * b) for a, b in pairs], axis=-1)
    q = np.exp(-30 * ((x - 0.5) ** 2 + (y - 0.4) ** 2 + (z - 0.6) ** 2))
    cotangent = np.cos(turn * (x - 2 * y + z))
    return q.astype(np.float32), (1.6 * u).astype(np.float32), cotangent.astype(np.float32)


def timed(work) -> float:
    begin = time.perf_counter()
    work()
    wp.synchronize_device("cpu")
    return time.perf_counter() - begin


def check_adjoint(size: int, staggered: bool) -> dict[str, float]:
    """Relative difference of the adjoint and a central difference along one direction of q and of u.

    Warp's float32 is differenced along smooth directions with steps that float32 can resolve.
    """
    q, u, cotangent = scene(size)
    advection = Advection(q, u, staggered)
    advection.adjoint(wp.array(cotangent, dtype=float, device="cpu"))
    x, y, z = np.meshgrid(*3 * [(np.arange(size) + 0.5) / size], indexing="ij")
    along_q = (1 + np.sin(2 * np.pi * (x + y - z))).astype(np.float32)
    along_u = np.stack([along_q, 0.5 * along_q, -along_q], axis=-1)

    def defect(gradient: np.ndarray, d_q: np.ndarray, d_u: np.ndarray, direction: np.ndarray) -> float:
        ahead = Advection(q + d_q, u + d_u, staggered).advected.numpy().astype(float)
        behind = Advection(q - d_q, u - d_u, staggered).advected.numpy()
        slope = float(np.sum((ahead - behind) * cotangent) / (2 * STEP))
        return abs(float(np.sum(gradient.astype(float) * direction)) - slope) / abs(slope)

    return {
        "q": defect(advection.q.grad.numpy(), STEP * along_q, 0 * along_u, along_q),
        "u": defect(advection.velocity_gradient(), 0 * along_q, STEP * along_u, along_u),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=128)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--velocity", choices=["staggered", "collocated"], default="staggered")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    load_average = os.getloadavg()[0]

    staggered = options.velocity == "staggered"

    with contextlib.redirect_stdout(sys.stderr), tempfile.TemporaryDirectory() as no_cache:
        wp.config.kernel_cache_dir = no_cache
        compile_seconds = timed(lambda: wp.load_module(device="cpu"))
    q, u, cotangent = scene(options.size)
    advection = Advection(q, u, staggered)
    advected_bar = wp.array(cotangent, dtype=float, device="cpu")
    forward = [timed(advection.forward) for _ in range(options.repeats)]
    adjoint = [timed(lambda: advection.adjoint(advected_bar)) for _ in range(options.repeats)]
    cells = options.size**3
    report = {
        "peer": "warp",
        "version": wp.config.version,
        "task": "3D advection of one scalar, and its adjoint for scalar and velocity",
        "advection": "RK3 (Ralston) semi-Lagrangian, trilinear",
        "velocity": options.velocity,
        "projection": "none",
        "boundary": "periodic",
        "grid": 3 * [options.size],
        "steps": 1,
        "precision": "float32",
        "threads": 1,
        "load_average": load_average,
        "compile_seconds": compile_seconds,
        "forward_seconds": min(forward),
        "all_forward_seconds": forward,
        "adjoint_seconds": min(adjoint),
        "all_adjoint_seconds": adjoint,
        "forward_ns_per_cell_step": 1e9 * min(forward) / cells,
        "adjoint_ns_per_cell_step": 1e9 * min(adjoint) / cells,
    }
    if options.check:
        report["gradient_defect"] = check_adjoint(options.size, staggered)
    print(json.dumps(report))


if __name__ == "__main__":
    main()
