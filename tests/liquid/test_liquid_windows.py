"""Liquids in windows that look ahead: what is kept of them, what the next begins with, and a drop that comes off."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from liquid_cases import SCENE
from scipy.ndimage import label

from keyfluid.controllers.optimised.forces import JoinedForces
from keyfluid.controllers.optimised.settings import SearchNumbers
from keyfluid.controllers.optimised.stages import plan_stages
from keyfluid.controllers.optimised.unknowns import with_found
from keyfluid.controllers.optimised.windows import Window, plan_windows
from keyfluid.controls import Control, GaussianSources, GaussianWinds, Timing
from keyfluid.errors import SceneErrors
from keyfluid.grid import Grid
from keyfluid.runs.run import resume, run
from keyfluid.scenes import load_scene
from keyfluid.scenes.build.problem import build

DROP = """
[domain]
size = [1.0, 1.0]
resolution = 40
[time]
frames = 10
fps = 20
[[liquid.initial]]
shape = "box"
center = [0.5, 0.125]
size = [1.0, 0.25]
[[liquid.initial]]
shape = "disk"
center = [0.5, 0.45]
radius = 0.13
velocity = [0.0, -2.0]
[liquid]
gravity = 5.0
[control]
method = "adjoint"
schedule = "sequence"
ahead = 2
act = [2, 10]
blur = [0.05, 0.025]
iterations = 30
[output]
vdb = false
video = false
size = 32
"""


def keys(*frames):
    entries = [SimpleNamespace(frame=frame, hold=0) for frame in frames]
    return SimpleNamespace(keyframes=entries, pictures=[], flows=[], edit=None, frames=max(frames) + 2)


def test_windows_of_several_frames_that_look_ahead():
    dense = keys(*range(1, 11))
    assert plan_windows(dense, "sequence", span=4, ahead=3) == [Window(0, 4, 3), Window(4, 8, 2), Window(8, 10, 0)]
    assert plan_windows(dense, "sequence", ahead=20)[0] == Window(0, 1, 9)
    assert plan_windows(dense, "halves", ahead=2) == [Window(0, 5, 2), Window(5, 10, 0)]
    assert plan_windows(dense, "all", ahead=2) == [Window(0, 10)]


def test_the_first_window_begins_where_the_control_does():
    assert plan_windows(keys(2, 5, 8), "sequence", begin=3) == [Window(3, 5), Window(5, 8)]
    assert plan_windows(keys(8), "all", begin=3) == [Window(3, 8)]
    assert plan_windows(keys(3), "all", begin=3) == [Window(0, 3)], "refused elsewhere: it acts on no keyframe"


def _control(first, steps):
    grid = Grid((8, 8))
    winds = GaussianWinds(grid, np.float64, 0.25, 0.3)
    sources = Control(GaussianSources(grid, np.float64, 0.25, 0.3), Timing("step", steps, 0.1, first=first))
    return Control(winds, Timing("step", steps, 0.1, first=first), sources)


def test_what_was_found_ahead_is_a_guess_and_not_a_force():
    random = np.random.default_rng(0)
    one, two = _control(0, 6), _control(4, 4)
    found, guess = random.normal(size=one.count), random.normal(size=two.count)
    joined = JoinedForces(2).and_then(one, found, Window(0, 2, 1))
    begun = with_found(guess, two, one, found)
    for step in (4, 5):
        assert joined.force(step) is None
        assert joined.source(step) is None
        np.testing.assert_array_equal(two.mixed(begun, step), one.mixed(found, step))
        np.testing.assert_array_equal(two.source(begun, step).data, one.source(found, step).data)
    for step in (6, 7):
        np.testing.assert_array_equal(two.mixed(begun, step), two.mixed(guess, step))
    np.testing.assert_array_equal(joined.force(3).data, one.force(found, 3).data)


def test_what_was_found_ahead_on_a_fine_grid_is_a_guess_on_a_coarse_one():
    """At 64^2 the coarse grid has fewer waves than the cutoff of the fine one."""
    keys = "".join(f'[[keyframe]]\nframe = {f}\nshape = "disk"\nradius = 0.2\n' for f in (2, 4))
    text = f"""
