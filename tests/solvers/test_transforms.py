"""Transforms diagonalise second differences exactly, whichever library does the work."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from keyfluid.solvers import transforms
from keyfluid.solvers.real_transforms import real_transform, scipy_transform
from keyfluid.solvers.transforms import Axis, diagonal, eigenvalues
from keyfluid.threads import set_threads


def second_difference(q: np.ndarray, axes: tuple[Axis, ...]) -> np.ndarray:
    """q[i+1] - 2 q[i] + q[i-1] with the ends that the axis kinds stand for."""
    total = np.zeros_like(q)
    modes = {Axis.PERIODIC: "wrap", Axis.MIRROR: "symmetric", Axis.ZERO: "constant"}
    for a, axis in enumerate(axes):
        padded = np.pad(q, [(1, 1) if b == a else (0, 0) for b in range(q.ndim)], modes[axis])
        total += np.diff(padded, 2, axis=a)
    return total


@pytest.mark.parametrize("shape", [(9, 7), (7, 5, 6)])
def test_laplacian_is_diagonal_for_every_mixture_of_ends(shape: tuple[int, ...]) -> None:
    q = np.random.default_rng(3).standard_normal(shape)
    for axes in product(Axis, repeat=len(shape)):
        by_transform = diagonal(q, axes, eigenvalues(shape, axes))
        np.testing.assert_allclose(by_transform, second_difference(q, axes), atol=1e-13)


@pytest.mark.parametrize(("shape", "kept"), [((9, 7), (4, 7)), ((7, 5, 6), (3, 2, 6)), ((8, 5, 6), (3, 5, 2))])
def test_a_short_scale_is_one_that_ends_in_zeros(shape: tuple[int, ...], kept: tuple[int, ...]) -> None:
    q = np.random.default_rng(3).standard_normal(shape)
    for axes in product(Axis, repeat=len(shape)):
        scale = 1 / (1 - eigenvalues(shape, axes))
        ends = [n if axis is Axis.PERIODIC else m for n, m, axis in zip(scale.shape, kept, axes)]
        short = scale[tuple(slice(end) for end in ends)]
        padded = np.pad(short, [(0, n - m) for n, m in zip(scale.shape, ends)])
        np.testing.assert_allclose(diagonal(q, axes, short), diagonal(q, axes, padded), atol=1e-14)


def test_input_is_left_alone() -> None:
    q = np.random.default_rng(3).standard_normal((9, 7))
    for axes in product(Axis, repeat=2):
        before = q.copy()
        diagonal(q, axes, eigenvalues(q.shape, axes))
        np.testing.assert_array_equal(q, before)


@pytest.mark.parametrize("shape", [(300, 301), (64, 64, 40)])
def test_threads_change_no_bit(shape: tuple[int, ...]) -> None:
    q = np.random.default_rng(3).standard_normal(shape).astype(np.float32)
    for axis in Axis:
        axes = (axis,) * len(shape)
        scale = (1 / (1 - eigenvalues(shape, axes))).astype(np.float32)
        results = []
        for threads in (1, 2):
            set_threads(threads)
            results.append(diagonal(q, axes, scale))
        set_threads(1)
        np.testing.assert_array_equal(*results)


BESIDE = Path(sys.prefix) / "ducc0"
"""Where the Makefile puts ducc0, so that nothing but this test uses it."""


@pytest.mark.skipif(transforms.ducc0 is not None or not BESIDE.is_dir(), reason="ducc0 is in use, or not installed")
def test_all_of_this_with_ducc0() -> None:
    path = os.pathsep.join([str(BESIDE), *filter(None, sys.path)])
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rs", __file__]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "not installed (extra" not in done.stdout, "the tests ran without it"


@pytest.mark.skipif(transforms.ducc0 is None, reason="ducc0 is not installed (extra 'fast')")
def test_ducc0_agrees_with_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    for shape in ((9, 7), (7, 5, 6), (64, 64, 40)):
        q = np.random.default_rng(3).standard_normal(shape)
        for axes in product(Axis, repeat=len(shape)):
            scale = 1 / (1 - eigenvalues(shape, axes))
            with_ducc = diagonal(q, axes, scale)
            with monkeypatch.context() as patch:
                patch.setattr(transforms, "ducc0", None)
                np.testing.assert_allclose(with_ducc, diagonal(q, axes, scale), atol=1e-13)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("name", "kind"), [("dct", 1), ("dct", 2), ("dct", 3), ("dst", 1)])
def test_pocketfft_called_directly_has_the_bits_of_scipys_functions(name, kind, dtype) -> None:
    q = np.random.default_rng(3).standard_normal((9, 7, 6)).astype(dtype)
    for axis in range(q.ndim):
        theirs = scipy_transform(q, name, kind, axis, 1, False)
        ours = real_transform(q, name, kind, axis)
        np.testing.assert_array_equal(ours, theirs)
        assert ours.dtype == dtype
        np.testing.assert_array_equal(real_transform(q.copy(), name, kind, axis, 2, overwrite=True), theirs)
