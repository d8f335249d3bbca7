"""Python: arrays and dicts as scenes, errors that are ours, plain numbers, and results that show themselves."""

from __future__ import annotations

import base64
import io
import re

import numpy as np
import pytest
from PIL import Image

import keyfluid

X, Y = np.meshgrid(np.linspace(0, 1, 32), np.linspace(0, 1, 32), indexing="ij")
BLOB = np.exp(-((X - 0.35) ** 2 + (Y - 0.45) ** 2) / 0.02)


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def small(**changes):
    smoke = {"initial": BLOB}
    return {"domain": {"resolution": 16}, "time": {"frames": 3}, "smoke": smoke, "output": {"size": 48}, **changes}


def test_arrays_go_in_and_come_out(tmp_path):
    key = {"frame": 3, "npy": np.roll(BLOB, 6, axis=0)}
    data = small(keyframe=[key], control={"method": "target"})
    result = keyfluid.run(data, tmp_path / "run")
    start = result.frames[0].densities["density"]
    assert start == pytest.approx(BLOB.reshape(16, 2, 16, 2).mean(axis=(1, 3)), abs=1e-6)
    assert data["smoke"]["initial"] is BLOB
    again = keyfluid.open_run(tmp_path / "run")
    assert np.array_equal(again.frames[-1].densities["density"], result.frames[-1].densities["density"])
    assert keyfluid.resume(tmp_path / "run").finished
    assert len(list((tmp_path / "cache" / "keyfluid" / "arrays").iterdir())) == 2


@pytest.mark.parametrize(
    "initial", [BLOB, [BLOB], {"npy": BLOB}, [{"npy": BLOB, "density": 1.0}], {"npy": BLOB.astype(np.float32)}]
)
def test_every_way_to_give_a_start(initial):
    scene = keyfluid.scene_from(small(smoke={"initial": initial}))
    assert keyfluid.build(scene).densities["density"].array.max() == pytest.approx(1.0, abs=0.05)


def test_numpy_numbers_are_numbers():
    scene = keyfluid.scene_from(
        small(
            domain={"resolution": np.int64(16), "size": np.array([1.0, 0.5])},
            smoke={"buoyancy": np.float32(0.5), "initial": BLOB},
        )
    )
    assert scene.domain.size == [1.0, 0.5]
    assert scene.smoke.buoyancy == 0.5


@pytest.mark.parametrize(
    ("initial", "fault"),
    [
        (BLOB - 1, "smoke.initial: the array holds negative density"),
        ({"npy": BLOB * np.nan}, "smoke.initial.npy: the array holds NaN"),
        ([{"npy": np.zeros(4)}], r"smoke.initial\[0\].npy: the array has shape"),
    ],
)
def test_wrong_arrays_are_named(initial, fault):
    with pytest.raises(keyfluid.SceneErrors, match=fault):
        keyfluid.scene_from(small(smoke={"initial": initial}))


@pytest.mark.parametrize("call", [keyfluid.run, keyfluid.load_scene, keyfluid.scene_from])
def test_wrong_types_are_our_errors(call):
    with pytest.raises(keyfluid.KeyfluidError, match=r"takes a .*not int"):
        call(3)
    with pytest.raises(keyfluid.SceneErrors, match="smoek: unknown key; did you mean 'smoke'"):
        keyfluid.run({"smoek": {}})


def test_a_scene_is_not_edited_but_made_again():
    scene = keyfluid.scene_from(small())
    with pytest.raises(keyfluid.KeyfluidError, match=r"Domain.resolution: a scene can't be changed.*scene_from"):
        scene.domain.resolution = 64
    with pytest.raises(keyfluid.KeyfluidError, match=r"Scene\.smoke"):
        del scene.smoke
    other = keyfluid.scene_from(scene, overrides=["domain.resolution=20"])
    assert (other.domain.resolution, scene.domain.resolution) == (20, 16)
    assert keyfluid.preview(scene, 8).domain.resolution == 8
    assert keyfluid.run(scene, overrides=["time.frames=1"]).problem.frames == 1


def kinds(node):
    if isinstance(node, dict):
        return set().union(*[kinds(value) for value in node.values()], {str})
    if isinstance(node, list):
        return set().union(*[kinds(value) for value in node])
    return {type(node)}


def test_metrics_are_plain():
    result = keyfluid.run(small(keyframe=[{"frame": 3, "shape": "disk"}], control={"method": "target"}))
    assert kinds(dict(result.metrics)) <= {str, int, float, bool, type(None)}
    assert type(result.metrics["keyframes"][0]["iou"]) is float


@pytest.mark.parametrize("in_folder", [False, True])
def test_a_result_shows_its_film(tmp_path, in_folder):
    data = small(keyframe=[{"frame": 3, "shape": "disk"}], control={"method": "target"})
    page = keyfluid.run(data, tmp_path / "run" if in_folder else None)._repr_html_()
    assert not re.search(r'(src|href)="(?!data:)', page)
    film = Image.open(io.BytesIO(base64.b64decode(re.search(r'src="data:image/webp;base64,([^"]+)"', page)[1])))
    assert film.n_frames == 4
    assert "<td>density</td>" in page


def test_progress_outside_a_notebook_is_printed(capsys):
    keyfluid.run(small(), progress=keyfluid.NotebookProgress())
    assert "frame 3 of 3" in capsys.readouterr().out


def test_progress_in_a_notebook_changes_in_place(monkeypatch):
    shown = []

    class Handle:
        def update(self, markup):
            shown.append(markup)

    class Ipython:
        get_ipython = staticmethod(object)

    class Shown:
        HTML = str
        display = staticmethod(lambda markup, display_id: Handle())

    monkeypatch.setitem(__import__("sys").modules, "IPython", Ipython)
    monkeypatch.setitem(__import__("sys").modules, "IPython.display", Shown)
    keyfluid.run(small(), progress=keyfluid.NotebookProgress())
    assert '<progress value="100.0" max="100"' in shown[-1]
    assert "frame 3 of 3" in shown[-1]
