"""The unknowns of a stage: its control, the vector it begins with, and how a vector is carried to the next stage."""

from __future__ import annotations

import numpy as np

from keyfluid.controllers.optimised.settings import SearchNumbers
from keyfluid.controllers.optimised.windows import Window
from keyfluid.controls import (
    Basis,
    BasisPair,
    Control,
    DenseForces,
    DensePotential,
    FilteredForces,
    GaussianSources,
    GaussianVortices,
    GaussianWinds,
    LiftedForces,
    SpectralPotential,
    Timing,
    UpsampledPotential,
)
from keyfluid.errors import SceneError
from keyfluid.fields import Field
from keyfluid.grid import Kind
from keyfluid.kernels.vectors import add_scaled, dot
from keyfluid.problem import Problem

_SOURCE_SHARE = 0.2
"""How far a source of likely size moves the surface in a step, beside a wind: more, and liquid vanishes and appears
instead of flowing (a letter in clay at 48^2: churn 117 % with the same unit for both)."""

_TOLERANCE, _MOST = 1e-2, 100
"""CG tolerance (relative residual) and iteration limit."""


def make_control(problem: Problem, settings: SearchNumbers, cutoff: float | None, window: Window) -> Control:
    """The control of a grid, a band and a window of time."""
    steps = problem.steps_per_frame or 1
    first, last = settings.acting(window.first, window.seen)
    count = (last - first) * steps
    length = settings.window if settings.time in ("windows", "integrated") else 1
    if length > count:
        raise SceneError("control.window", f"{length} steps is longer than the {count} that are controlled; shorten it")
    dt = 1.0 / (problem.fps * steps)
    timing = Timing(settings.time, count, dt, length, first=first * steps)  # type: ignore[arg-type]
    sources = None
    if settings.sources:
        scale = _SOURCE_SHARE * (1.0 if settings.time == "integrated" else dt)
        lattice = GaussianSources(problem.grid, problem.dtype, settings.spacing, settings.radius, scale)
        sources = Control(lattice, Timing("step", count, dt, first=first * steps))
    return Control(_basis(problem, settings, cutoff), timing, sources)


def _basis(problem: Problem, settings: SearchNumbers, cutoff: float | None) -> Basis:
    grid, dtype = problem.grid, problem.dtype
    if settings.basis == "potential":
        return SpectralPotential(grid, dtype, cutoff, falloff=max(settings.scaling - 1.0, -1.0))
    if settings.basis == "lifted":
        return LiftedForces(grid, dtype, cutoff, falloff=settings.scaling)
    if settings.basis == "forces":
        return FilteredForces(grid, dtype, cutoff)
    if settings.basis == "upsampled":
        return UpsampledPotential(grid, dtype, cutoff)
    if settings.basis == "dense":
        return DenseForces(grid, dtype)
    if settings.basis == "dense-potential":
        return DensePotential(grid, dtype)
    lattice = (grid, dtype, settings.spacing, settings.radius)
    if settings.basis == "winds":
        return GaussianWinds(*lattice)
    if settings.basis == "vortices":
        return GaussianVortices(*lattice)
    return BasisPair(GaussianWinds(*lattice), GaussianVortices(*lattice))


def carry(vector: np.ndarray, before: Control, after: Control) -> np.ndarray:
    """A control vector of one stage in the variables of the next."""
    if before is after:
        return vector
    sets = vector[: before.own].reshape(before.timing.count, before.basis.count)
    carried = [after.basis.carry(c, before.basis) for c in sets]
    if before.sources is not None and after.sources is not None:
        carried.append(carry(vector[before.own :], before.sources, after.sources))
    return np.concatenate(carried)


def first_guess(control: Control, problem: Problem, settings: SearchNumbers) -> np.ndarray:
    """The vector that the first stage of a window begins with: no force, or one that carries a liquid's weight.

    A liquid that has fallen out of its target's reach feels nothing of it, however it is pushed: its search begins
    weightless (`control.hold`), and gravity is what the optimiser then finds it may leave to act.
    """
    vector = control.zeros()
    if settings.hold and problem.fluid.weight != 0:
        forces = np.tile(_lift(control.basis, problem), (control.timing.steps, 1))
        vector[: control.own] = control.timing.sets_of(forces).ravel()
    return vector


def with_found(guess: np.ndarray, control: Control, before: Control, found: np.ndarray) -> np.ndarray:
    """A guess, in the steps that another control of the same kind has a vector for replaced by that one's; its grid may
    be finer."""
    timing = control.timing
    forces = np.zeros((timing.steps, control.basis.count), guess.dtype)
    for row, step in zip(forces, timing.controlled):
        known, own = before.mixed(found, step), control.mixed(guess, step)
        row[...] = control.basis.carry(known, before.basis) if known is not None else own
    sets = timing.sets_of(forces).ravel()
    if control.sources is None or before.sources is None:
        return sets
    return np.concatenate(
        [sets, with_found(guess[control.own :], control.sources, before.sources, found[before.own :])]
    )


def _lift(basis: Basis, problem: Problem) -> np.ndarray:
    """The coefficients of a force that carries the fluid's weight, as near as the basis has it."""
    if isinstance(basis, LiftedForces):
        return basis.lift(problem.up, problem.fluid.weight)
    lift = Field.zeros(problem.grid, Kind.FACES, problem.dtype)
    lift.component(problem.up)[...] = problem.fluid.weight
    return nearest(basis, lift)


def nearest(basis: Basis, force: Field) -> np.ndarray:
    """The coefficients whose force is nearest to this one, by conjugate gradients on B^T B c = B^T f; its sums do not
    depend on threads."""
    found = np.zeros(basis.count, basis.dtype)
    rest = basis.pull(force)
    way, square = rest.copy(), dot(rest, rest)
    enough = _TOLERANCE**2 * square
    for _ in range(_MOST):
        if square <= enough:
            break
        image = basis.pull(basis.force(way))
        length = square / dot(way, image)
        add_scaled(length, way, found)
        add_scaled(-length, image, rest)
        before, square = square, dot(rest, rest)
        way *= way.dtype.type(square / before)
        way += rest
    return found
