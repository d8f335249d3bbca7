"""Small things that a new user meets in the first hour; each was wrong once."""

from __future__ import annotations

import json
import math
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

import keyfluid as api
from keyfluid.errors import SceneErrors
from keyfluid.gallery import bundled
from keyfluid.runs.outputs import strip_frames
from keyfluid.runs.run import plan_run
from keyfluid.scenes import load_scene
from keyfluid.scenes.build.problem import build

ROOT = Path(__file__).parents[2]
QUIET = "[output]\nvdb = false\nvideo = false\nsize = 32\n"
RELEASED = f"""
name = "let_go"
[domain]
resolution = 16
[time]
frames = 6
[smoke]
initial = {{ shape = "disk", center = [0.4, 0.5], radius = 0.2 }}
[[keyframe]]
frame = 3
shape = "disk"
center = [0.5, 0.5]
[control]
method = "target"
release = true
{QUIET}"""


def strict(line):
    def refuse(word):
        raise AssertionError(f"{word} is not JSON")

    return json.loads(line, parse_constant=refuse)


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """A run of RELEASED, and its scene file."""
    folder = tmp_path_factory.mktemp("released")
    (folder / "scene.toml").write_text(RELEASED)
    api.run(folder / "scene.toml", folder / "run", threads=1)
    return folder


def test_errors_are_numbers_or_nothing_after_release(keyfluid, released, tmp_path):
    code, out, _ = keyfluid("run", released / "scene.toml", "-o", tmp_path / "run", "--json")
    lines = [strict(line) for line in out.splitlines()]
    errors = [line["error"] for line in lines if line.get("unit") == "frame"]
    assert code == 0
    assert all(math.isfinite(error) for error in errors[:3])
    assert errors[3:] == [None] * 3
    assert lines[-1]["words"] == json.loads((tmp_path / "run" / "result.json").read_text())["words"]


def test_the_same_scene_again_offers_what_to_do(keyfluid, released):
    code, _, err = keyfluid("run", released / "scene.toml", "-o", released / "run")
    assert code == 2
    assert "already holds this run, finished" in err
    assert "keyfluid show" in err
    result = released / "run" / "result.json"
    kept = result.read_text()
    result.write_text(kept.replace('"finished"', '"stopped"'))
    _, _, err = keyfluid("run", released / "scene.toml", "-o", released / "run")
    result.write_text(kept)
    assert f"already holds this run, unfinished; continue it: keyfluid resume {released / 'run'}" in err
    _, _, err = keyfluid("run", released / "scene.toml", "-o", released / "run", "--set", "smoke.buoyancy=2")
    assert "holds a run of another scene (smoke.buoyancy was 0.0, is 2.0)" in err


def test_a_still_has_the_number_of_its_vdb_file(keyfluid, released, tmp_path):
    code, out, err = keyfluid("render", released / "run", "--frame", "4", "-o", tmp_path / "still")
    assert code == 0
    assert out.strip() == str(tmp_path / "still" / "let_go.1005.png")
    assert "of 7" not in err
    keyfluid("export", released / "run", "-o", tmp_path / "vdb")
    assert (tmp_path / "vdb" / "let_go.1005.vdb").exists()


def test_the_final_list_has_meshes(keyfluid, tmp_path):
    drop = tmp_path / "drop.toml"
    drop.write_text(
        "name = 'drop'\n[domain]\nsize = [1.0, 1.0, 1.0]\nresolution = 8\n[time]\nframes = 1\n[liquid]\n"
        "initial = { shape = 'sphere', radius = 0.3 }\n" + QUIET
    )
    code, out, err = keyfluid("run", drop, "-o", tmp_path / "run")
    assert code == 0, err
    assert str(tmp_path / "run" / "mesh") in out.splitlines()


