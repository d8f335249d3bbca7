"""Each fault of a scene: its key path and what to do; all of them at once."""

from __future__ import annotations

import time
from typing import Annotated, Literal

import numpy as np
import pytest
from PIL import Image
from pydantic import Field, ValidationError
from scene_texts import LETTER, VOLUME, letter, write_scene

from keyfluid.controllers.free.settings import FreeSettings
from keyfluid.errors import KeyfluidError, SceneErrors
from keyfluid.scenes import Scene, load_scene
from keyfluid.scenes.build.problem import build
from keyfluid.scenes.schema.bodies import Table
from keyfluid.scenes.schema.faults import from_validation
from keyfluid.tables import Positive


def faults_of(text, overrides=(), folder=None):
    """Key paths and lines of the faults of a scene, of loading or of building it."""
    with pytest.raises(SceneErrors) as caught:
        build(load_scene(text if folder is None else write_scene(folder, text), list(overrides)))
    assert all("\n" not in str(fault) for fault in caught.value.faults)
    assert str(caught.value).splitlines() == [str(fault) for fault in caught.value.faults]
    return {fault.key: fault.message for fault in caught.value.faults}


@pytest.mark.parametrize(
    ("overrides", "key", "words"),
    [
        (["domian.size=[1,1]"], "domian", "did you mean 'domain'"),
        (["smoke.initial.raduis=1"], "smoke.initial.raduis", "did you mean 'radius'"),
        (["keyframe[0].zzz=1"], "keyframe[0].zzz", "known keys: "),
        (["domain.resolution=12.5"], "domain.resolution", "12.5 is not allowed; give a whole number"),
        (["domain.resolution='a'"], "domain.resolution", "whole number from 4 to 16384"),
        (["domain.resolution=2"], "domain.resolution", "from 4 to 16384"),
        (["domain.size=[1,1,1,1]"], "domain.size", "2 or 3 lengths"),
        (["domain.size=[1,0]"], "domain.size", "2 or 3 lengths"),
        (["domain.size=[1,0.01]"], "domain.size", "domain.resolution 200"),
        (["domain.boundary=wall"], "domain.boundary", '"walls", "periodic" or "open"'),
        (["domain.boundary=['walls','open','open']"], "domain.boundary", "3 words for 2 axes"),
        (["domain.up=z"], "domain.up", "needs a 3D domain"),
        (["time.fps=nan"], "time.fps", "a number from"),
        (["time.frames=0"], "time.frames", "from 1 to"),
        (["time.steps_per_frame=often"], "time.steps_per_frame", '"auto"'),
        (["smoke.viscosity=-1"], "smoke.viscosity", "at least 0"),
        (["smoke.initial=[]"], "smoke.initial", "there is no smoke"),
        (["smoke.initial.density=1e38"], "smoke.initial.density", "a number above 0, at most 1e+12 in size"),
        (["smoke.initial.center=[1e13,0]"], "smoke.initial.center", "one per axis, at most 1e+12 in size"),
        (["smoke.buoyancy=-inf"], "smoke.buoyancy", "a number, at most 1e+12 in size"),
        (["smoke.initial.height=1"], "smoke.initial.height", "a disk has no height"),
        (["smoke.initial.font=x"], "smoke.initial.font", "a disk has no font"),
        (["smoke.initial.center=[1,1,1]"], "smoke.initial.center", "the domain is 2D"),
        (["smoke.initial.rotation=[1,1,1]"], "smoke.initial.rotation", "in 2D give one"),
        (["smoke.initial.shape=cone"], "smoke.initial.shape", "needs a 3D domain"),
        (["smoke.initial.shape=dsk"], "smoke.initial.shape", "did you mean 'disk'"),
        (["smoke.initial.field=x"], "smoke.initial.field", "not a field"),
        (["smoke.field=[{name='a'},{name='a'}]"], "smoke.field[1].name", "another field"),
        (["smoke.field=[{name='vel'}]"], "smoke.field[0].name", "another grid"),
        (["smoke.field=[{name='a',colour='oragne'}]"], "smoke.field[0].colour", "did you mean 'orange'"),
        (["smoke={}", "liquid={colour='oragne'}"], "liquid.colour", "did you mean 'orange'"),
        (["source=[{shape='disk',rate=1,density=1}]"], "source[0].rate", "keep only one"),
        (["source=[{shape='disk',start=40}]"], "source[0].start", "0 to 39"),
        (["source=[{shape='disk',start=9,stop=5}]"], "source[0].stop", "not after start"),
        (["source=[{shape='disk',stop=99}]"], "source[0].stop", "after the last"),
        (["source=[{}]"], "source[0]", "give one of shape, text"),
        (["source={}"], "source", "[[source]]"),
        (["obstacle=[{text='a'}]"], "obstacle[0].text", "unknown key"),
        (["obstacle=[{shape='box',velocity=[1,0],path=[]}]"], "obstacle[0].velocity", "keep only one"),
        (
            ["obstacle=[{shape='box',path=[{frame=3,center=[0,0]},{frame=3,center=[0,0]}]}]"],
            "obstacle[0].path[1].frame",
            "in order of time",
        ),
        (["keyframe[0].frame=0"], "keyframe[0].frame", "smoke.initial"),
        (["keyframe[0].frame=41"], "keyframe[0].frame", "after the last; use 1 to 40"),
        (["keyframe[0].frame=1.5"], "keyframe[0].frame", "whole number"),
        (["keyframe=[{text='a'}]"], "keyframe[0].frame", "is missing"),
        (["keyframe[0].until=50"], "keyframe[0].until", "40 to 40"),
        (
            ["keyframe=[{frame=4,text='a'},{frame=4,text='b'}]"],
            "keyframe[1].frame",
            "keyframe[0] has a keyframe of 'density' at frame 4",
        ),
        (["keyframe=[{frame=4,text='a',hold=7},{frame=9,text='b'}]"], "keyframe[0].hold", "at most 4"),
        (["keyframe[0].shape=disk"], "keyframe[0].text", "keep only one"),
        (["keyframe[0].mass=big"], "keyframe[0].mass", '"resize"'),
        (["keyframe[0].weight=-1"], "keyframe[0].weight", "at least 0"),
        (["keyframe[0].mask=3"], "keyframe[0].mask", "not a table"),
        (["control.method=magic"], "control.method", '"none"'),
        (["control=3"], "control", "not a table"),
        (["camera.position=[0.5,0.375,0]", "camera.look_at=[0.5,0.375,0]"], "camera.position", "looks at"),
        (["smoke.initial.mass=first-key", "keyframe=[]"], "smoke.initial.mass", "needs a keyframe"),
        (["keyframe[0].text='  '"], "keyframe[0].text", "nothing visible"),
        (['keyframe[0].text="a\\u4e2d"'], "keyframe[0].text", "no glyph"),
        (["keyframe[0].center=[4,4]"], "keyframe[0].text", "outside the domain"),
        (["smoke.initial.center=[-4,4]"], "smoke.initial.shape", "outside the domain"),
        (["source=[{shape='disk',center=[9,9]}]"], "source[0].shape", "outside the domain"),
        (["keyframe[0].mask={shape='disk',center=[9,9]}"], "keyframe[0].mask", "holds no cell"),
        (["smoke.initial.mass=0.9"], "smoke.initial.mass", "touches the walls"),
        (["smoke.initial.mass=1.3", "smoke.initial.radius=0.3"], "smoke.initial.mass", "touches the walls"),
        (["obstacle=[{shape='box',size=9}]"], "obstacle", "fills the whole box"),
        (
            ["domain.size=[1,1,1]", "smoke.initial.center=[0,0,0]", "domain.resolution=9999"],
            "domain.resolution",
            "GiB",
        ),
        (
            ["smoke.initial=[]", "source=[{shape='disk',start=20}]", "keyframe[0].frame=5"],
            "keyframe[0].frame",
            "no smoke of 'density' by frame 5",
        ),
    ],
)
def test_fault(overrides, key, words):
    found = faults_of(LETTER, overrides)
    assert key in found
    assert words in found[key]


