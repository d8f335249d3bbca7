"""alpha of each method against its own paper's objective, term by term."""

from __future__ import annotations

import numpy as np
import pytest
from keyframe_scenes import flat, problem_of

from keyfluid.controllers.optimised.evaluation import Evaluation
from keyfluid.controllers.optimised.settings import SearchNumbers
from keyfluid.controllers.optimised.stages import plan_stages

ALPHA = 3.0


def evaluation(method, alpha):
    control = f'method = "{method}"\nbasis = "dense"\ntime = "step"\nshear = 0.0\ncoarse = 0\nalpha = {alpha}'
    problem = problem_of(flat(control, "float64"))
    settings = SearchNumbers.of(problem)
    return Evaluation(plan_stages(problem, settings)[-1], settings)


@pytest.mark.parametrize("method", ["adjoint", "spectral"])
def test_alpha_is_the_papers(method):
    """D: squared distance to the keyframes over cells; F: squares of the forces in cells per step squared.

    adjoint: 1/2 (D + alpha F) [McNamara 2004, eq. 2]; spectral: D + alpha / 2 F [Tang 2021, eq. 6].
    """
    free, penalised = evaluation(method, 0.0), evaluation(method, ALPHA)
    problem, scale = free.problem, free.match.scale
    x = 0.3 * np.random.default_rng(5).standard_normal(free.control.count)
    forces = [free.control.force(x, step).data * free.dt**2 / problem.grid.spacing for step in range(problem.frames)]
    squares = float(sum(np.sum(force**2) for force in forces))
    free(x)
    errors, sizes = free.match.errors, free.match.sizes
    distance = sum(key.weight * size * errors[i] ** 2 for i, (key, size) in enumerate(zip(free.match.keys, sizes)))
    if method == "adjoint":
        objective = 0.5 * (distance + ALPHA * squares) / scale
    else:
        objective = (distance + ALPHA / 2 * squares) / (2 * scale)
    assert ALPHA * squares > 0.05 * distance
    assert penalised(x)[0] == pytest.approx(objective, rel=1e-12)
