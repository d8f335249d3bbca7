"""A resume knows its run: what differs from how it began is refused in one line, or accepted and said."""

from __future__ import annotations

import json
import shutil
import zipfile

import numpy as np
import pytest
from PIL import Image
from run_scenes import STILL, busy

import keyfluid
from keyfluid.io import container
from keyfluid.io.run import fingerprint
from keyfluid.io.run.record import MARKER, Record
from keyfluid.io.vdb import VdbGrid, write_vdb
from keyfluid.scenes import Scene
from keyfluid.scenes.build.inputs import FILE_KEYS, RUN_KEY, hashed_scene, input_files

SPECTRAL = STILL.replace("steps_per_frame = 2", "steps_per_frame = 1") + (
    '[control]\nmethod = "spectral"\niterations = 3\ncutoff = 3\ncoarse = 0\n'
)


def stopped(text, folder, after=3):
    """A run that was interrupted on its way."""
    calls = iter([False] * after + [True] * 1000)
    result = keyfluid.run(text, folder, threads=1, should_stop=lambda: next(calls))
    assert result.metrics["status"] == "stopped"
    return folder


def edit(folder, old, new):
    path = folder / "scene.toml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def refused(folder, *words, **options):
    with pytest.raises(keyfluid.KeyfluidError) as error:
        keyfluid.resume(folder, threads=1, **options)
    line = str(error.value)
    assert "\n" not in line
    for word in words:
        assert word in line
    return line


def frames_of(folder):
    return {path.name: path.read_bytes() for path in sorted((folder / "frames").glob("*.npz"))}


def test_keys_that_a_run_did_not_know_have_not_changed_while_they_are_at_their_defaults(tmp_path):
    folder = stopped(busy(), tmp_path / "run")
    marker = folder / MARKER
    header, *lines = marker.read_text().split("\n")
    older = json.loads(header)
    del older["scene"]["smoke"]["drag"], older["scene"]["smoke"]["heat_buoyancy"]
    marker.write_text("\n".join([json.dumps(older), *lines]))
    edit(folder, "drag = 0.0", "drag = 0.5")
    assert "heat_buoyancy" not in refused(folder, "smoke.drag was not given, is 0.5 since")
    edit(folder, "drag = 0.5", "drag = 0.0")
    assert keyfluid.resume(folder, threads=1).metrics["status"] == "finished"


def test_a_changed_scene_is_named(tmp_path):
    folder = stopped(busy(), tmp_path / "run")
    before = frames_of(folder)
    edit(folder, "buoyancy = 2.0", "buoyancy = -9.0")
    refused(folder, "smoke.buoyancy was 2.0, is -9.0", "undo the change, or add --accept-changes")
    assert frames_of(folder) == before
    seen = []
    result = keyfluid.resume(folder, threads=1, accept_changes=True, progress=seen.append)
    assert result.finished
    assert result.metrics["accepted_changes"] == ["smoke.buoyancy was 2.0, is -9.0"]
    assert any("smoke.buoyancy" in entry.get("note", "") for entry in result.metrics["history"])
    kept = frames_of(folder)
    assert {name: kept[name] for name in before} == before, "what there was stays"
    assert keyfluid.resume(folder, from_frame=1, threads=1).finished, "it is now this run"


def test_every_change_counts_also_a_key_that_was_not_given(tmp_path, monkeypatch):
    folder = stopped(busy(), tmp_path / "run")
    edit(folder, "rotation = 0.0", "rotation = 0.0\nfit = 0.5")
    refused(folder, "fit was not given, is 0.5 (and ", " more) since the run began")
    edit(folder, "\nfit = 0.5", "")
    edit(folder, "viscosity = 0.0", "viscosity = 0.1")
    edit(folder, "buoyancy = 2.0", "buoyancy = 3.0")
    refused(folder, "smoke.buoyancy was 2.0, is 3.0 (and 1 more) since")


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ("resolution = 20", "resolution = 24", "domain.resolution"),
        ("fps = 24.0", "fps = 30.0", "time.fps"),
        ('precision = "float32"', 'precision = "float64"', "simulation.precision"),
    ],
)
def test_what_the_state_depends_on_is_never_accepted(tmp_path, old, new, key):
    folder = stopped(busy(), tmp_path / "run")
    edit(folder, old, new)
    for options in ({}, {"accept_changes": True}):
        refused(folder, key, "run the changed scene in another folder", **options)


