"""Where an optimisation begins: at no force, or, for a liquid, at forces that method "target" would use.

The liquid is driven once through the window (controllers/target/liquid.py); each step's force is then fitted by the
control's basis, |B c - f|^2 least by a few conjugate gradients on B^T B c = B^T f, and the coefficients of all steps by
its plan in time. A search from there has the shape already, and mends what a pass without foresight could not do. Where
steps are so long that the drive overshoots, and rest is nearer to the keyframes, it begins at rest.
"""

from __future__ import annotations

import numpy as np

from keyfluid.controllers.keyframes.evaluation import Evaluation
from keyfluid.controllers.keyframes.settings import Settings
from keyfluid.controllers.keyframes.stages import Stage
from keyfluid.controllers.keyframes.windows import state_on
from keyfluid.controllers.march import Clock
from keyfluid.controllers.target.liquid import LiquidTarget
from keyfluid.controls import Basis
from keyfluid.fields import Field
from keyfluid.kernels.vectors import dot
from keyfluid.models.stage import State

_FITTING = 12


def first_guess(stage: Stage, settings: Settings, start: State | None) -> np.ndarray:
    """The control vector that a stage begins with; start: the state before its window, None: the scene's."""
    problem, control = stage.problem, stage.control
    vector = control.zeros()
    if problem.liquid is None or settings.guess == "none" or all(key.mask is not None for key in problem.keyframes):
        return vector
    state = {**problem.densities, "velocity": problem.velocity} if start is None else state_on(problem, start)
    driven, timing = LiquidTarget(problem), control.timing
    steps = problem.steps_per_frame or 1
    fitted = []
    for index in range(stage.window.first * steps, stage.window.last * steps):
        if timing.row(index):
            advance = driven.advance(state, Clock(index, timing.dt))
            force = advance.force if advance.force is not None else Field.zeros(problem.grid, problem.velocity.kind)
            fitted.append(fit(control.basis, force.astype(problem.dtype)))
        else:
            advance = driven.fluid.advance(state, Clock(index, timing.dt))
        state = dict(advance.state)
    guess = control.zeros()
    guess[: control.own] = timing.sets_of(np.stack(fitted)).ravel()
    objective = Evaluation(stage, settings, start)
    return guess if objective(guess)[0] < objective(vector)[0] else vector


def fit(basis: Basis, force: Field) -> np.ndarray:
    """Coefficients whose force is nearest to this one, after a few conjugate gradients."""
    residual = basis.pull(force)
    c, p = np.zeros_like(residual), residual.copy()
    square = dot(residual, residual)
    for _ in range(_FITTING):
        if square == 0:
            break
        q = basis.pull(basis.force(p))
        step = c.dtype.type(square / dot(p, q))
        c += step * p
        residual -= step * q
        before, square = square, dot(residual, residual)
        p = residual + c.dtype.type(square / before) * p
    return c
