"""Whole runs: the same bits for any threads, after resuming and after replaying; faults; the extras."""

from __future__ import annotations

import json
import re
import sys

import numpy as np
import pytest
from particle_cases import SCENE

import keyfluid
from keyfluid.cli.main import main
from keyfluid.controllers.particles.lattice_effects import Projection
from keyfluid.controllers.particles.simulation import ParticleSimulation
from keyfluid.io.ply import read_ply
from keyfluid.operators.project import relative_divergence
from keyfluid.runs.watch import SceneWatch


def begun(*overrides):
    problem = keyfluid.build(keyfluid.load_scene(SCENE, overrides))
    simulation = ParticleSimulation(problem, problem.scene.control)
    simulation.begin()
    return simulation


def bits(result, index=-1):
    store = result.frames.store
    frame = store.read(store.indices()[index])
    return {name: values.tobytes() for name, values in frame.arrays.items()}, frame.meta["memory"]


def test_same_bits_for_threads_and_after_resuming(tmp_path):
    whole = keyfluid.run(SCENE, tmp_path / "one", threads=1, overrides=["control.ply=true"])
    assert len(whole.frames) == 6
    assert whole.metrics["method"] == "particles"
    wanted = bits(whole)
    again = keyfluid.run(SCENE, tmp_path / "two", threads=2, overrides=["control.ply=true"])
    assert bits(again) == wanted
    for frame in (0, 3):
        assert bits(keyfluid.resume(tmp_path / "two", from_frame=frame)) == wanted
    history = whole.metrics["history"]
    assert all({"energy", "teleports", "mean_speed", "vortices"} <= set(entry) for entry in history[1:])
    points = read_ply(tmp_path / "one" / "ply" / "small.1006.ply")
    stored = whole.frames[5].particles["density.markers"]
    assert np.array_equal(np.stack([points["x"], points["y"], points["z"]]), stored)
    assert points["red"].dtype == np.uint8
    assert len(points["vx"]) == stored.shape[1]


def test_stopped_run_goes_on_to_the_same_bits(tmp_path):
    wanted = bits(keyfluid.run(SCENE, tmp_path / "whole"))
    seen = []
    stopped = keyfluid.run(SCENE, tmp_path / "cut", progress=seen.append, should_stop=lambda: len(seen) >= 2)
    assert stopped.metrics["status"] == "stopped"
    assert bits(keyfluid.resume(tmp_path / "cut")) == wanted


def test_markers_are_the_mass_and_sources_add_to_it():
    result = keyfluid.run(SCENE)
    mass = [entry["mass"] for entry in result.metrics["history"]]
    assert mass[1] > mass[0]
    assert mass[3] > mass[2]
    assert mass[4] == pytest.approx(mass[3], rel=1e-5)
    assert abs(result.metrics["mass_drift"]) < 1e-4
    assert result.frames[5].particles["density.markers"].shape[1] == pytest.approx(3000, abs=3)
    assert result.frames[5].particles["density.targets"].shape == result.frames[5].particles["density.control"].shape


def test_changes_are_logged_and_replayed():
    live = keyfluid.LiveRun(SCENE)
    for _ in range(4):
        live.step()
        if live.frame == 1:
            live.set(strength=9.0, vortex_strength=1.0)
        if live.frame == 2:
            live.aim({"frame": 5, "shape": "sphere", "center": [0.3, 0.3, 0.4]})
    changes = json.loads(json.dumps(live.changes))
    again = keyfluid.LiveRun.replay(SCENE, changes, 4)
    assert np.array_equal(live.markers(), again.markers())
    plain = keyfluid.LiveRun.replay(SCENE, [], 4)
    assert not np.array_equal(live.markers(), plain.markers())
    assert live.picture(32).shape[2] == 3
    assert live.density().shape == live.problem.grid.cells
    with pytest.raises(keyfluid.SceneErrors, match=r"control\.strength"):
        live.set(strength=-1.0)


