"""The film of a control vector: one simulation with its forces, frame by frame, to the end of the scene."""

from __future__ import annotations

import numpy as np

from keyfluid.controllers.interface import FrameRecord, Problem, Shell, Stopped
from keyfluid.controllers.march import Clock
from keyfluid.controllers.smoke_steps import SmokeSteps
from keyfluid.controls import Control
from keyfluid.fields import Field


def replay(problem: Problem, shell: Shell, control: Control, vector: np.ndarray) -> None:
    """Hand every frame to the shell. After the last keyframe no force acts: the smoke is released."""
    smoke = SmokeSteps(problem)
    steps = problem.steps_per_frame or 1
    dt = 1.0 / (problem.fps * steps)
    state: dict[str, Field] = {**problem.densities, "velocity": problem.velocity}
    shell.frame(FrameRecord(0, state, memory={"steps": 0}))
    for frame in range(1, problem.frames + 1):
        if shell.stop_requested:
            raise Stopped
        carriers: list[tuple[float, Field]] = []
        emitted: dict[str, float] = {}
        force: Field | None = None
        for index in range((frame - 1) * steps, frame * steps):
            pushed = control.force(vector, index)
            advance = smoke.advance(state, Clock(index, dt), pushed)
            state = dict(advance.state)
            carriers.append((dt, advance.carrier))
            for name, mass in (advance.emitted or {}).items():
                emitted[name] = emitted.get(name, 0.0) + mass
            if pushed is not None:
                force = (1 / steps) * pushed if force is None else force.add_scaled(1 / steps, pushed)
        shell.frame(FrameRecord(frame, state, force, carriers, emitted, {"steps": frame * steps}))