def test_an_optimisation_does_not_change_its_scene(tmp_path):
    folder = stopped(SPECTRAL, tmp_path / "run", 4)
    edit(folder, "cutoff = 3", "cutoff = 4")
    refused(folder, "control.cutoff was 3", "--from", accept_changes=True)
    edit(folder, "cutoff = 4", "cutoff = 3")
    assert keyfluid.resume(folder, threads=1).finished


def test_pictures_may_change(tmp_path):
    folder = stopped(busy(), tmp_path / "run")
    edit(folder, "size = 48", "size = 64")
    result = keyfluid.resume(folder, threads=1)
    assert result.finished
    assert "accepted_changes" not in result.metrics


def test_a_checkpoint_of_another_scene(tmp_path):
    folder = stopped(busy(), tmp_path / "run")
    other = stopped(busy().replace("buoyancy = 2.0", "buoyancy = 3.0"), tmp_path / "other")
    for name in ("checkpoint.npz", "checkpoint.before.npz"):
        shutil.copy(other / name, folder / name)
    refused(folder, "checkpoint.npz: is the checkpoint of another run", "--from")


def test_one_foreign_checkpoint_costs_one_frame(tmp_path):
    """The one before it is the run's own."""
    whole = keyfluid.run(busy(), tmp_path / "whole", threads=1)
    folder = stopped(busy(), tmp_path / "run")
    other = stopped(busy().replace("buoyancy = 2.0", "buoyancy = 3.0"), tmp_path / "other")
    shutil.copy(other / "checkpoint.npz", folder / "checkpoint.npz")
    assert keyfluid.resume(folder, threads=1).finished
    assert frames_of(folder) == frames_of(whole.folder)


def test_a_frame_under_another_name(tmp_path):
    run = keyfluid.run(busy(), tmp_path / "run", threads=1).folder
    shutil.copy(run / "frames" / "0003.npz", run / "frames" / "0005.npz")
    refused(run, "0005.npz: is frame 3 under another name", "--from 4 recomputes it")
    with pytest.raises(keyfluid.KeyfluidError, match="is frame 3 under another name"):
        keyfluid.open_run(run).frames[5]


def test_a_frame_of_another_run(tmp_path):
    run = keyfluid.run(busy(), tmp_path / "run", threads=1).folder
    other = keyfluid.run(busy().replace("buoyancy = 2.0", "buoyancy = 3.0"), tmp_path / "other", threads=1).folder
    shutil.copy(other / "frames" / "0005.npz", run / "frames" / "0005.npz")
    refused(run, "0005.npz: is a frame of another run")
    with pytest.raises(keyfluid.KeyfluidError, match="is a frame of another run"):
        keyfluid.open_run(run).frames[5]
    reader = STILL.replace("size = [1.0, 1.25]", "") + f'[[source]]\nrun = "{run}"\nrun_frame = 5\n'
    with pytest.raises(keyfluid.KeyfluidError, match="is a frame of another run"):
        keyfluid.build(keyfluid.load_scene(reader))


def test_the_same_scene_elsewhere_is_the_same_run(tmp_path):
    """Its frames are the same bits, so they may be exchanged."""
    first = keyfluid.run(busy(), tmp_path / "a", threads=1).folder
    second = keyfluid.run(busy(), tmp_path / "b", threads=1).folder
    shutil.copy(first / "frames" / "0005.npz", second / "frames" / "0005.npz")
    assert keyfluid.resume(second).finished


def test_a_frame_that_is_not_finite(tmp_path):
    run = keyfluid.run(busy(), tmp_path / "run", threads=1).folder
    arrays, meta = container.load_arrays(run / "frames" / "0004.npz")
    arrays["density"][3] = np.nan
    container.save_arrays(run / "frames" / "0004.npz", arrays, meta)
    refused(run, "0004.npz: density holds values that are not finite", "--from 3")
    with pytest.raises(keyfluid.KeyfluidError, match="not finite"):
        keyfluid.open_run(run).frames[4]


