"""The optimiser against scipy's on standard problems, its metric, its line search, and continuing in the same bits."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import minimize, rosen, rosen_der

from keyfluid import threads
from keyfluid.errors import KeyfluidError
from keyfluid.kernels.vectors import add_scaled, dot
from keyfluid.optimise.lbfgs import Iterate, Lbfgs


def rosenbrock(x):
    return float(rosen(x)), rosen_der(x)


def quadratic(scales):
    def function(x):
        return 0.5 * float(np.sum(scales * (x - 1) ** 2)), scales * (x - 1)

    return function


def beale(x):
    a, b = x
    r = np.array([1.5 - a + a * b, 2.25 - a + a * b**2, 2.625 - a + a * b**3])
    j = np.array([[b - 1, a], [b**2 - 1, 2 * a * b], [b**3 - 1, 3 * a * b**2]])
    return float(r @ r), 2 * j.T @ r


def minimised(method, x, function, iterations=400, tolerance=1e-10):
    state = method.start(x, function)
    values = [state.now.value]
    while state.iteration < iterations and not state.stalled and np.abs(state.now.gradient).max() > tolerance:
        state = method.advance(state, function)
        values.append(state.now.value)
    return state, values


@pytest.mark.parametrize(
    ("function", "start", "wanted"),
    [
        (rosenbrock, np.array([-1.2, 1.0]), np.ones(2)),
        (rosenbrock, np.tile([-1.2, 1.0], 10), np.ones(20)),
        (beale, np.array([1.0, 1.0]), np.array([3.0, 0.5])),
        (quadratic(np.logspace(0, 3, 50)), np.zeros(50), np.ones(50)),
    ],
    ids=["rosenbrock", "rosenbrock-20", "beale", "ill-conditioned"],
)
def test_it_finds_what_scipy_finds_with_no_more_work(function, start, wanted):
    state, values = minimised(Lbfgs(), start, function, tolerance=1e-8)
    theirs = minimize(function, start, jac=True, method="L-BFGS-B", options={"maxcor": 10, "gtol": 1e-8, "ftol": 0})
    np.testing.assert_allclose(state.now.x, wanted, atol=1e-6)
    assert state.evaluations <= 1.6 * theirs.nfev + 10
    assert all(later < earlier for earlier, later in pairwise(values)), "every iteration goes down"


def test_a_metric_is_a_change_of_variables():
    scales = np.logspace(0, 6, 40)
    root = scales**-0.4

    def changed(z):
        value, gradient = quadratic(scales)(root * z)
        return value, root * gradient

    plain, _ = minimised(Lbfgs(first_step=0.5), np.zeros(40), changed, iterations=6)
    metric, _ = minimised(Lbfgs(metric=root**2, first_step=0.5), np.zeros(40), quadratic(scales), iterations=6)
    assert metric.evaluations == plain.evaluations
    np.testing.assert_allclose(metric.now.x, root * plain.now.x, rtol=1e-9)
    without, _ = minimised(Lbfgs(first_step=0.5), np.zeros(40), quadratic(scales), iterations=6)
    assert without.now.value > 3 * metric.now.value, "the metric must matter here, or the test shows nothing"


def test_a_variable_of_metric_zero_stays():
    metric = np.array([1.0, 0.0, 1.0])
    state, _ = minimised(Lbfgs(metric=metric), np.array([5.0, 7.0, -3.0]), quadratic(np.ones(3)), 20)
    np.testing.assert_allclose(state.now.x, [1.0, 7.0, 1.0], atol=1e-9)


def test_accepted_points_meet_weak_wolfe():
    method = Lbfgs(history=3)
    state = method.start(np.array([-1.2, 1.0, 0.3]), rosenbrock)
    for _ in range(25):
        before = state.now
        direction, slope = method._direction(state)
        state = method.advance(state, rosenbrock)
        step = state.now.x - before.x
        t = (step @ direction) / (direction @ direction)
        assert state.now.value <= before.value + 1e-4 * t * slope
        assert state.now.gradient @ direction >= 0.9 * slope


def test_a_point_that_blows_up_is_stepped_back_from():
    def function(x):
        if x[0] > 2:
            return np.nan, np.full(1, np.nan)
        return float((x[0] - 1.9) ** 2), 2 * (x - 1.9)

    state, _ = minimised(Lbfgs(first_step=100.0), np.zeros(1), function)
    assert state.now.x[0] == pytest.approx(1.9)


def test_a_gradient_is_computed_only_at_points_that_are_low_enough():
    values, computed = [], []

    def lazily(x):
        value, gradient = rosenbrock(x)
        values.append(value)

        def compute():
            computed.append(value)
            return gradient

        return value, compute

    start = np.array([-1.2, 1.0])
    state, _ = minimised(Lbfgs(first_step=3.0), start, lazily, iterations=15)
    eager, _ = minimised(Lbfgs(first_step=3.0), start, rosenbrock, iterations=15)
    assert np.array_equal(state.now.x, eager.now.x)
    assert state.evaluations == eager.evaluations == len(values)
    assert len(computed) < len(values), "some trial is too high here, or the test shows nothing"


def test_it_says_why_it_stalls():
    flat = Lbfgs().start(np.zeros(3), lambda x: (1.0, np.zeros(3)))
    assert "gradient is zero" in Lbfgs().advance(flat, lambda x: (1.0, np.zeros(3))).stalled

    def wrong(x):
        return float(x @ x), -2 * x  # a gradient with the wrong sign: no step helps

    state = Lbfgs().advance(Lbfgs().start(np.ones(3), wrong), wrong)
    assert "no step" in state.stalled
    assert state.now.value == 3.0


def test_bad_settings_are_refused():
    with pytest.raises(KeyfluidError, match="history"):
        Lbfgs(history=0)
    with pytest.raises(KeyfluidError, match="metric"):
        Lbfgs(metric=np.array([1.0, -1.0]))
    with pytest.raises(KeyfluidError, match="not finite at the start"):
        Lbfgs().start(np.ones(2), lambda x: (np.inf, x))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_continuing_from_stored_iterates_gives_the_same_bits(dtype):
    def function(x):
        value, gradient = rosenbrock(x.astype(np.float64))
        return value, gradient.astype(dtype)

    method = Lbfgs(history=4, metric=np.linspace(0.5, 2, 12).astype(dtype))
    state = method.start(np.tile([-1.2, 1.0], 6).astype(dtype), function)
    stored: dict[int, Iterate] = {0: state.now}
    for _ in range(30):
        state = method.advance(state, function)
        stored[state.iteration] = state.now
        if state.iteration == 17:
            trail = {i: stored[i] for i in state.iterates}
            again = method.restore(trail, state.evaluations, state.decrease, mark=state.mark)
    for _ in range(13):
        again = method.advance(again, function)
    assert again.now.x.tobytes() == state.now.x.tobytes()
    assert again.evaluations == state.evaluations
    assert again.mark == state.mark
    assert len(state.iterates) == 5


def test_idle_counts_evaluations_since_the_lowest_value_fell():
    method, function = Lbfgs(), quadratic(np.logspace(0, 3, 50))
    state = method.start(np.zeros(50), function)
    assert state.idle == 0
    values, marked = [state.best.value], state.best.value
    while state.iteration < 40:
        before, state = state, method.advance(state, function)
        values.append(state.best.value)
        if values[-1] < 0.99 * marked:
            marked = values[-1]
            assert state.idle == 0
        else:
            assert state.idle == before.idle + state.evaluations - before.evaluations


def test_idle_grows_where_nothing_is_gained():
    def offset(x):
        return 1 + 1e-6 * float(x @ x), 2e-6 * x

    method = Lbfgs(first_step=1e-3)
    state = method.start(np.ones(3), offset)
    state = method.advance(state, offset)
    assert state.now.value < 1 + 3e-6
    assert state.idle == state.evaluations - 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_have_the_same_bits_on_one_and_two_threads(dtype):
    random = np.random.default_rng(3)
    a, b = (random.standard_normal(100_003).astype(dtype) for _ in range(2))
    found = []
    for count in (1, 2):
        threads.set_threads(count)
        c = b.copy()
        add_scaled(0.3, a, c)
        found.append((dot(a, b), c.tobytes()))
    threads.set_threads(1)
    assert found[0] == found[1]
    assert found[0][0] == pytest.approx(float(np.dot(a.astype(np.float64), b.astype(np.float64))), rel=1e-10)
