"""Commands in this process, through `main`: what they print, what they write, and how faults end."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from keyfluid.cli import main as cli
from keyfluid.cli.main import with_preview_value

SCENE = """
name = "tiny"
[domain]
resolution = 16
[time]
frames = 2
[smoke]
initial = { shape = "disk", center = [0.4, 0.5], radius = 0.2, velocity = [0.3, 0.1] }
[output]
vdb = false
video = false
size = 32
"""


@pytest.fixture
def scene(tmp_path):
    path = tmp_path / "tiny.toml"
    path.write_text(SCENE)
    return path


def test_help_is_quick_and_imports_little():
    program = "import sys; sys.argv = ['keyfluid', '--help']\nfrom keyfluid.cli.main import main\n"
    program += "try: main()\nexcept SystemExit: print(*sys.modules)"
    seconds = []
    for _ in range(3):
        before = os.times()
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        after = os.times()
        # Time of the processor: how long one waits when the machine does nothing else.
        seconds.append(after.children_user + after.children_system - before.children_user - before.children_system)
    assert not {"numba", "scipy", "numpy", "pydantic", "PIL"} & set(done.stdout.split())
    assert min(seconds) < 0.5
    assert "resume" in done.stdout


def test_run_show_render_export(keyfluid, scene, tmp_path):
    code, out, _ = keyfluid("run", scene, "-o", tmp_path / "run", "--set", "domain.resolution=12", "--threads", "1")
    assert code == 0
    assert "3 frames" in out
    assert str(tmp_path / "run" / "report.html") in out
    assert "resolution = 12" in (tmp_path / "run" / "scene.toml").read_text()
    code, out, _ = keyfluid("show", tmp_path / "run")
    assert code == 0
    assert out.startswith("finished: method none, 3 frames")
    code, out, _ = keyfluid("show", tmp_path / "run", "--json")
    assert json.loads(out)["status"] == "finished"
    code, out, _ = keyfluid("render", tmp_path / "run", "--frame", "2", "--size", "40", "-o", tmp_path / "still")
    assert code == 0
    assert (tmp_path / "still" / "tiny.1003.png").stat().st_size > 100
    code, _, _ = keyfluid("export", tmp_path / "run", "-o", tmp_path / "vdb", "--names", "blender", "--half")
    assert code == 0
    assert len(list((tmp_path / "vdb").glob("tiny.*.vdb"))) == 3


def test_json_lines(keyfluid, scene, tmp_path):
    code, out, _ = keyfluid("run", scene, "-o", tmp_path / "run", "--json")
    lines = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    (estimate,) = (line for line in lines if line["event"] == "estimate")
    assert estimate["seconds"] > 0
    assert [line["done"] for line in lines if line["event"] == "progress" and line["unit"] == "frame"] == [1, 2]
    assert lines[-1]["event"] == "result"
    assert lines[-1]["status"] == "finished"
    (plan,) = (line for line in lines if line["event"] == "plan")
    assert (plan["method"], plan["cells"], plan["frames"]) == ("none", [16, 16], 2)


@pytest.mark.parametrize("method", ["target", "adjoint", "spacetime"])
def test_json_progress_has_the_error_of_each_keyframe(keyfluid, scene, tmp_path, method):
    scene.write_text(
        SCENE.replace("frames = 2", "frames = 3")
        + f"""