def test_another_library_for_the_transforms(tmp_path, monkeypatch):
    folder = stopped(busy(), tmp_path / "run")
    here = fingerprint.BACKEND
    monkeypatch.setattr(fingerprint, "BACKEND", "ducc0" if here == "scipy" else "scipy")
    refused(folder, f"computed by {here}", "--accept-changes")
    result = keyfluid.resume(folder, threads=1, accept_changes=True)
    assert "transforms" in result.metrics["accepted_changes"][0]


def test_another_version_or_processor_is_noted(tmp_path, monkeypatch):
    folder = stopped(busy(), tmp_path / "run")
    monkeypatch.setattr("keyfluid.runs.changes.__version__", "9.9.9")
    monkeypatch.setattr(fingerprint, "processor", lambda: ("arm64 apple-m9", ("neon",)))
    result = keyfluid.resume(folder, threads=1)
    assert result.finished
    notes = " ".join(entry.get("note", "") for entry in result.metrics["history"])
    assert "resumed with 9.9.9" in notes
    assert "resumed on arm64 apple-m9" in notes


def test_another_format_is_refused(tmp_path):
    folder = stopped(busy(), tmp_path / "run")
    record = Record.read(folder)
    record.header["format"] = 4
    record.write()
    refused(folder, "format 4", "this keyfluid reads 2 to 3")
    with pytest.raises(keyfluid.KeyfluidError, match="format 4"):
        keyfluid.open_run(folder)


def test_an_input_that_changed(tmp_path):
    picture = tmp_path / "drawing.png"
    Image.fromarray(np.tri(16, dtype=np.uint8) * 255).save(picture)
    text = STILL.replace('shape = "disk"\ncenter = [0.6, 0.5]\nradius = 0.2', f'image = "{picture}"')
    folder = stopped(text, tmp_path / "run")
    moved = tmp_path / "moved.png"
    picture.rename(moved)
    edit(folder, str(picture), str(moved))
    assert keyfluid.resume(folder, threads=1).finished, "the same content in another place"
    Image.fromarray(np.tri(16, dtype=np.uint8)[::-1] * 255).save(moved)
    refused(folder, "the content of keyframe[0].image has changed", "--accept-changes", from_frame=2)


def test_a_run_from_before_there_were_records(tmp_path):
    """Resumed on request; never replaced."""
    whole = keyfluid.run(busy(), tmp_path / "whole", threads=1)
    folder = stopped(busy(), tmp_path / "run")
    (folder / MARKER).unlink()
    for path in [*folder.glob("frames/*.npz"), *folder.glob("checkpoint*.npz")]:
        arrays, meta = container.load_arrays(path)
        del meta["run"]
        container.save_arrays(path, arrays, meta)
    refused(folder, "older keyfluid", "--accept-changes")
    assert keyfluid.open_run(folder).frames[1].index == 1, "it can be read"
    with pytest.raises(keyfluid.KeyfluidError, match="older keyfluid"):
        keyfluid.run(busy(), folder, overwrite=True)
    result = keyfluid.resume(folder, threads=1, accept_changes=True)
    assert result.metrics["accepted_changes"] == ["from an older keyfluid"]
    for ours, theirs in zip(result.frames, whole.frames):
        assert ours.densities["density"].tobytes() == theirs.densities["density"].tobytes()


@pytest.mark.parametrize("content", ["{}", "[]", "null", "{", "[" * 100_000, '{"status": "finished"}', "\0"])
def test_a_damaged_result_is_one_line(tmp_path, content):
    folder = keyfluid.run(STILL, tmp_path / "run", threads=1).folder
    (folder / "result.json").write_text(content)
    with pytest.raises(keyfluid.KeyfluidError, match=r"result\.json: is damaged; resume"):
        keyfluid.open_run(folder)
    assert keyfluid.resume(folder, threads=1).finished
    assert json.loads((folder / "result.json").read_text())["status"] == "finished"


