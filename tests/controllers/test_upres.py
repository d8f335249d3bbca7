"""A finer film of a solved run: it follows the run, resumes bit-identically, and refuses what it can't follow."""

from __future__ import annotations

import json
import shutil
import sys
from itertools import pairwise

import numpy as np
import pytest

from keyfluid.cli.main import main
from keyfluid.controllers.guided.air import SolvedAir
from keyfluid.controllers.guided.eddies import Eddies
from keyfluid.errors import SceneError
from keyfluid.operators.long_waves import LongWaves
from keyfluid.runs.other_runs import open_other_run
from keyfluid.runs.run import open_run, resume, run
from keyfluid.runs.upres import film_folder, upres_scene
from keyfluid.scenes import load_scene
from keyfluid.scenes.build.problem import build

LETTER = """
name = "letter"
[domain]
resolution = 16
[time]
frames = 8
[smoke]
initial = { shape = "disk", center = [0.4, 0.5], radius = 0.2 }
[[keyframe]]
frame = 5
shape = "disk"
center = [0.6, 0.45]
radius = 0.2
[control]
method = "spectral"
iterations = 6
coarse = 0
[output]
vdb = false
video = false
size = 32
"""

BUSY = """
name = "busy"
[domain]
size = [1.0, 1.25]
resolution = 18
boundary = ["{sides}", "open"]
[time]
frames = 6
steps_per_frame = 2
[smoke]
buoyancy = 1.0
field = [{{ name = "a" }}, {{ name = "b" }}]
[[smoke.initial]]
field = "a"
shape = "disk"
center = [0.4, 0.6]
radius = 0.12
[[smoke.initial]]
field = "b"
shape = "disk"
center = [0.7, 0.6]
radius = 0.12
[[source]]
field = "a"
shape = "disk"
center = [0.5, 0.15]
radius = 0.08
velocity = [0.0, 0.4]
[[obstacle]]
shape = "disk"
center = [0.45, 0.9]
radius = 0.12
velocity = [0.2, 0.0]
[[keyframe]]
frame = 4
field = "a"
shape = "disk"
center = [0.5, 0.6]
[[keyframe]]
frame = 4
field = "b"
shape = "disk"
center = [0.75, 0.5]
[control]
method = "adjoint"
iterations = 1
coarse = 0
[output]
vdb = false
video = false
size = 32
"""


@pytest.fixture(scope="module")
def solved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("upres") / "letter"
    run(load_scene(LETTER), folder, threads=1)
    return folder


def film_of(folder, *changes, factor=3):
    return upres_scene(folder, factor, changes)


def arrays_of(result):
    return [
        {**frame.densities, "velocity": frame.velocity.data}
        for frame in map(result.frames.__getitem__, range(result.problem.frames + 1))
    ]


def test_the_film_has_the_long_waves_of_the_run(solved):
    coarse = open_run(solved)
    fine = run(film_of(solved, "time.steps_per_frame=1", "control.carriers=true", "control.turbulence=0"), threads=1)
    theirs, ours = (LongWaves(result.problem.grid, 4.0, np.dtype(np.float32)) for result in (coarse, fine))
    for frame in range(1, 6):
        (_, before), (_, after) = coarse.frames[frame].carriers[0], fine.frames[frame].carriers[0]
        for wanted, found in zip(theirs.of(before), ours.of(after)):
            np.testing.assert_allclose(found, wanted, atol=2e-3 * max(np.abs(w).max() for w in theirs.of(before)))
    assert fine.metrics["keyframes"][0]["iou"] > coarse.metrics["keyframes"][0]["iou"] - 0.06
    assert fine.metrics["max_divergence"] < 1e-5
    assert abs(fine.metrics["mass_drift"]) < 0.02
    assert fine.metrics["solved"] == coarse.metrics["keyframes"]


def test_the_smoke_is_handed_over_without_a_jolt(solved):
    fine = run(film_of(solved, "control.release=2"), threads=1)
    jumps = [np.linalg.norm(b["velocity"] - a["velocity"]) for a, b in pairwise(arrays_of(fine))]
    assert max(jumps[4:]) <= 2 * np.median(jumps[1:])


