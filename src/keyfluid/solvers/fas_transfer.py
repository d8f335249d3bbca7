"""Between a grid and the one of half its resolution: trajectories q[..., step], the steps untouched [section 4.3].

Every axis is handled alone. Centres are averaged downward (the sum over a coarse cell is kept, so restricted
divergences stay solvable) and interpolated linearly upward, 3/4 and 1/4. Across its faces a component is taken over or
weighted 1/4, 1/2, 1/4 downward, and interpolated linearly upward. Beyond walls the last value is repeated along a wall
and zero across it.
"""

from __future__ import annotations

import numpy as np

from keyfluid.grid import Grid, Kind

Array = np.ndarray


def coarser(grid: Grid) -> Grid:
    """The grid of half the resolution over the same box."""
    return Grid([n // 2 for n in grid.cells], 2 * grid.spacing, [side.value for side in grid.boundary])


def restrict_centres(grid: Grid, q: Array) -> Array:
    for a in range(grid.dim):
        q = 0.5 * (_every(q, a, 0) + _every(q, a, 1))
    return q


def prolong_centres(grid: Grid, q: Array) -> Array:
    for a in range(grid.dim):
        q = _spread(q, a, grid.is_periodic(a))
    return q


def restrict_faces(grid: Grid, v: Array, weighted: bool) -> Array:
    """`weighted`: residuals, by 1/4, 1/2, 1/4 across faces; else velocities, whose fluxes add up exactly."""
    parts = []
    for c, component in enumerate(_components(grid, v)):
        q = component
        for a in range(grid.dim):
            if a != c:
                q = 0.5 * (_every(q, a, 0) + _every(q, a, 1))
            else:
                q = _weighted_planes(q, a, grid.is_periodic(a)) if weighted else _every(q, a, 0)
        parts.append(q.reshape(-1, v.shape[-1]))
    return np.concatenate(parts)


def prolong_faces(coarse: Grid, v: Array) -> Array:
    parts = []
    for c, component in enumerate(_components(coarse, v)):
        q = component
        for a in range(coarse.dim):
            wraps = coarse.is_periodic(a)
            q = _planes_between(q, a, wraps) if a == c else _spread(q, a, wraps)
        parts.append(q.reshape(-1, v.shape[-1]))
    return np.concatenate(parts)


def _components(grid: Grid, v: Array) -> list[Array]:
    layout = grid.layout(Kind.FACES)
    return [v[part].reshape(*shape, v.shape[-1]) for part, shape in zip(layout.parts, layout.shapes)]


def _cut(q: Array, axis: int, start: int | None, stop: int | None, step: int | None = None) -> Array:
    return q[(slice(None),) * axis + (slice(start, stop, step),)]


def _every(q: Array, axis: int, first: int) -> Array:
    return _cut(q, axis, first, None, 2)


def _shifted(q: Array, axis: int, by: int, wraps: bool) -> Array:
    """q[i + by], by = 1 or -1; wrapped, or the last value repeated."""
    if wraps:
        return np.roll(q, -by, axis)
    if by > 0:
        return np.concatenate([_cut(q, axis, 1, None), _cut(q, axis, -1, None)], axis)
    return np.concatenate([_cut(q, axis, None, 1), _cut(q, axis, None, -1)], axis)


def _woven(even: Array, odd: Array, axis: int, count: int) -> Array:
    shape = list(even.shape)
    shape[axis] = count
    out = np.empty(shape, even.dtype)
    _cut(out, axis, 0, None, 2)[...] = even
    _cut(out, axis, 1, None, 2)[...] = odd
    return out


def _spread(q: Array, axis: int, wraps: bool) -> Array:
    """Two middles for each: three quarters of its own and a quarter of the nearer neighbour."""
    below, above = _shifted(q, axis, -1, wraps), _shifted(q, axis, 1, wraps)
    return _woven(0.75 * q + 0.25 * below, 0.75 * q + 0.25 * above, axis, 2 * q.shape[axis])


def _planes_between(q: Array, axis: int, wraps: bool) -> Array:
    """Planes taken over, and the mean of two between them."""
    if wraps:
        return _woven(q, 0.5 * (q + np.roll(q, -1, axis)), axis, 2 * q.shape[axis])
    between = 0.5 * (_cut(q, axis, None, -1) + _cut(q, axis, 1, None))
    return _woven(q, between, axis, 2 * q.shape[axis] - 1)


def _weighted_planes(q: Array, axis: int, wraps: bool) -> Array:
    if wraps:
        odd = _every(q, axis, 1)
        return 0.5 * _every(q, axis, 0) + 0.25 * (odd + np.roll(odd, 1, axis))
    out = _every(q, axis, 0).copy()
    odd = _every(q, axis, 1)
    inner = _cut(out, axis, 1, -1)
    inner *= 0.5
    inner += 0.25 * (_cut(odd, axis, None, -1) + _cut(odd, axis, 1, None))
    return out
