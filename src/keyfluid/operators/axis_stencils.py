"""Averages and differences along one axis between planes and the middles between them, and their transposes.

An axis with n cells has n middles (cell centres) and n + 1 planes (faces), or n where it is periodic; plane i
lies before middle i. Beyond an end, the last value is repeated.
"""

from __future__ import annotations

import numpy as np


def _along(q: np.ndarray, axis: int, start: int | None, stop: int | None) -> np.ndarray:
    """A view of q[start:stop] along one axis."""
    return q[(slice(None),) * (axis % q.ndim) + (slice(start, stop),)]


def to_planes(q: np.ndarray, axis: int, periodic: bool) -> np.ndarray:
    """Middles to planes: the mean of the two middles beside a plane."""
    if periodic:
        return 0.5 * (q + np.roll(q, 1, axis))
    inner = 0.5 * (_along(q, axis, None, -1) + _along(q, axis, 1, None))
    return np.concatenate([_along(q, axis, None, 1), inner, _along(q, axis, -1, None)], axis)


def to_planes_transposed(p_bar: np.ndarray, axis: int, periodic: bool) -> np.ndarray:
    if periodic:
        return 0.5 * (p_bar + np.roll(p_bar, -1, axis))
    q_bar = 0.5 * (_along(p_bar, axis, None, -1) + _along(p_bar, axis, 1, None))
    _along(q_bar, axis, None, 1)[...] += 0.5 * _along(p_bar, axis, None, 1)
    _along(q_bar, axis, -1, None)[...] += 0.5 * _along(p_bar, axis, -1, None)
    return q_bar


def to_middles(p: np.ndarray, axis: int, periodic: bool) -> np.ndarray:
    """Planes to middles: the mean of the two planes around a middle."""
    if periodic:
        return 0.5 * (p + np.roll(p, -1, axis))
    return 0.5 * (_along(p, axis, None, -1) + _along(p, axis, 1, None))


def to_middles_transposed(q_bar: np.ndarray, axis: int, periodic: bool) -> np.ndarray:
    if periodic:
        return 0.5 * (q_bar + np.roll(q_bar, 1, axis))
    ends = (_along(q_bar, axis, None, 1), _along(q_bar, axis, -1, None))
    inner = _along(q_bar, axis, None, -1) + _along(q_bar, axis, 1, None)
    return 0.5 * np.concatenate([ends[0], inner, ends[1]], axis)


def central_difference(q: np.ndarray, axis: int, periodic: bool) -> np.ndarray:
    """Middles to middles: half the difference of the two neighbours, per cell."""
    if periodic:
        return 0.5 * (np.roll(q, -1, axis) - np.roll(q, 1, axis))
    first, last = _along(q, axis, None, 1), _along(q, axis, -1, None)
    padded = np.concatenate([first, q, last], axis)
    return 0.5 * (_along(padded, axis, 2, None) - _along(padded, axis, None, -2))


def central_difference_transposed(d_bar: np.ndarray, axis: int, periodic: bool) -> np.ndarray:
    if periodic:
        return 0.5 * (np.roll(d_bar, 1, axis) - np.roll(d_bar, -1, axis))
    first, last = _along(d_bar, axis, None, 1), _along(d_bar, axis, -1, None)
    padded = np.concatenate([-first, d_bar, -last], axis)
    return 0.5 * (_along(padded, axis, None, -2) - _along(padded, axis, 2, None))