def test_the_air_goes_as_far_as_the_run_s_and_has_no_jumps(solved):
    other = open_other_run(str(solved))
    waves = LongWaves(other.problem.grid, 4.0, np.dtype(np.float32))
    air, fps = SolvedAir(other, waves, 5), other.problem.fps
    for frame in range(1, 6):
        ((_, velocity),) = other.record(frame).carriers
        begin, end = (frame - 1) / fps, frame / fps
        third = (end - begin) / 3
        thirds = [air.over(begin + i * third, begin + (i + 1) * third) for i in range(3)]
        just_before, just_after = air.over(end - 1e-5, end), air.over(end, end + 1e-5)
        for axis, whole in enumerate(waves.of(velocity)):
            size = np.abs(whole).max()
            np.testing.assert_allclose(air.over(begin, end)[axis], whole, atol=1e-6 * size)
            np.testing.assert_allclose(np.mean([part[axis] for part in thirds], axis=0), whole, atol=1e-5 * size)
            np.testing.assert_allclose(just_before[axis], just_after[axis], atol=1e-2 * size)
            assert np.abs(thirds[0][axis] - thirds[2][axis]).max() > 1e-2 * size
    for late, last in zip(air.over(1.0, 1.1), air.over(5 / fps, 6 / fps)):
        assert np.array_equal(late, last)


def test_frames_keep_velocities_only_when_asked(solved):
    lean = run(film_of(solved, "time.frames=5"), threads=1)
    assert lean.frames[3].carriers == []
    assert lean.frames.store.meta(3)["step_seconds"]
    assert lean.metrics["keyframes"][0]["transported_iou"] is None


def test_stopped_and_resumed_it_is_bit_identical(solved, tmp_path):
    scene = film_of(solved)
    whole = run(scene, tmp_path / "whole", threads=1)
    calls = iter(range(100))
    cut = run(scene, tmp_path / "cut", threads=2, should_stop=lambda: next(calls) >= 9)
    assert not cut.finished
    for before, after in zip(arrays_of(whole), arrays_of(resume(tmp_path / "cut", threads=1)), strict=True):
        for name, values in before.items():
            assert values.tobytes() == after[name].tobytes(), name


def test_one_run_makes_both_and_resumes_both(solved, tmp_path):
    text = LETTER + "[upres]\nfactor = 2\nturbulence = 0.0\nvorticity = 3.0\n"
    film = run(load_scene(text), tmp_path / "both", threads=1)
    assert film.folder == film_folder(tmp_path / "both")
    assert film.problem.grid.cells == (32, 32)
    assert film.problem.scene.smoke.vorticity == 3.0
    shutil.rmtree(film.folder)
    again = resume(tmp_path / "both", threads=1)
    assert again.folder == film.folder
    assert arrays_of(again)[-1]["density"].tobytes() == arrays_of(film)[-1]["density"].tobytes()
    with pytest.raises(SceneError, match="give a folder"):
        run(load_scene(text), threads=1)


@pytest.mark.parametrize("sides", ["walls", "periodic", "open"])
def test_bodies_sources_fields_and_sides(sides, tmp_path):
    run(load_scene(BUSY.format(sides=sides)), tmp_path / "busy", threads=1)
    fine = run(upres_scene(tmp_path / "busy", 2), threads=1)
    problem = fine.problem
    assert abs(fine.metrics["mass_drift"]) < 0.05
    assert fine.metrics["max_divergence"] < 1e-3
    for index in (2, 6):
        solid = problem.solids(index / problem.fps).solid
        for field in fine.frames[index].densities.values():
            assert not field[solid].any()


@pytest.mark.parametrize(
    "control",
    [
        'method = "target"',
        'method = "particles"\ncontrol_particles = 60',
        'method = "spacetime"\niterations = 2\nr = 50.0',
    ],
    ids=["target", "particles", "spacetime"],
)
def test_any_method_can_be_followed(control, tmp_path):
    text = LETTER.split("[control]")[0] + f"[control]\n{control}\n[output]" + LETTER.split("[output]")[1]
    coarse = run(load_scene(text), tmp_path / "run", threads=1)
    fine = run(upres_scene(tmp_path / "run", 2), threads=1)
    assert fine.metrics["keyframes"][0]["iou"] > coarse.metrics["keyframes"][0]["iou"] - 0.15


def test_a_volume(tmp_path):
    changes = ["domain.size=[1.0,0.8,1.0]", "domain.resolution=10", 'domain.boundary=["walls","open","periodic"]']
    text = LETTER.replace('"disk"', '"sphere"').replace("0.5]", "0.4, 0.5]").replace("0.45]", "0.4, 0.5]")
    coarse = run(load_scene(text, [*changes, "control.iterations=3", "control.paths=0"]), tmp_path / "run", threads=1)
    fine = run(upres_scene(tmp_path / "run", 2), threads=1)
    assert fine.problem.grid.cells == tuple(2 * n for n in coarse.problem.grid.cells)
    errors = [result.metrics["keyframes"][0]["relative_error"] for result in (coarse, fine)]
    assert errors[1] < errors[0] + 0.15
    assert abs(fine.metrics["mass_drift"]) < abs(coarse.metrics["mass_drift"]) + 0.05


