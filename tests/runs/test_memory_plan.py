"""The memory that a run announces is what it holds (benchmarks/memory.py measures whole processes)."""

from __future__ import annotations

import tracemalloc

import pytest

import keyfluid
from keyfluid.controllers.optimised.evaluation import Evaluation, memory_plan, optimiser_bytes
from keyfluid.controllers.optimised.settings import SearchNumbers
from keyfluid.controllers.optimised.stages import plan_stages
from keyfluid.problem import Problem
from keyfluid.runs.disk_estimate import frame_in_memory
from keyfluid.runs.estimate import estimate
from keyfluid.runs.run import plan_run
from keyfluid.scenes import load_scene
from keyfluid.scenes.build.problem import build

SCENE = """
[domain]
size = {size}
resolution = {resolution}
[time]
frames = 12
steps_per_frame = {steps}
[smoke]
initial = {{ shape = "{body}", center = {centre}, radius = 0.2 }}
[[keyframe]]
frame = 12
shape = "{body}"
center = {centre}
radius = 0.25
[control]
method = "spectral"
iterations = 1
"""
SECOND = """
schedule = "sequence"
[[keyframe]]
frame = 24
shape = "disk"
center = [0.4, 0.5]
radius = 0.25
"""


def scene(dim: int, resolution: int, steps: int = 1) -> str:
    body = "disk" if dim == 2 else "sphere"
    return SCENE.format(size=[1.0] * dim, resolution=resolution, steps=steps, body=body, centre=[0.5] * dim)


def traced_peak(problem: Problem) -> tuple[int, int]:
    """Bytes of arrays that an evaluation of the finest grid holds at its peak, and what its plan says."""
    settings = SearchNumbers.of(problem)
    stage = plan_stages(problem, settings)[-1]
    evaluation, x = Evaluation(stage, settings), stage.control.zeros()
    evaluation(x)  # tables and compiled kernels stay
    tracemalloc.start()
    try:
        evaluation(x)
        return tracemalloc.get_traced_memory()[1], memory_plan(stage, settings).total_bytes - optimiser_bytes(
            stage, settings.history
        )
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("dim", "resolution"), [(2, 128), (3, 32)])
def test_an_evaluation_holds_what_its_plan_says(dim, resolution):
    peak, planned = traced_peak(build(load_scene(scene(dim, resolution))))
    assert planned == pytest.approx(peak, rel=0.1)


@pytest.mark.parametrize("steps", [1, 2])
def test_a_run_without_a_folder_counts_the_frames_it_keeps(steps):
    problem = build(load_scene(scene(2, 32, steps)))
    result = keyfluid.run(scene(2, 32, steps), threads=1)
    stored = result.frames.store.read(12).arrays
    assert frame_in_memory(problem, steps) == sum(array.nbytes for array in stored.values())
    for text, while_searching, in_all in (
        (scene(2, 32, steps), 0, 13),
        (scene(2, 32, steps).replace("frames = 12", "frames = 24") + SECOND, 12, 25),
    ):
        problem = build(load_scene(text))
        plan, frame = plan_run(problem), frame_in_memory(problem, steps)
        held, alone = (estimate(problem, plan, 0.0, in_memory=kept).memory for kept in (True, False))
        assert held - alone == max(while_searching * frame, in_all * frame - plan.memory_bytes)


def test_few_iterations_leave_few_pairs():
    one, many = (build(load_scene(scene(2, 32), [f"control.iterations={count}"])) for count in (1, 50))
    stages = [plan_stages(problem, SearchNumbers.of(problem))[-1] for problem in (one, many)]
    few, all_pairs = (optimiser_bytes(stage, 10) // stage.control.nbytes for stage in stages)
    assert (few, all_pairs) == (8, 26)
