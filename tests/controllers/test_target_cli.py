"""Method target from the command line: faults are one line and exit code 2; targets that move are one per frame."""

from __future__ import annotations

import re
import sys

import pytest

import keyfluid
from keyfluid.cli.main import main

SCENE = """
name = "letter"
[domain]
resolution = 24
[time]
frames = 4
[smoke]
initial = { shape = "disk", center = [0.5, 0.5], radius = 0.2 }
[[keyframe]]
frame = 4
text = "F"
[control]
method = "target"
[output]
vdb = false
video = false
size = 32
"""

TWO_FIELDS = "smoke={field=[{name='a'},{name='b'}], initial=[{field='a', shape='disk', center=[0.5,0.5], radius=0.2}]}"


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        (["control.strength=-1"], r"control\.strength"),
        (["control.damping=-0.5"], r"control\.damping"),
        (["control.gathering=-2"], r"control\.gathering"),
        (["control.smoothing=-0.1"], r"control\.smoothing"),
        (["control.v_f=-1"], r"control\.v_f"),
        (["control.v_g=1e300"], r"control\.v_g"),
        (["control.strength=1e12"], r"control\.strength"),
        (["control.smoothing=nan"], r"control\.smoothing"),
        (["control.sigma=0"], r"control\.sigma"),
        (["control.speed=3"], r"control\.speed"),
        (["keyframe[0].center=[5.0,5.0]"], r"keyframe\[0\].*outside the domain"),
        (["keyframe[0].text=' '"], r"keyframe\[0\]"),
        ([TWO_FIELDS, "keyframe[0].field='a'"], r"'b' has no target"),
        (["keyframe=[]"], r"keyframe"),
    ],
)
def test_faults_are_one_line_and_exit_code_2(tmp_path, capsys, monkeypatch, changes, line):
    path = tmp_path / "scene.toml"
    path.write_text(SCENE)
    words = [word for change in changes for word in ("--set", change)]
    monkeypatch.setattr(sys, "argv", ["keyfluid", "run", str(path), "-o", str(tmp_path / "out"), *words])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr().err.strip().splitlines()
    assert ended.value.code == 2
    assert sum(bool(re.search(line, each)) for each in said) == 1, said
    assert not any("Traceback" in each for each in said)


def test_a_moving_target_is_met_in_every_frame_and_carried_to_the_last(tmp_path):
    trimesh = pytest.importorskip("trimesh")
    for index in range(4):
        ball = trimesh.creation.icosphere(2, 0.22)
        ball.apply_translation([0.02 * index, 0.0, 0.0])
        ball.export(tmp_path / f"ball.{index:04d}.obj")
    changes = {
        "resolution = 24": "size = [1.0, 0.9, 0.8]\nresolution = 20",
        '"disk", center = [0.5, 0.5]': '"sphere", center = [0.45, 0.45, 0.4]',
        'frame = 4\ntext = "F"': 'frame = 2\nuntil = 4\nmesh = "ball.####.obj"',
    }
    solid = SCENE
    for old, new in changes.items():
        assert old in solid
        solid = solid.replace(old, new)
    (tmp_path / "scene.toml").write_text(solid)
    result = keyfluid.run(tmp_path / "scene.toml")
    keys = result.metrics["keyframes"]
    assert [key["frame"] for key in keys] == [2, 3, 4]
    assert [key["transported_iou"] is None for key in keys] == [True, True, False]
    assert all(0 < key["relative_error"] < 1 for key in keys)
