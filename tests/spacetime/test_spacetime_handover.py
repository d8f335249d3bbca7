"""A spacetime run as the start of a method that optimises the engine's own smoke."""

from __future__ import annotations

import numpy as np
import pytest

from keyfluid.cli.main import main
from keyfluid.controllers.optimised.handover import mean_carrier
from keyfluid.errors import SceneError
from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.problem import FrameRecord
from keyfluid.runs.run import open_run, resume, run
from keyfluid.scenes import load_scene

SCENE = """
[domain]
size = [1.0, 1.0]
resolution = 20
boundary = "{sides}"
[time]
fps = 16
frames = {frames}
[smoke]
initial = {{ shape = "disk", center = [0.45, 0.5], radius = 0.2 }}
[[keyframe]]
frame = 6
shape = "disk"
center = [0.6, 0.45]
radius = 0.2
{more}
[control]
method = "{method}"
{control}
[output]
vdb = false
video = false
"""

SECOND = '[[keyframe]]\nframe = 12\nshape = "disk"\ncenter = [0.45, 0.55]\nradius = 0.2\n'

SEMI = 'iterations = 2\nr = 50.0\ntransport = "semi-lagrangian"'
"""The engine's smoke in the paper's air: in the same air it must end in the same place."""


def scene(method, control="", frames=8, more="", sides="walls", **changes):
    text = SCENE.format(method=method, control=control, sides=sides, frames=frames, more=more)
    return load_scene(text, [f"{key.replace('__', '.')}={value}" for key, value in changes.items()])


def from_run(folder, more=""):
    """Carried by the grid, as the run's own smoke."""
    return f'start = "{folder}"\nshear = 0\npaths = 0\n{more}'


def course(result):
    return [entry["error"] for entry in result.metrics["history"] if "objective" in entry]


def error(result):
    return result.metrics["keyframes"][-1]["relative_error"]


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("handover") / "spacetime"
    return folder, run(scene("spacetime", SEMI), folder, threads=1)


def test_the_engines_air_follows_the_runs_and_carries_the_same_smoke(found):
    folder, before = found
    after = run(scene("spectral", from_run(folder, "iterations = 3")), threads=1)
    assert course(after)[0] == pytest.approx(error(before), abs=1e-4)
    assert error(after) < course(after)[0]
    assert after.metrics["iterations"] == 3


@pytest.mark.parametrize(
    ("method", "control", "changes", "near"),
    [
        ("adjoint", 'basis = "dense"', {}, 0.001),
        ("adjoint", "", {}, 0.1),
        ("spectral", 'preset = "tang"\ntime = "step"\ncutoff = 6', {}, 0.1),
        ("spectral", 'time = "windows"\nwindow = 2', {}, 0.1),
        ("spectral", "", {"time__steps_per_frame": 2}, 0.11),  # twice the steps blur more
        ("spectral", "", {"domain__resolution": 32}, 0.15),
        ("spectral", "", {"smoke__viscosity": 0.002}, 0.01),
    ],
)
def test_forces_fit_into_the_unknowns_there_are(found, method, control, changes, near):
    """Coarser unknowns, other steps, another grid, thicker air: the start is near the run's end all the same."""
    folder, before = found
    after = run(scene(method, from_run(folder, f"iterations = 2\n{control}"), **changes), threads=1)
    assert course(after)[0] == pytest.approx(error(before), abs=near)
    assert error(after) < course(after)[0]


def test_a_film_of_another_method_that_the_engine_made_is_made_again(tmp_path):
    before = run(scene("adjoint", "iterations = 4\nshear = 0\npaths = 0"), tmp_path / "winds", threads=1)
    after = run(scene("spectral", from_run(tmp_path / "winds", "iterations = 1")), threads=1)
    assert course(after)[0] == pytest.approx(error(before), abs=1e-4)


def test_windows_one_after_the_other_follow_the_same_air(tmp_path):
    two = {"frames": 12, "more": SECOND}
    before = run(scene("spacetime", SEMI, **two), tmp_path / "run", threads=1)
    control = from_run(tmp_path / "run", 'schedule = "sequence"\niterations = 3')
    after = run(scene("spectral", control, **two), threads=1)
    starts = [e["error"] for e in after.metrics["history"] if "objective" in e and e["window"] == 1]
    assert starts[0] < error(before) + 0.1
    assert error(after) < starts[0]