def test_all_faults_are_told_at_once():
    found = faults_of(LETTER, ["domain.resolution=1", "time.fp=3", "keyframe[0].frame='x'", "outptu={}"])
    assert set(found) == {"domain.resolution", "time.fp", "keyframe[0].frame", "outptu"}
    assert set(faults_of(LETTER, ["keyframe[0].text=' '", "smoke.initial.center=[7,7]"])) == {
        "keyframe[0].text",
        "smoke.initial.shape",
    }


@pytest.mark.parametrize("kind", ["image", "mesh", "vdb", "npy"])
def test_missing_files(kind, tmp_path):
    name = {"image": "a.png", "mesh": "a.obj", "vdb": "a.vdb", "npy": "a.npy"}[kind]
    found = faults_of(VOLUME + f'[[keyframe]]\nframe = 3\n{kind} = "{name}"\n', folder=tmp_path)
    assert "does not exist" in found[f"keyframe[0].{kind}"]
    assert name in found[f"keyframe[0].{kind}"]


def test_missing_font_and_absurd_paths(tmp_path):
    assert "does not exist" in faults_of(LETTER, ["keyframe[0].font=no.ttf"])["keyframe[0].font"]
    assert "too long" in faults_of(LETTER, [f"keyframe[0].font={'x' * 3000}"])["keyframe[0].font"]
    assert "keyframe[0].font" in faults_of(LETTER, ['keyframe[0].font="a\\u0000b"'])