def test_polish_brings_the_fine_smoke_to_the_keyframe(solved):
    rough = run(film_of(solved, "control.turbulence=0", factor=2), threads=1)
    fine = run(upres_scene(solved, 2, polish=4), threads=1)
    assert fine.metrics["method"] == "spectral"
    errors = [result.metrics["keyframes"][0]["relative_error"] for result in (rough, fine)]
    assert errors[1] < 0.9 * errors[0]
    assert fine.metrics["solved"] == rough.metrics["solved"]


def test_eddies_stir_only_smoke_that_moves(solved):
    problem = build(film_of(solved))
    eddies = Eddies(problem, 4.0, 1.0)
    state = problem.start
    assert eddies.force(state, 0.1).peak() == 0.0
    moving = {**state, "velocity": state["velocity"].like(state["velocity"].data + np.float32(1))}
    force = eddies.force(moving, 0.1)
    assert force.peak() > 1.0
    density = state["density"].array
    assert not force.component(0)[1:-1][(density[1:] == 0) & (density[:-1] == 0)].any()
    np.testing.assert_allclose(eddies.force({**moving, "velocity": 2.0 * moving["velocity"]}, 0.1).data, 4 * force.data,
                               rtol=1e-4, atol=1e-4)  # fmt: skip


@pytest.fixture
def told(capsys, monkeypatch):
    """What the command says and leaves by exit code 2."""

    def command(*words):
        monkeypatch.setattr(sys, "argv", ["keyfluid", "upres", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 2
        return capsys.readouterr().err.strip().splitlines()

    return command


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (["--factor", "16384"], "--factor"),
        (["--set", "domain.size=[1.0,2.0]"], "has another domain.size; give both the same"),
        (["--set", 'domain.boundary="open"'], "has another domain.boundary; give both the same"),
        (["--set", "control.cutoff=9"], "control.cutoff: 9 waves are more than both grids can hold; give at most 7"),
    ],
)
def test_faults_are_one_line(solved, tmp_path, told, change, line):
    said = told(solved, "-o", tmp_path / "film", *change)
    assert any(line in text for text in said)
    assert not any("Traceback" in text for text in said)
    assert not (tmp_path / "film").exists()


def test_a_factor_beyond_memory(solved, tmp_path, told, monkeypatch):
    monkeypatch.setattr("keyfluid.scenes.build.memory.memory_of_machine", lambda: 330 << 20)
    (line,) = told(solved, "-o", tmp_path / "film", "--factor", "64")
    assert "domain.resolution: 1024 takes about" in line
    assert "use at most" in line


def test_runs_that_can_not_be_followed(solved, tmp_path, told):
    free = LETTER.split("[[keyframe]]")[0] + "[output]\nvdb = false\nvideo = false\n"
    run(load_scene(free), tmp_path / "free", threads=1)
    run(load_scene(LETTER + 'keep = "scene"\n', ["control.iterations=1"]), tmp_path / "bare", threads=1)
    run(film_of(solved, factor=1), tmp_path / "fine", threads=1)
    (tmp_path / "pond").mkdir()
    (tmp_path / "pond" / "scene.toml").write_text('[liquid]\ninitial = { shape = "disk" }\n')
    shutil.copytree(solved, tmp_path / "open")
    result = json.loads((tmp_path / "open" / "result.json").read_text())
    (tmp_path / "open" / "result.json").write_text(json.dumps({**result, "status": "stopped"}))
    for name, why in (
        ("free", 'is a run of method "none"; give a run that steers to keyframes'),
        ("pond", 'is a run of method "none"; give a run that steers to keyframes'),
        ("open", "is not finished; finish it first: keyfluid resume"),
        ("bare", 'has kept no frames (output.keep = "scene")'),
        ("nowhere", "holds no run"),
    ):
        (line,) = told(tmp_path / name, "-o", tmp_path / "film")
        assert why in line
    (line,) = told(solved, "-o", tmp_path / "film", "--set", f"control.run={tmp_path / 'fine'}")
    assert "fine kept no velocities of its steps before frame 1" in line
    assert not (tmp_path / "film").exists()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (LETTER.split("[control]")[0] + "[upres]\n", 'method "none" steers no smoke'),
        (LETTER + 'keep = "scene"\n[upres]\n', "needs the frames of the run"),
        (LETTER + "[upres]\nfactor = 0\n", "upres.factor"),
    ],
)
def test_faults_of_the_table(text, why):
    with pytest.raises(Exception, match=why):
        load_scene(text)