def test_watch_takes_up_control_and_draws(tmp_path):
    path = tmp_path / "scene.toml"
    path.write_text(SCENE)
    problem = keyfluid.build(keyfluid.load_scene(path))
    said, made = [], []

    def watch(folder):
        made.append(SceneWatch(problem, path, (), folder, said.append))
        return made[0]

    def progress(done):
        if done.done == 2 and done.unit == "frame":
            path.write_text(SCENE.replace("vortices = 80", "vortices = 80\nstrength = 9.0"))
        if done.done == 3 and done.unit == "frame":
            path.write_text("[control]\nmethod = 3\n")
        if done.done == 4 and done.unit == "frame":
            path.write_text(SCENE.replace("vortices = 80", "vortices = 80\ncontrol_radius = 0.001"))

    from keyfluid.runs.run import run_problem

    result = run_problem(problem, tmp_path / "out", False, progress, watch=watch)
    assert (tmp_path / "out" / "latest.png").stat().st_size > 500
    changes = json.loads((tmp_path / "out" / "changes.json").read_text())
    assert [(change["frame"], change["control"]["strength"]) for change in changes] == [(3, 9.0)]
    assert any("applied from frame 3" in line for line in said)
    assert sum("has errors" in line for line in said) == 2
    again = keyfluid.LiveRun.replay(SCENE, changes, 5)
    assert np.array_equal(again.markers(), result.frames[5].particles["density.markers"])
    resumed = keyfluid.resume(tmp_path / "out", from_frame=4)
    assert np.array_equal(again.markers(), resumed.frames[5].particles["density.markers"])


def test_strays_come_back_inside_and_only_strays_move():
    simulation = begun("control.vortices=0")
    for frame in (1, 2):
        simulation.frame(frame)
    cloud = simulation.clouds[0]
    cloud.markers.position[:, :300] = 0.95
    kept = cloud.markers.position[:, 300:].copy()
    cloud.redistribute(99, simulation.packed, simulation.lattice, 20 * cloud.markers.count)
    potential = cloud.densities.of(cloud.control.position, cloud.settings.control_radius)
    at = cloud.grid.sample(potential, cloud.markers.position)
    edge = 0.5 * cloud.grid.sample(potential, cloud.control.position).mean()
    assert cloud.teleports >= 300
    assert (at >= edge).mean() > 0.999
    before = cloud.grid.sample(potential, kept)
    same = np.all(kept == cloud.markers.position[:, 300:], axis=0)
    assert np.array_equal(same, before >= edge)


def test_projection_removes_divergence():
    simulation = begun()
    simulation.frame(1)
    bulk = simulation._bulk_velocity()
    projection = Projection(simulation.lattice)
    before = relative_divergence(projection.faces(bulk))
    projection.apply(bulk)
    assert relative_divergence(projection.faces(bulk)) < 0.5 * before