[[keyframe]]
frame = 2
shape = "disk"
center = [0.5, 0.5]
[[keyframe]]
frame = 3
shape = "disk"
center = [0.6, 0.5]
[control]
method = "{method}"
{"iterations = 2" if method != "target" else ""}
"""
    )
    code, out, err = keyfluid("run", scene, "-o", tmp_path / "run", "--json")
    assert code == 0, err
    told = [line for line in map(json.loads, out.splitlines()) if line["event"] == "progress" and line.get("errors")]
    assert {key for line in told for key in line["errors"]} == {"keyframe[0]", "keyframe[1]"}
    if method == "spacetime":
        assert all(line["error"] == max(line["errors"].values()) for line in told if line["unit"] == "iteration")


def test_json_has_the_faults_with_their_key_paths(keyfluid, scene, tmp_path):
    code, out, err = keyfluid("run", scene, "-o", tmp_path / "run", "--json", "--set", "domain.resolution=1")
    (line,) = map(json.loads, out.splitlines())
    assert code == 2
    assert line["event"] == "error"
    assert [fault["path"] for fault in line["faults"]] == ["domain.resolution"]
    assert f"keyfluid: domain.resolution: {line['faults'][0]['message']}" in err
    code, out, _ = keyfluid("resume", tmp_path / "none", "--json")
    assert code == 2
    assert json.loads(out)["message"].endswith("give the folder of a run")


def test_json_of_a_wedge_is_json(keyfluid, scene, tmp_path):
    code, out, _ = keyfluid("wedge", scene, "smoke.buoyancy=0,1", "-o", tmp_path / "w", "--json")
    lines = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    told = [(line["label"], line["done"], line["total"]) for line in lines if line["event"] == "variant"]
    assert told == [("smoke.buoyancy=0", 0, 2), ("smoke.buoyancy=1", 1, 2)]
    assert list(lines[-1]["scores"]) == ["smoke.buoyancy=0", "smoke.buoyancy=1"]


def test_preview_changes_the_resolution_and_draws_a_draft(keyfluid, scene, tmp_path):
    assert keyfluid("run", scene, "-o", tmp_path / "half", "--preview")[0] == 0
    assert keyfluid("run", scene, "--preview", "10", "-o", tmp_path / "ten")[0] == 0
    whole = keyfluid("run", scene, "-o", tmp_path / "whole")
    assert whole[0] == 0
    texts = {name: (tmp_path / name / "scene.toml").read_text() for name in ("half", "ten", "whole")}
    draft = 'film = "draft"\n'
    assert all(texts[name].count(draft) == 1 for name in ("half", "ten"))
    texts = {name: text.replace(draft, "") for name, text in texts.items()}
    assert texts["half"] == texts["whole"]  # 16 is the least that --preview alone goes to
    assert texts["ten"] == texts["whole"].replace("resolution = 16", "resolution = 10")
    assert with_preview_value(["run", "--preview", "x.toml"]) == ["run", "--preview", "0", "x.toml"]


def test_new_gives_a_scene_that_runs(keyfluid, tmp_path):
    path = tmp_path / "mine.toml"
    assert keyfluid("new", path)[0] == 0
    code, _, err = keyfluid("new", path)
    assert code == 2
    assert "--overwrite" in err
    code, _, err = keyfluid("run", path, "-o", tmp_path / "run", "--preview", "16", "--set", "time.frames=2",
                            "--set", "output.video=false", "--set", "output.vdb=false")  # fmt: skip
    assert code == 0, err


def test_gallery_lists_its_scenes(keyfluid):
    code, out, _ = keyfluid("gallery")
    assert code == 0
    assert {"plume_obstacle_2d", "plume_mesh_3d", "two_colours"} <= {line.split(" ")[0] for line in out.splitlines()}
    code, _, err = keyfluid("gallery", "nothing")
    assert code == 2
    assert "plume_mesh_3d" in err


def test_schema_is_json(keyfluid):
    code, out, _ = keyfluid("schema")
    assert code == 0
    assert "domain" in json.loads(out)["properties"]


FAULTS = {
    "unknown key": (SCENE.replace("resolution = 16", "resolutoin = 16"), "domain.resolutoin", "resolution"),
    "wrong type": (SCENE.replace("frames = 2", 'frames = "two"'), "time.frames", "'two'"),
    "not toml": (SCENE.replace("frames = 2", "frames = = 2"), "line 6", "TOML"),
    "missing file": (SCENE + '[[keyframe]]\nframe = 2\nimage = "no.png"\n', "keyframe[0].image", "no.png"),
    "late keyframe": (SCENE + '[[keyframe]]\nframe = 3\nshape = "disk"\n', "keyframe[0].frame", "3"),
    "beyond memory": (
        SCENE.replace("resolution = 16", "size = [1.0, 1.0, 1.0]\nresolution = 16384")
        .replace("[0.4, 0.5]", "[0.4, 0.5, 0.5]").replace("[0.3, 0.1]", "[0.3, 0.1, 0.0]").replace("disk", "sphere"),
        "domain.resolution", "GiB",
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_the_scene_is_a_line_and_exit_code_2(keyfluid, tmp_path, fault):
    text, key, word = FAULTS[fault]
    path = tmp_path / "faulty.toml"
    path.write_text(text)
    code, out, err = keyfluid("run", path, "-o", tmp_path / "run")
    assert code == 2
    assert out == ""
    assert len(err.splitlines()) == 1
    assert key in err
    assert word in err
    assert "Traceback" not in err
    assert not (tmp_path / "run").exists()


def test_faults_of_the_folder(keyfluid, scene, tmp_path):
    (tmp_path / "file").write_text("in the way")
    for words, message in (
        (("run", scene, "-o", tmp_path / "file" / "run"), "can't be written"),
        (("run", tmp_path / "no.toml", "-o", tmp_path / "run"), "no.toml"),
        (("resume", tmp_path), "holds no run"),
        (("show", tmp_path / "none"), "holds no run"),
    ):
        code, _, err = keyfluid(*words)
        assert code == 2
        assert message in err
        assert len(err.splitlines()) == 1
    assert keyfluid("run", scene, "-o", tmp_path / "run")[0] == 0
    before = (tmp_path / "run" / "result.json").read_bytes()
    code, _, err = keyfluid("run", scene, "-o", tmp_path / "run")
    assert code == 2
    assert "--overwrite" in err
    assert (tmp_path / "run" / "result.json").read_bytes() == before
    code, _, err = keyfluid("render", tmp_path / "run", "--set", "domain.resolution=8")
    assert code == 2
    assert "after a run" in err


def test_a_command_that_does_not_exist(keyfluid):
    assert keyfluid("runn")[0] == 2
    assert len(cli.COMMANDS) == 15


def test_a_scene_that_takes_long_to_draw_says_so(keyfluid, scene, tmp_path, monkeypatch):
    scene.write_text(SCENE + '[[keyframe]]\nframe = 1\nuntil = 2\nshape = "box"\n')
    code, _, err = keyfluid("run", scene, "-o", tmp_path / "quick")
    assert code == 0
    assert "drawing keyframe" not in err
    monkeypatch.setattr("keyfluid.runs.progress._PATIENCE", 0.0)
    code, _, err = keyfluid("run", scene, "-o", tmp_path / "slow")
    assert code == 0
    assert "drawing keyframe 1 of 2\n" in err
    assert "drawing keyframe 2 of 2\n" in err