def test_image_without_content(tmp_path):
    Image.new("L", (8, 8), 120).save(tmp_path / "grey.png")
    found = faults_of(LETTER.replace('text = "F"', 'image = "grey.png"'), folder=tmp_path)
    assert "no content" in found["keyframe[0].image"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\n", "open"),
        ("# nothing\n", "mesh"),
        ("v 0 0 0\nv 1 0 0\nf 1 2 9\n", "mesh"),
    ],
)
def test_open_empty_and_broken_meshes(content, words, tmp_path):
    (tmp_path / "a.obj").write_text(content)
    for table in ("[[keyframe]]\nframe = 3\n", "[[obstacle]]\n"):
        found = faults_of(VOLUME + table + 'mesh = "a.obj"\n', folder=tmp_path)
        ((key, message),) = found.items()
        assert key in ("keyframe[0].mesh", "obstacle[0].mesh")
        assert words in message


def test_npy_with_nan_zero_mass_and_wrong_axes(tmp_path):
    text = LETTER.replace('text = "F"\nfit = 0.6', 'npy = "a.npy"')
    for values, words in (
        (np.array([[0.0, np.nan], [1.0, 0.0]]), "NaN"),
        (np.zeros((4, 4)), "no mass"),
        (np.ones((4, 4, 4)), "axes"),
    ):
        np.save(tmp_path / "a.npy", values)
        assert words in faults_of(text, folder=tmp_path)["keyframe[0].npy"]


def test_truncated_vdb(tmp_path):
    (tmp_path / "a.vdb").write_bytes(b" BDV\0\0\0\0" + b"\xe0\0\0\0" + b"\1" * 20)
    text = LETTER.replace('text = "F"\nfit = 0.6', 'vdb = "a.vdb"')
    assert "a.vdb" in faults_of(text, folder=tmp_path)["keyframe[0].vdb"]


def test_mesh_in_2d(tmp_path):
    (tmp_path / "a.obj").write_text("")
    found = faults_of(LETTER.replace('text = "F"\nfit = 0.6', 'mesh = "a.obj"'), folder=tmp_path)
    assert "3D" in found["keyframe[0].mesh"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[domain]\nsize = [1, 2\nx = 1", "line 3"),
        ("name = \n", "line 1"),
        ("name = 'a'\nname = 'b'\n", "line 2"),
        ("x = 1" + "0" * 5000 + "\n", "out of range"),
        ("x = " + "[" * 5000 + "\n", "nested too deeply"),
        ("x = " + "{a=" * 5000 + "\n", "nested too deeply"),
        ("a." * 100_000 + "a = 1\n", "32 parts"),
        ("['a'" + ".'a'" * 100_000 + "]\n", "32 parts"),
        ('"\\"".' + "a." * 100_000 + 'a = "x"\n', "32 parts"),
        ("# " + "x" * 2_000_000 + "\n", "longer than 1 MiB"),
    ],
)
def test_toml_that_does_not_parse(text, words):
    with pytest.raises(SceneErrors, match=words):
        load_scene(text)