@pytest.mark.parametrize("command", ["run", "render"])
def test_help_keeps_names_of_tables(keyfluid, command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    _, out, _ = keyfluid(command, "--help")
    assert {"run": "Apply [control] whenever", "render": "as a [[picture]] sees it"}[command] in out


def test_the_starter_takes_a_keyframe_with_every_method(keyfluid, tmp_path):
    keyfluid("new", tmp_path / "mine.toml")
    text = (tmp_path / "mine.toml").read_text()
    commented = re.search(r"# \[\[keyframe\]\]\n(# .*\n)+", text)[0]
    text = text.replace(commented, commented.replace("# ", "", 1).replace("\n# ", "\n"))
    assert tomllib.loads(text)["keyframe"][0]["text"] == "F"
    for method in ("target", "particles", "adjoint", "spectral", "spacetime"):
        plan_run(build(load_scene(text, [f"control.method={method}", "domain.resolution=32"])))


def test_a_key_of_another_method_names_it():
    with pytest.raises(SceneErrors) as told:
        load_scene('[smoke]\ninitial = { shape = "disk" }\n[control]\nmethod = "spectral"\nreach = 0.6\nstrenth = 1\n')
    first, second = str(told.value).splitlines()
    assert first == 'control.reach: is a key of method "target", not of "spectral"; remove it, or change control.method'
    assert second.startswith("control.strenth: unknown key")


def test_descriptions_are_whole(keyfluid):
    _, out, _ = keyfluid("gallery")
    lines = dict(line.split(None, 1) for line in out.splitlines()[: len(bundled())])
    assert lines["spectral_face"].endswith("3D; minutes on one core.")
    assert all(line.rstrip().endswith(".") for line in lines.values())


@pytest.mark.parametrize(("last", "keys"), [(36, [35]), (72, [70, 71, 72]), (60, [11, 25, 60]), (4, [1, 2, 3, 4])])
def test_a_strip_has_no_near_duplicates(last, keys):
    chosen = strip_frames(list(range(last + 1)), keys)
    others = [frame for frame in chosen if frame not in keys]
    assert set(keys) <= set(chosen)
    assert chosen[0] == 0
    assert all(abs(frame - key) > last / 10 for frame in others for key in keys)
    assert len(chosen) >= min(last, 5)


def test_target_says_that_it_takes_gravity_away():
    text = RELEASED.replace("[smoke]", "[liquid]")
    (line,) = plan_run(build(load_scene(text))).lines
    assert "switches gravity off" in line
    assert "after frame 3" in line
    assert plan_run(build(load_scene(text, ["liquid.gravity=0"]))).lines == ()
    assert "no gravity while a keyframe acts" in (ROOT / "docs" / "scene_format.md").read_text()


def test_every_method_takes_colours_as_readme_says():
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert "quick preview" not in readme
    assert "Every method steers smoke of several colours" in readme
    assert "`--preview` (the same method on a coarser grid, with a draft film)" in readme
    fields = "".join(f'[[smoke.field]]\nname = "{name}"\n' for name in ("red", "blue"))
    bodies = "".join(
        f'[[smoke.initial]]\nfield = "{name}"\nshape = "disk"\ncenter = [{x}, 0.5]\nradius = 0.15\n'
        f'[[keyframe]]\nfield = "{name}"\nframe = 4\nshape = "disk"\ncenter = [{1 - x}, 0.5]\n'
        for name, x in (("red", 0.3), ("blue", 0.7))
    )
    for method in ("target", "particles", "adjoint", "spectral", "spacetime"):
        text = f'[domain]\nresolution = 32\n[time]\nframes = 4\n{fields}{bodies}[control]\nmethod = "{method}"\n'
        assert plan_run(build(load_scene(text))).problem.method == method


def test_smoke_that_leaves_is_not_drift():
    """A puff blown out of an open box: what is lost is counted as left, within a few per cent."""
    text = """
    [domain]
    resolution = 24
    boundary = "open"
    [time]
    frames = 20
    [smoke]
    initial = { shape = "disk", center = [0.5, 0.7], radius = 0.15, velocity = [0.3, 1.0] }
    """
    found = api.run(text, threads=1)
    masses = [found.frames.store.meta(index)["mass"]["density"] for index in (0, 20)]
    gone = 1 - masses[1] / masses[0]
    assert gone > 0.3
    assert found.metrics["mass_left"] == pytest.approx(gone, abs=0.05)
    assert found.metrics["mass_drift"] == pytest.approx(found.metrics["mass_left"] - gone, abs=1e-9)


def test_a_vent_gives_what_its_rate_says():
    """Half of it in the floor, from frame 2 to 6 of 8: in still air all that was announced is there, to rounding."""
    text = """
    [domain]
    resolution = 24
    [time]
    frames = 8
    [[obstacle]]
    shape = "box"
    center = [0.5, 0.125]
    size = [1.0, 0.25]
    [[source]]
    shape = "box"
    center = [0.5, 0.25]
    size = [0.25, 0.25]
    rate = 3.0
    start = 2
    stop = 6
    """
    found = api.run(text, threads=1)
    (vent,) = found.problem.sources
    announced = vent.emitted(8, found.problem.fps, found.problem.grid.spacing)
    there = float(found.frames[8].densities["density"].sum()) * found.problem.grid.cell_volume
    assert announced == pytest.approx(3.0 * 0.25 * 0.125 * 4 / 24, rel=1e-5)
    assert there == pytest.approx(announced, rel=1e-5)
    page = " ".join((ROOT / "docs" / "scene_format.md").read_text(encoding="utf-8").split())
    assert "Neither is what there is at the keyframe" in page


def test_liquid_in_bodies_is_not_counted():
    """The level set goes on into a body; the volume does not."""
    text = """
    [domain]
    resolution = 24
    [time]
    frames = 6
    steps_per_frame = 2
    [liquid]
    initial = { shape = "box", center = [0.2, 0.3], size = [0.4, 0.6] }
    [[obstacle]]
    shape = "disk"
    center = [0.6, 0.15]
    radius = 0.12
    """
    found = api.run(text, threads=1)
    frame, solid = found.frames[6], found.problem.solids(0.0).solid
    assert np.any(frame.surface[solid] < 0)
    assert not np.any(frame.densities["surface"][solid])
    assert abs(found.metrics["mass_drift"]) < 0.01


@pytest.mark.parametrize("velocity", [[0.0, -3.0], [1.0, -3.0]])
def test_a_splash_keeps_its_volume(velocity):
    """In every frame, while it splashes too; at an angle it gained 10 % once."""
    text = f"""
    [domain]
    resolution = 24
    [time]
    frames = 14
    [liquid]
    initial = {{ shape = "disk", center = [0.5, 0.6], radius = 0.2, velocity = {velocity} }}
    """
    found = api.run(text, threads=1)
    volumes = np.array([frame.densities["surface"].sum() for frame in found.frames])
    assert np.abs(volumes / volumes[0] - 1).max() < 0.02
    assert abs(found.metrics["liquid"]["volume_error"]) < 0.02
