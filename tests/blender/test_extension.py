"""The extension in Blender, headless: from its zip to the volume of a finished run; and what the panel says."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest
from blender_oracle import PYTHON, ROOT, ask, needs_blender

import keyfluid


def package_module() -> Any:
    spec = importlib.util.spec_from_file_location("keyfluid_blender_package", ROOT / ".ci" / "blender_package.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


package = package_module()
MANIFEST = package.tomllib.loads((package.SOURCE / "blender_manifest.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return package.build(tmp_path_factory.mktemp("dist"))


@pytest.fixture
def own_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLENDER_USER_RESOURCES", str(tmp_path / "blender"))


def test_the_zip_follows_the_rules(archive: Path) -> None:
    assert package.manifest_faults(MANIFEST, keyfluid.__version__) == []
    assert package.zip_faults(archive) == []
    assert archive.name == f"keyfluid-blender-{keyfluid.__version__}.zip"


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"tagline": "Ends with a full stop."}, "tagline"),
        ({"id": "Key-Fluid"}, "id"),
        ({"version": "9.9.9"}, "version"),
        ({"blender_version_min": "3.6.0"}, "blender_version_min"),
        ({"tags": ["Smoke"]}, "tags"),
        ({"license": ["GPL"]}, "license"),
        ({"maintainer": ""}, "maintainer"),
        ({"permissions": {"disk": "Write"}}, "permissions"),
    ],
)
def test_a_manifest_that_breaks_a_rule_is_seen(changes: dict[str, Any], fault: str) -> None:
    found = package.manifest_faults({**MANIFEST, **changes}, keyfluid.__version__)
    assert [line.split(":")[0] for line in found] == [fault]


@needs_blender
def test_blender_agrees(archive: Path) -> None:
    assert package.blender_says(archive, PYTHON.parents[1]) == ""


@needs_blender
@pytest.mark.usefixtures("own_settings")
def test_from_objects_to_a_film(archive: Path, tmp_path: Path) -> None:
    """Preview, Run, Stop, Resume, Re-solve; the growing film in the scene; saved and opened again; then a liquid."""
    found = ask("use_extension.py", archive, keyfluid_program(tmp_path), tmp_path / "files", timeout=600)
    every = [f"Smoke_box.{number:04d}.vdb" for number in range(1, 13)]
    for step in ("preview", "run", "solved_from", "liquid_run"):
        assert found[step]["state"] == "finished", found[step]
        assert found[step]["longest_look"] < 2, "the interface never waits for a run"
    assert len(found["preview"]["frames_seen"]) > 3, "the sequence grew in the scene"
    assert found["preview_files"] == found["run_files"] == every
    assert found["stopped"]["state"] == "stopped"
    assert 3 <= found["frames_when_stopped"] < 12
    volume = found["volume"]
    assert volume["place"] == pytest.approx([2.0, 0.5, 0.0]), "the domain's lowest corner"
    assert volume["velocity"] == ["velocity", "SECOND"]
    assert "PRINCIPLED_VOLUME" in volume["shader"]
    assert volume["blur"]
    ((frame, error, overlap),) = found["scores"]
    assert (frame, found["markers"]) == (10, {"keyfluid Word": 10})
    assert 0 < error < 2
    assert 0 < overlap <= 1
    assert found["reopened"] == {
        "role": "DOMAIN", "damping": 2.0, "volume": "Smoke box fluid", "files": every[:2], "scores": 1,
    }  # fmt: skip
    assert found["objects"] == ["Drop", "Pillar", "Tank", "Tank fluid", "Tank liquid"]
    assert [vertices > 100 for vertices, _, _ in found["liquid"]] == [True] * 5
    heights = [low for _, low, _ in found["liquid"]]
    assert heights == sorted(heights, reverse=True), "it falls"
    assert all(speed > 0.1 for _, _, speed in found["liquid"]), "velocities for motion blur"

    folder = tmp_path / "files" / "keyfluid" / "Smoke_box"
    first = {path.name: path.read_bytes() for path in (folder / "vdb_of_run").iterdir()}
    solved = {path.name: path.read_bytes() for path in (folder / "run" / "vdb").iterdir()}
    assert [name for name in every if first[name] == solved[name]] == every[:6], "frames up to 6 are kept"

    # Without Blender: the same scene folder gives the same bits, the damping being what it was for the run.
    keyfluid.run(keyfluid.load_scene(folder / "scene.toml", ["control.damping=1.0"]), tmp_path / "by_hand")
    assert {path.name: path.read_bytes() for path in (tmp_path / "by_hand" / "vdb").iterdir()} == first


@needs_blender
@pytest.mark.usefixtures("own_settings")
def test_what_the_panel_says(archive: Path, tmp_path: Path) -> None:
    said = ask("break_extension.py", archive, tmp_path / "files")
    expected = {
        "unsaved": "save the .blend first",
        "not found": "is not keyfluid; correct the path in the preferences",
        "another version": "keyfluid 0.0.7 was found and this extension needs",
        "failing": "smoke.buoyancy: is nonsense; lower it",
        "killed": "possibly out of memory; lower the resolution",
        "not executable": "correct the path in the preferences",
        "fine": "finished",
        "no volume": "Sheet: has no volume; close its holes",
        "outside": "Far: lies outside the domain; move it in",
        "late keyframe": "Word: its keyframe is at frame 90; move its marker",
        "marker moved": "Word: its keyframe is at frame 70; move its marker",
        "tilted": "clear its rotation",
        "no fluid": "give an object the role Start or Source",
        "two domains": "There are two domains, Smoke box and Second; keep one",
        "nothing to resume": "press Run",
        "progress": "keyfluid: frame 1 of 4, 2 min left",
        "pressed twice": "stop it first",
        "stopped": "press Resume to continue",
    }
    assert {key: words in said[key] for key, words in expected.items()} == dict.fromkeys(expected, True), said


SLOW_PROGRAM = """#!{python}
import sys, time

sys.path.insert(0, {source!r})
from keyfluid.cli.main import main
from keyfluid.runs import vdb_files

write = vdb_files.write_vdb


def slowly(*arguments):
    time.sleep(0.2)
    write(*arguments)


vdb_files.write_vdb = slowly
main()
"""


def keyfluid_program(folder: Path) -> Path:
    """The keyfluid under test as a program; every frame takes it as long as in a real film, so that one can watch."""
    path = folder / "keyfluid"
    path.write_text(SLOW_PROGRAM.format(python=sys.executable, source=str(ROOT / "src")), encoding="utf-8")
    path.chmod(0o755)
    return path