def flag(path, offset, value, width=2):
    """Overwrite a header field in every entry of a zip."""
    content = bytearray(path.read_bytes())
    for mark, shift in ((b"PK\x03\x04", 0), (b"PK\x01\x02", 2)):
        place = content.find(mark)
        while place >= 0:
            content[place + offset + shift : place + offset + shift + width] = value.to_bytes(width, "little")
            place = content.find(mark, place + 4)
    path.write_bytes(content)


def deflated(path):
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries.items():
            archive.writestr(name, data + b"\0" * (50 << 20))


@pytest.mark.parametrize(
    "harm",
    [
        lambda path: flag(path, 6, 1),
        lambda path: flag(path, 8, 12),
        lambda path: flag(path, 8, 99),
        deflated,
        lambda path: container.save_arrays(path, {"x": np.zeros(3)}, {"deep": json.loads("[" * 900 + "]" * 900)}),
    ],
    ids=["encrypted", "bzip2", "unknown method", "bomb", "deep JSON"],
)
def test_hostile_run_files_are_damaged_files(tmp_path, harm):
    folder = keyfluid.run(STILL, tmp_path / "run", threads=1).folder
    harm(folder / "frames" / "0002.npz")
    refused(folder, "0002.npz: is", "--from 1 recomputes it")


def test_every_key_that_names_a_file_is_known():
    """A new one must be hashed too."""
    found = set()

    def walk(model):
        for name, field in model.model_fields.items():
            if any("absolute" in repr(item) for item in [field.annotation, *field.metadata]):
                found.add(name)
        for field in model.model_fields.values():
            for inner in models_in(field.annotation):
                if inner not in seen:
                    seen.add(inner)
                    walk(inner)

    def models_in(annotation):
        if isinstance(annotation, type) and hasattr(annotation, "model_fields"):
            yield annotation
        for part in getattr(annotation, "__args__", ()):
            yield from models_in(part)

    seen = {Scene}
    walk(Scene)
    assert found == {*FILE_KEYS, RUN_KEY, "start"}


def test_files_are_hashed_where_they_stand(tmp_path):
    np.save(tmp_path / "a.npy", np.ones((4, 4)))
    start = 'shape = "disk", center = [0.4, 0.5], radius = 0.2'
    scene = keyfluid.load_scene(STILL.replace(start, f'npy = "{tmp_path / "a.npy"}"'))
    assert hashed_scene(scene)["smoke"]["initial"][0]["npy"].startswith(fingerprint.FILE)
    write_vdb(tmp_path / "a.vdb", [VdbGrid("density", np.ones((2, 2, 1)))])
    scene = keyfluid.load_scene(STILL.replace(start, f'vdb = "{tmp_path / "a.vdb"}"'))
    before = hashed_scene(scene)["smoke"]["initial"][0]["vdb"]
    write_vdb(tmp_path / "a.vdb", [VdbGrid("density", np.ones((2, 3, 1)))])
    assert before != hashed_scene(scene)["smoke"]["initial"][0]["vdb"]


def test_a_mesh_s_buffer_is_an_input_too(tmp_path):
    triangle = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], np.float32).tobytes()
    (tmp_path / "body.bin").write_bytes(triangle)
    document = {"asset": {"version": "2.0"}, "buffers": [{"uri": "body.bin", "byteLength": len(triangle)}]}
    (tmp_path / "body.gltf").write_text(json.dumps(document))
    text = 'domain.size = [1, 1, 1]\nsmoke.initial = { shape = "sphere" }\nobstacle = [{ mesh = "%s" }]'
    scene = keyfluid.load_scene(text % (tmp_path / "body.gltf"))
    before = hashed_scene(scene)
    assert [path.name for path in input_files(scene)] == ["body.gltf", "body.bin"]
    (tmp_path / "body.bin").write_bytes(triangle[::-1])
    assert fingerprint.changed_keys(before, hashed_scene(scene)) == ["the content of obstacle[0].mesh has changed"]
