"""How a long scene is cut, and what crosses a cut."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from keyframe_scenes import FLAT

import keyfluid
from keyfluid.controllers.optimised.on_grid import state_on
from keyfluid.controllers.optimised.windows import Window, plan_windows
from keyfluid.errors import KeyfluidError
from keyfluid.fields import Field, density
from keyfluid.grid import Grid, Kind
from keyfluid.problem import Clock


def scene(frames, *keys, hold=0, memory=None):
    entries = [SimpleNamespace(frame=frame, hold=0) for frame in keys]
    entries[-1].hold = hold
    wanted = {"keyframes": entries, "pictures": [], "flows": [], "edit": None}
    engine = {
        "grid": Grid((8, 8)),
        "dtype": np.dtype("f4"),
        "densities": {"density": 0},
        "carried": ("density",),
        "steps_per_frame": 1,
    }
    return SimpleNamespace(frames=frames, memory_limit_bytes=memory, **wanted, **engine)


def spans(windows):
    return [(window.first, window.last) for window in windows]


@pytest.mark.parametrize(
    ("schedule", "wanted"),
    [
        ("all", [(0, 240)]),
        ("sequence", [(0, 40), (40, 90), (90, 200), (200, 240)]),
        ("halves", [(0, 90), (90, 240)]),
        ("auto", [(0, 40), (40, 90), (90, 200), (200, 240)]),
    ],
)
def test_windows(schedule, wanted):
    assert spans(plan_windows(scene(260, 40, 90, 200, 230, hold=10), schedule)) == wanted


def test_short_scenes_are_solved_at_once():
    assert plan_windows(scene(60, 20, 40, 60), "auto") == [Window(0, 60)]
    assert plan_windows(scene(60, 40), "halves") == [Window(0, 40)]
    states = 60 * 4 * (64 + 2 * 72)
    assert plan_windows(scene(60, 20, 40, 60, memory=2 * states), "auto") == [Window(0, 60)]
    assert spans(plan_windows(scene(60, 20, 40, 60, memory=states), "auto")) == [(0, 20), (20, 40), (40, 60)]
    assert plan_windows(scene(50, 40, hold=30), "all") == [Window(0, 50)], "a hold ends with the scene"


def test_no_keyframes():
    with pytest.raises(KeyfluidError, match="keyframe"):
        plan_windows(SimpleNamespace(frames=3, keyframes=[], pictures=[], flows=[], edit=None), "all")


def test_a_state_on_a_coarser_grid_keeps_mass_and_wind():
    fine, coarse = Grid((12, 8)), Grid((6, 4))
    random = np.random.default_rng(4)
    smoke = density(fine, random.random((12, 8)))
    wind = Field.zeros(fine, Kind.FACES, np.float64)
    wind.component(0)[...] = 2.0
    wind.component(1)[...] = np.arange(12)[:, None] / 12
    there = state_on(SimpleNamespace(grid=coarse), {"density": smoke, "velocity": wind})
    assert there["density"].array.mean() == pytest.approx(smoke.array.mean())
    assert there["density"].array[1, 2] == pytest.approx(smoke.array[2:4, 4:6].mean())
    np.testing.assert_allclose(there["velocity"].component(0), 2.0)
    np.testing.assert_allclose(there["velocity"].component(1)[:, 1], (np.arange(6) * 2 + 0.5) / 12)
    same = state_on(SimpleNamespace(grid=fine), {"density": smoke})
    assert same["density"] is smoke


def test_the_film_of_a_sequence_is_one_simulation_though_each_window_adds_only_its_own_frames():
    """Frames before a window are not made again: they must be those of the forces found, to the last bit."""
    control = 'method = "spectral"\nschedule = "sequence"\niterations = 3\npaths = 0\n'
    result = keyfluid.run(FLAT.format(sides="", precision="float64", control=control), threads=1)
    assert [entry["window"] for entry in result.metrics["history"] if "window" in entry][-1] > 0
    state = {**result.problem.densities, "velocity": result.problem.velocity}
    steps = result.problem.fluid.steps(result.problem)
    for index in range(result.problem.frames):
        force = result.frames[index + 1].force
        state = dict(steps.advance(state, Clock(index, 1.0 / result.problem.fps), force).state)
        np.testing.assert_array_equal(state["density"].array, result.frames[index + 1].densities["density"])