def test_extras_do_what_they_say():
    """Obstacles hold no markers, buoyancy lifts, containment brings strays nearer."""
    obstacle = "obstacle=[{shape='sphere', center=[0.45, 0.45, 0.4], radius=0.15}]"
    blocked = begun(obstacle)
    for frame in (1, 2, 3):
        blocked.frame(frame)
    free = begun()
    for frame in (1, 2, 3):
        free.frame(frame)
    centre = np.array([0.45, 0.45, 0.4])[:, None]
    depth = [np.linalg.norm(s.clouds[0].markers.position - centre, axis=0) < 0.1 for s in (blocked, free)]
    assert depth[0].sum() == 0 < depth[1].sum()
    lifted = begun("smoke.buoyancy=5.0")
    lifted.frame(1)
    plain = begun()
    plain.frame(1)
    assert lifted.clouds[0].markers.position[1].mean() > plain.clouds[0].markers.position[1].mean() + 0.005
    drawn = begun("control.contain=20.0", "control.redistributions=0")
    loose = begun("control.redistributions=0")
    far = []
    for simulation in (drawn, loose):
        for frame in (1, 2):
            simulation.frame(frame)
        gap = simulation.clouds[0].distance(2, 2 / 30, simulation.grid)
        far.append(np.maximum(simulation.grid.sample(gap, simulation.clouds[0].markers.position), 0).mean())
    assert far[0] < 0.8 * far[1]


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ("control.control_particles=3000", r"control.control_particles: .*don't fit into keyframe\[0\]"),
        ("control.control_radius=0.01", r"control.control_radius: .*less than a cell"),
        ("control.vortex_radius=0.01", r"control.vortex_radius: .*less than a cell of the velocities"),
        ("keyframe=[]", r"keyframe: method 'particles' needs a target"),
        ("keyframe[0].center=[5.0,5.0,5.0]", r"keyframe\[0\].*outside the domain"),
        ("keyframe[0].text=' '", r"keyframe\[0\]"),
    ],
)
def test_faults_are_one_line(tmp_path, capsys, monkeypatch, change, line):
    assert_fault(tmp_path, capsys, monkeypatch, SCENE, ["--set", change, "--set", "seed=1"], line)


def assert_fault(tmp_path, capsys, monkeypatch, scene, words, line):
    """The command line refuses the scene: exit code 2, one line that says why, no traceback."""
    path = tmp_path / "scene.toml"
    path.write_text(scene)
    monkeypatch.setattr(sys, "argv", ["keyfluid", "run", str(path), "-o", str(tmp_path / "out"), *words])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr().err.strip().splitlines()
    assert ended.value.code == 2
    assert sum(bool(re.search(line, each)) for each in said) == 1, said
    assert not any("Traceback" in each for each in said)


def test_topology_fault_and_affine_obj_sequence(tmp_path, capsys, monkeypatch):
    """An OBJ sequence that shears: target particles follow; one file with a face less is named."""
    trimesh = pytest.importorskip("trimesh")
    ball = trimesh.creation.icosphere(2, 0.2)
    for index in range(3):
        bent = ball.copy()
        bent.vertices[:, 0] += 0.3 * index * bent.vertices[:, 1]
        bent.export(tmp_path / f"walk.{index:04d}.obj")
    key = f'[[keyframe]]\nframe = 5\nmesh = "{tmp_path / "walk.####.obj"}"\n'
    scene = SCENE.split("[[keyframe]]")[0] + key + SCENE[SCENE.index("[control]") :]
    simulation = ParticleSimulation(problem := keyfluid.build(keyfluid.load_scene(scene)), problem.scene.control)
    simulation.begin()
    simulation.frame(1)
    posed = simulation.clouds[0]._posed
    rest, moved = posed.at(0.0), posed.at(1 / 30)
    middle = np.array(problem.grid.size) / 2
    assert np.allclose(moved[0] - rest[0], 0.3 * (rest[1] - middle[1]), atol=1e-6)
    bent.faces = bent.faces[:-1]
    bent.export(tmp_path / "walk.0002.obj")
    assert_fault(tmp_path, capsys, monkeypatch, scene, [], r"keyframe\[0\]\.mesh: .*topology")


def test_two_fields_keep_their_markers_apart():
    text = SCENE.replace(
        "[[source]]", "[[smoke.field]]\nname = 'a'\ncolour = 'orange'\n[[smoke.field]]\nname = 'b'\n[[source]]"
    ).replace("[[keyframe]]\nframe = 5", "[[keyframe]]\nfield = 'b'\nframe = 5")
    text = text.replace("velocity = [0.0, 0.4, 0.0]", "velocity = [0.0, 0.4, 0.0]\nfield = 'b'")
    result = keyfluid.run(text)
    names = {name for name in result.frames.store.read(5).arrays if name.endswith("markers")}
    assert names == {"particles.a.markers", "particles.b.markers"}
    assert result.frames[5].densities["a"].max() > 0.1
    assert result.frames[5].densities["b"].max() > 0.1