def test_a_stopped_run_goes_on_to_the_same_bits(found, tmp_path):
    folder, _ = found
    begun = scene("spectral", from_run(folder, "iterations = 4"))
    whole = run(begun, tmp_path / "whole", threads=1)
    calls = iter(range(1000))
    stopped = run(begun, tmp_path / "parts", threads=1, should_stop=lambda: next(calls) >= 3)
    assert stopped.metrics["status"] == "stopped"
    done = resume(tmp_path / "parts", threads=1)
    assert done.frames[8].densities["density"].tobytes() == whole.frames[8].densities["density"].tobytes()
    assert done.metrics["history"] == whole.metrics["history"]


EDIT = "[edit]\nrun = '{}'\nfirst = 2\n"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"time__fps": 24}, "another time.fps"),
        ({"domain__size": [1.0, 0.8]}, "another domain.size"),
        ({"sides": "periodic"}, "another domain.boundary"),
        ({"frames": 12, "more": SECOND}, "ends at frame 8, .*last keyframe is later, at 12"),
        ({"more": EDIT}, "edited run"),
    ],
)
def test_what_can_not_be_followed_is_one_line_before_anything_is_written(found, tmp_path, changes, words):
    folder, _ = found
    if "run = " in changes.get("more", ""):
        changes = {"more": EDIT.format(folder)}
    with pytest.raises(SceneError, match=rf"^control\.start: .*{words}") as caught:
        run(scene("spectral", from_run(folder), **changes), tmp_path / "out", threads=1)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_runs_without_an_end_or_without_velocities_are_no_start(tmp_path):
    calls = iter(range(1000))
    run(scene("spacetime", SEMI), tmp_path / "stopped", threads=1, should_stop=lambda: next(calls) >= 3)
    with pytest.raises(SceneError, match=r"control\.start: .*not finished"):
        run(scene("spectral", from_run(tmp_path / "stopped")), threads=1)
    free = SCENE.split("[[keyframe]]")[0].format(sides="walls", frames=8)
    run(load_scene(free), tmp_path / "free", threads=1)
    with pytest.raises(SceneError, match=r"control\.start: .*not kept the velocities"):
        run(scene("spectral", from_run(tmp_path / "free")), threads=1)


def test_a_frame_that_is_gone_is_missed_before_the_run(tmp_path):
    run(scene("spacetime", "iterations = 1"), tmp_path / "run", threads=1)
    (tmp_path / "run" / "frames" / "0003.npz").unlink()
    with pytest.raises(SceneError, match=r"control\.start: .*0003"):
        run(scene("spectral", from_run(tmp_path / "run")), tmp_path / "out", threads=1)
    assert not (tmp_path / "out").exists()


def test_the_command_line_takes_it_with_from(found, tmp_path, monkeypatch, capsys):
    folder, before = found
    text = SCENE.format(
        method="spectral", control="iterations = 1\nshear = 0\npaths = 0", sides="walls", frames=8, more=""
    )
    (tmp_path / "scene.toml").write_text(text, encoding="utf-8")

    def keyfluid(*words):
        given = ("--from", folder, "--threads", 1, *words)
        monkeypatch.setattr("sys.argv", ["keyfluid", "run", str(tmp_path / "scene.toml"), *map(str, given)])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code or 0

    assert keyfluid("-o", tmp_path / "a") == 0
    assert course(open_run(tmp_path / "a"))[0] == pytest.approx(error(before), abs=1e-4)
    assert keyfluid("-o", tmp_path / "b", "--set", "time.fps=30") == 2
    assert "control.start" in capsys.readouterr().err
    assert not (tmp_path / "b").exists()


def test_means_of_carriers_weigh_time():
    grid = Grid((4, 4))
    one = Field.of(grid, Kind.FACES, np.ones((5, 4)), np.ones((4, 5)))
    carriers = [(0.1, one), (0.3, one * 2.0), (0.4, one * 5.0)]
    record = FrameRecord(1, {}, carriers=carriers)
    for part, mean in enumerate((1.75, 5.0)):
        np.testing.assert_allclose(mean_carrier(record, part, 2).data, mean, rtol=1e-6)
    np.testing.assert_allclose(mean_carrier(record, 0, 1).data, 2.7 / 0.8, rtol=1e-6)