[domain]
resolution = 64
[time]
frames = 4
[liquid]
initial = {{ shape = "disk", radius = 0.2 }}
{keys}
[control]
method = "spectral"
schedule = "sequence"
iterations = 1
"""
    assert run(load_scene(text), threads=1).finished


@pytest.mark.parametrize("widths", [[0.02], [0.04, 0.02], [0.08, 0.04, 0.02]])
def test_the_last_stage_of_a_liquid_never_ends_at_a_rough_match(widths):
    text = SCENE.format(control=f'method = "spectral"\nblur = {widths}')
    problem = build(load_scene(text, ["domain.resolution=64"]))
    stages = plan_stages(problem, SearchNumbers.of(problem))
    assert len({stage.problem.grid.cells for stage in stages}) == 2
    assert stages[-1].accuracy == 0


@pytest.fixture(scope="module")
def dense(tmp_path_factory):
    """A disk that is asked, in every frame, to be a little farther on."""
    folder = tmp_path_factory.mktemp("dense")
    text = SCENE.format(control='method = "spectral"\nschedule = "sequence"\nspan = 1\nahead = 2\niterations = 4')
    head, tail = text.split("[[keyframe]]")
    poses = "".join(
        f'[[keyframe]]\nframe = {f}\nshape = "disk"\ncenter = [{0.42 + 0.03 * f}, 0.35]\nradius = 0.2\n'
        for f in range(1, 5)
    )
    return head + poses + "[output]" + tail.split("[output]")[1], folder


def test_a_run_that_was_stopped_between_windows_goes_on_bit_identically(dense):
    text, folder = dense
    whole = run(load_scene(text), folder / "whole", threads=1)
    calls = iter(range(1000))
    stopped = run(load_scene(text), folder / "stopped", threads=2, should_stop=lambda: next(calls) > 30)
    assert stopped.metrics["status"] == "stopped"
    again = resume(folder / "stopped", threads=2)
    assert again.finished
    for a, b in zip(whole.frames, again.frames, strict=True):
        assert a.surface.tobytes() == b.surface.tobytes()
        assert a.velocity.data.tobytes() == b.velocity.data.tobytes()
    assert min(key["iou"] for key in whole.metrics["keyframes"]) > 0.9


def _heights(path, frames):
    """Sketches of a pool and a drop that leaves it, as arrays; gives the scene's keyframes."""
    entries = []
    x, y = np.meshgrid(*[(np.arange(80) + 0.5) / 80] * 2, indexing="ij")
    for frame in frames:
        height = 0.22 + 0.28 * (frame - 4) / 6
        distance = np.minimum(y - 0.25, np.hypot(x - 0.5, y - height) - 0.09)
        np.save(path / f"{frame}.npy", np.clip(0.5 - 80 * distance, 0, 1).astype(np.float32))
        entries.append(
            f'[[keyframe]]\nframe = {frame}\nnpy = "{path / f"{frame}.npy"}"\nmass = "keep"\n'
            'mask = { shape = "box", center = [0.5, 0.55], size = [0.9, 0.54] }\n'
        )
    return "".join(entries)


def _bodies(surface):
    """Cells of each connected set of wet cells, the largest first."""
    found, count = label(surface < 0)
    return sorted((int(np.sum(found == k)) for k in range(1, count + 1)), reverse=True)


def test_a_drop_comes_off(tmp_path):
    """Out of the splash of another one, from frame 5 to 10. All keyframes at once, the search ends with a column."""
    text = DROP + _heights(tmp_path, range(5, 11))
    result = run(load_scene(text))
    _, *drops = _bodies(result.frames[10].surface)
    assert len(drops) == 1, drops
    assert result.metrics["keyframes"][-1]["iou"] > 0.8
    assert abs(result.metrics["liquid"]["volume_error"]) < 0.01


WRONG = {
    "shorter than a frame": ("control.span=0", "control.span"),
    "half a frame": ("control.span=0.5", "control.span"),
    "behind": ("control.ahead=-1", "control.ahead"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_window_that_is_none(case, dense):
    change, words = WRONG[case]
    with pytest.raises(SceneErrors) as caught:
        load_scene(dense[0], [change])
    assert words in str(caught.value)
    assert len(caught.value.faults) == 1
