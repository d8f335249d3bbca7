"""A finer film of a solved liquid: its surface stays with the run and its keyframes, and its volume with itself."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from scipy.ndimage import map_coordinates

from keyfluid.cli.main import main
from keyfluid.controllers.guided.liquid import SolvedLiquid
from keyfluid.controllers.guided.plan import GuidedPlan
from keyfluid.errors import KeyfluidError
from keyfluid.problem import Clock
from keyfluid.runs.other_runs import open_other_run
from keyfluid.runs.run import open_run, resume, run
from keyfluid.runs.upres import film_folder, upres_scene
from keyfluid.scenes import load_scene
from keyfluid.scenes.build.problem import build

WATER = """
name = "water"
[domain]
resolution = 24
[time]
frames = 8
[liquid]
initial = { shape = "disk", center = [0.4, 0.5], radius = 0.2 }
gravity = 2.0
[[keyframe]]
frame = 6
shape = "box"
center = [0.58, 0.5]
size = [0.4, 0.3]
[control]
method = "spectral"
iterations = 8
[output]
vdb = false
video = false
size = 32
"""


@pytest.fixture(scope="module")
def solved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("upres") / "water"
    run(load_scene(WATER), folder, threads=1)
    return folder


@pytest.fixture(scope="module")
def film(solved):
    return run(upres_scene(solved, 2), threads=1)


def surfaces(result):
    return [result.frames[index].surface for index in range(result.problem.frames + 1)]


def distances(phi, other):
    """From the surface of one level set to that of another, in cells of the other, which may have another grid."""
    found = []
    for axis in range(phi.ndim):
        line, along = np.moveaxis(phi, axis, 0), np.arange(phi.ndim)
        low, high = line[:-1], line[1:]
        where = np.array(np.nonzero((low < 0) != (high < 0)), float)
        index = tuple(where.astype(int))
        where[0] += low[index] / (low[index] - high[index])
        points = np.empty_like(where)
        points[np.concatenate([[axis], along[along != axis]])] = where
        scale = other.shape[0] / phi.shape[0]
        found.append(map_coordinates(other, (points + 0.5) * scale - 0.5, order=1, mode="nearest"))
    return np.abs(np.concatenate(found)) * other.shape[0]


def test_the_surface_stays_within_a_cell_of_the_run(solved, film):
    coarse = open_run(solved)
    assert film.problem.grid.cells == (48, 48)
    assert film.problem.steps_per_frame == 2
    for frame, (fine, run_s) in enumerate(zip(surfaces(film), surfaces(coarse))):
        if frame <= 6:
            assert distances(fine, run_s).max() < 1.0, frame
    free = run(upres_scene(solved, 2, ["control.strength=0.01", "control.near=0"]), threads=1)
    assert distances(surfaces(free)[6], surfaces(coarse)[6]).max() > 2.0
    scores = [result.metrics["keyframes"][0]["iou"] for result in (film, coarse)]
    assert scores[0] > scores[1] - 0.03
    assert film.metrics["solved"] == coarse.metrics["keyframes"]


def test_volume_is_kept_and_nothing_flows_apart(film):
    assert abs(film.metrics["liquid"]["volume_error"]) < 0.01
    assert film.metrics["max_divergence"] < 1e-4
    assert film.frames[3].carriers == []


def test_the_liquid_is_free_after_the_keyframe_and_its_release(solved):
    held, free = (
        run(upres_scene(solved, 2, [f"control.release={frames}", "control.turbulence=0"]), threads=1)
        for frames in (2, 0)
    )
    assert all(np.array_equal(a, b) for a, b in zip(surfaces(held)[:6], surfaces(free)[:6]))
    problem, frame = free.problem, free.frames[6]
    steps, state = problem.fluid.steps(problem), {**problem.start, "velocity": frame.velocity}
    state["surface"] = state["surface"].like(frame.surface.ravel())
    for index in (12, 13):
        state = steps.advance(state, Clock(index, 0.5 / problem.fps)).state
    assert np.array_equal(state["surface"].array, surfaces(free)[7])
    assert not np.array_equal(surfaces(held)[7], surfaces(free)[7])


def test_stopped_and_resumed_it_is_bit_identical_on_two_threads(solved, film, tmp_path):
    calls = iter(range(100))
    cut = run(upres_scene(solved, 2), tmp_path / "cut", threads=2, should_stop=lambda: next(calls) >= 7)
    assert not cut.finished
    again = resume(tmp_path / "cut", threads=1)
    for index in range(film.problem.frames + 1):
        one, other = film.frames[index], again.frames[index]
        assert one.surface.tobytes() == other.surface.tobytes(), index
        assert one.velocity.data.tobytes() == other.velocity.data.tobytes(), index


def test_what_is_followed_is_the_run_at_frames_and_is_carried_between(solved):
    problem = build(upres_scene(solved, 1))
    solved_liquid = SolvedLiquid(GuidedPlan.of(problem, open_other_run))
    coarse, fps = open_run(solved), problem.fps
    for frame in (2, 3):
        assert np.array_equal(solved_liquid.surface(frame / fps).array, coarse.frames[frame].surface)
    assert np.array_equal(solved_liquid.surface(0.0).array, coarse.frames[0].surface)
    carried = solved_liquid.surface(2.999 / fps).array
    near = np.abs(carried) < 2 * problem.grid.spacing
    gap = np.abs(carried - coarse.frames[3].surface)[near].max() / problem.grid.spacing
    still = np.abs(coarse.frames[2].surface - coarse.frames[3].surface)[near].max() / problem.grid.spacing
    assert gap < 0.35 * still
    # At a keyframe it is the keyframe, which the run has missed by a little.
    wanted = problem.fluid.wanted(problem, problem.keyframes[0])
    inside = np.abs(wanted) < problem.grid.spacing
    np.testing.assert_allclose(solved_liquid.surface(6 / fps).array[inside], wanted[inside], atol=0.01)


def test_eddies_roughen_the_surface_and_spray_leaves_it(solved):
    calm, rough, wild = (
        run(upres_scene(solved, 2, [f"control.turbulence={eddies}", f"control.spray={spray}"]), threads=1)
        for eddies, spray in ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0))
    )
    gaps = [distances(surfaces(result)[4], surfaces(calm)[4]).mean() for result in (rough, wild)]
    assert gaps[0] > 0.05
    assert gaps[1] > gaps[0]


def test_a_volume_with_files(tmp_path):
    import trimesh

    text = WATER.replace('"disk"', '"sphere"').replace("0.5]", "0.5, 0.5]").replace("[0.4, 0.3]", "[0.4, 0.35, 0.4]")
    changes = ["domain.size=[1.0,1.0,1.0]", "domain.resolution=12", "control.iterations=2", "time.frames=6"]
    run(load_scene(text, changes), tmp_path / "run", threads=1)
    scene = upres_scene(tmp_path / "run", 2, ["output.vdb=true", "output.video=true"])
    film = run(scene, tmp_path / "film", threads=1)
    assert abs(film.metrics["liquid"]["volume_error"]) < 0.01
    meshes = sorted((tmp_path / "film" / "mesh").glob("*.ply"))
    assert len(meshes) == len(list((tmp_path / "film" / "vdb").glob("*.vdb"))) == 7
    assert all(trimesh.load(path).is_watertight for path in meshes)
    assert (tmp_path / "film" / "report.html").exists()
    assert list((tmp_path / "film").glob("video.*"))


def test_one_run_makes_both(tmp_path):
    text = WATER.replace("iterations = 8", "iterations = 1") + "[upres]\nfactor = 2\nspray = 0.5\n"
    film = run(load_scene(text), tmp_path / "both", threads=1)
    assert film.folder == film_folder(tmp_path / "both")
    assert film.problem.control.spray == 0.5


@pytest.mark.parametrize(
    ("key", "value"),
    [("vorticity", "3.0"), ("buoyancy", "1.0"), ("polish", "5")],
    ids=["vorticity", "buoyancy", "polish"],
)
def test_keys_of_smoke_are_refused(key, value):
    with pytest.raises(KeyfluidError, match=rf"upres\.{key}: a film of liquid has none; remove it"):
        load_scene(WATER + f"[upres]\n{key} = {value}\n")


def test_spray_is_for_liquids():
    smoke = '[smoke]\ninitial = { shape = "disk" }\n[[keyframe]]\nframe = 4\nshape = "disk"\n[upres]\nspray = 0.5\n'
    with pytest.raises(KeyfluidError, match=r"upres\.spray: a film of smoke has none; remove it"):
        load_scene(smoke + '[control]\nmethod = "target"\n')


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--polish", "3"], "upres.polish: a film of liquid has none; remove it"),
        (["--set", "liquid.vorticity=2"], "liquid.vorticity"),
    ],
)
def test_the_command_says_so_in_one_line(solved, tmp_path, capsys, monkeypatch, words, line):
    monkeypatch.setattr(sys, "argv", ["keyfluid", "upres", str(solved), "-o", str(tmp_path / "film"), *words])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    (said,) = capsys.readouterr().err.strip().splitlines()
    assert line in said
    assert not (tmp_path / "film").exists()
