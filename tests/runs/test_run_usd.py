"""The USD stage of a run: when and where it is written, and what it says; tests/blender has the oracles."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import keyfluid
from keyfluid.cli.main import app
from keyfluid.io.usd import Asset, Prim, PrimPath, Samples, encode, layer_text, prim_name

SCENE = """
name = "a"
[domain]
resolution = 12
[time]
frames = 2
[smoke.initial]
shape = "disk"
radius = 0.2
[[obstacle]]
shape = "disk"
radius = 0.1
center = [0.2, 0.2]
velocity = [0.5, 0.0]
[[keyframe]]
frame = 2
shape = "disk"
[output]
video = false
"""


def test_values_and_prims_as_text() -> None:
    assert encode(True) == "true"
    assert encode(24.0) == "24"
    assert encode(0.1) == "0.1"
    assert encode('say "a"') == '"say \\"a\\""'
    assert encode([(1, 0.5), (2, 1.5)]) == "[(1, 0.5), (2, 1.5)]"
    assert encode(np.array([[1.25, 0, -3]])) == "[(1.25, 0, -3)]"
    assert encode(np.array([3, 4])) == "[3, 4]"
    assert (encode(Asset("./a.vdb")), encode(PrimPath("/a/b"))) == ("@./a.vdb@", "</a/b>")
    assert (prim_name("my-film.2"), prim_name("3d")) == ("my_film_2", "_3d")
    prim = Prim("Mesh", "a", {"kind": "component"}).set("float b", Samples({2: 0.5, 1: 1}))
    assert layer_text({"upAxis": "Z"}, [prim]) == (
        '#usda 1.0\n(\n    upAxis = "Z"\n)\n\ndef Mesh "a" (\n    kind = "component"\n)\n{\n'
        "    float b.timeSamples = {\n        1: 1,\n        2: 0.5,\n    }\n}\n"
    )


def test_a_run_writes_it_only_where_it_is_asked_for(tmp_path: Path) -> None:
    keyfluid.run(SCENE, tmp_path / "without")
    assert not (tmp_path / "without" / "a.usda").exists()
    keyfluid.run(SCENE, tmp_path / "with", overrides=["output.usd=true", "output.start_frame=5"])
    text = (tmp_path / "with" / "a.usda").read_text(encoding="utf-8")
    assert re.findall(r"@(.+?)@", text.split('"vel"')[0]) == [f"./vdb/a.000{number}.vdb" for number in (5, 6, 7)]
    assert "startTimeCode = 5\n" in text
    assert "endTimeCode = 7\n" in text
    assert 'token projection = "orthographic"' in text, "2D is seen straight on"
    assert "a.usda" in (tmp_path / "with" / ".keyfluid").read_text(encoding="utf-8"), "it is ours to replace"


def test_export_writes_it_beside_the_files_it_names(tmp_path: Path) -> None:
    run, elsewhere = tmp_path / "run", tmp_path / "elsewhere"
    keyfluid.run(SCENE, run, overrides=["output.vdb=false"])
    done = CliRunner().invoke(app, ["export", str(run), "--usd", "--names", "both", "-o", str(elsewhere)])
    assert done.exit_code == 0, done.output
    text = (elsewhere / "a.usda").read_text(encoding="utf-8")
    assert "@./a.1001.vdb@" in text
    assert {"vel", "velocity"} <= set(re.findall(r'def OpenVDBAsset "(\w+)"', text))
    assert all((elsewhere / name).is_file() for name in re.findall(r"@(.+?)@", text))
    done = CliRunner().invoke(app, ["export", str(run), "--usd"])
    assert done.exit_code == 0, done.output
    assert "@./vdb/a.1001.vdb@" in (run / "a.usda").read_text(encoding="utf-8")


def test_smoke_without_vdb_files_has_no_stage() -> None:
    with pytest.raises(keyfluid.KeyfluidError, match=r"output\.usd: refers to VDB files.*set it to true"):
        keyfluid.run(SCENE, overrides=["output.usd=true", "output.vdb=false"])


def test_live_files_are_there_before_the_run_ends(tmp_path: Path) -> None:
    seen = {}

    def watch(progress) -> None:
        if progress.unit == "frame":
            seen[progress.done] = len(list((tmp_path / "run" / "vdb").glob("*.vdb")))

    keyfluid.run(SCENE, tmp_path / "run", overrides=["output.live=true"], progress=watch)
    assert seen[1] >= 2, "frames 0 and 1, when frame 1 is reported"
    assert len(list((tmp_path / "run" / "vdb").glob("*.vdb"))) == 3