def test_files_that_are_no_scene(tmp_path):
    path = tmp_path / "a.toml"
    for content in (b"\xff\xfe\x00", b"x" * (1 << 21)):
        path.write_bytes(content)
        with pytest.raises(SceneErrors):
            load_scene(path)
    for missing in (tmp_path / "none.toml", tmp_path, "nul\0byte"):
        with pytest.raises(KeyfluidError, match="can't be read"):
            load_scene(missing)


def test_many_dots_in_text_and_numbers_are_fine():
    dots = "." * 60
    path = ", ".join(f"{{frame = {k}.5, center = [0.{k}1, 0.25]}}" for k in range(40))
    scene = letter(f"keyframe[0].text='{dots}'")
    assert scene.keyframe[0].text == dots
    text = LETTER + f'[[obstacle]]\nshape = "box"\npath = [{path}] # {dots}\n'
    assert len(load_scene(text).obstacle[0].path) == 40


class Pull(Table):
    method: Literal["pull"] = "pull"
    strength: Positive = 1.0


class TwoMethods(Scene):
    control: Annotated[FreeSettings | Pull, Field(discriminator="method")] = FreeSettings()


@pytest.mark.parametrize(
    ("control", "line"),
    [
        ({"method": "pull", "strenght": 2}, "control.strenght: unknown key; did you mean 'strength'?"),
        ({"method": "none", "strength": 2}, 'control.strength: is a key of method "pull", not of "none"; remove it'),
        ({"method": "pulll"}, "control.method: 'pulll' is not known (did you mean 'pull'?)"),
        ({"method": "pull", "strength": -1}, "control.strength: -1 is not allowed; give a number above 0"),
        ({}, "control.method: is missing"),
    ],
)
def test_faults_of_a_method_among_several(control, line):
    data = {"control": control}
    with pytest.raises(ValidationError) as caught:
        TwoMethods.model_validate(data)
    assert str(from_validation(caught.value, data, TwoMethods)).startswith(line)


@pytest.mark.parametrize(
    ("entries", "key", "words"),
    [
        ("keyframe = [" + "{}," * 300_000 + "]", "keyframe", "a list of 300000 is not allowed; give at most 2000"),
        ("source = [" + "{}," * 501 + "]", "source", "at most 500 tables"),
        ("obstacle = [" + "{}," * 501 + "]", "obstacle", "at most 500 tables"),
        ("picture = [" + "{}," * 501 + "]", "picture", "at most 500 tables"),
        ("flow = [" + "{}," * 501 + "]", "flow", "at most 500 tables"),
        ("smoke.initial = [" + "{}," * 501 + "]", "smoke.initial", "at most 500 tables"),
        ("smoke.field = [" + "{}," * 33 + "]", "smoke.field", "at most 32 tables"),
        ("liquid.initial = [" + "{}," * 501 + "]", "liquid.initial", "at most 500 tables"),
        ("obstacle = [{path = [" + "{}," * 2001 + "]}]", "obstacle[0].path", "at most 2000 tables"),
        ('control = {method = "adjoint", blur = [' + "1.0," * 21 + "]}", "control.blur", "at most 20 widths"),
        (
            "time.frames = 100000\nkeyframe = [{shape = 'disk', frame = 1, until = 1500}, "
            "{shape = 'box', frame = 1501, until = 100000}]",
            "keyframe", "asks for 100000 targets, one per frame of `until`; use at most 2000",
        ),
    ],
    ids=lambda value: value[:20],
)  # fmt: skip
def test_lists_longer_than_anybody_needs_are_one_quick_line(entries, key, words):
    began = time.process_time()
    with pytest.raises(SceneErrors) as caught:
        load_scene(entries + ("" if "initial" in entries else '\nsmoke.initial = {shape = "disk"}'))
    assert time.process_time() - began < 2.0
    (fault,) = caught.value.faults
    assert fault.key == key
    assert words in fault.message


def test_as_many_keyframes_as_there_may_be():
    scene = load_scene('time.frames = 4000\nsmoke.initial = {shape = "disk"}\nkeyframe = [{shape = "box", frame = 9, '
                       "until = 2008}]")  # fmt: skip
    assert scene.keyframe[0].until == 2008


def test_nobody_reads_a_thousand_faults():
    with pytest.raises(SceneErrors) as caught:
        load_scene("source = [" + "{}," * 400 + "]")
    assert len(caught.value.faults) == 100
