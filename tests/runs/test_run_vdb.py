"""VDB grids of a run: names, colours of several fields, the up axis, targets."""

from __future__ import annotations

import numpy as np
import pytest

import keyfluid
from keyfluid.io.vdb import read_vdb
from keyfluid.runs.vdb_files import grids_of, write_frame

SCENE = """
[domain]
size = [1.0, 1.5, 0.5]
resolution = 12
[time]
frames = 1
[[smoke.field]]
name = "red"
colour = [1.0, 0.0, 0.0]
[[smoke.field]]
name = "blue"
colour = [0.0, 0.0, 1.0]
[[smoke.initial]]
field = "red"
shape = "sphere"
center = [0.4, 0.5, 0.25]
radius = 0.2
velocity = [0.1, 0.2, 0.4]
[[smoke.initial]]
field = "blue"
shape = "sphere"
center = [0.6, 0.5, 0.25]
radius = 0.2
[[keyframe]]
frame = 1
field = "blue"
shape = "sphere"
center = [0.6, 1.0, 0.25]
radius = 0.2
"""


def grids(*overrides):
    result = keyfluid.run(SCENE, overrides=overrides)
    return result, {grid.name: grid for grid in grids_of(result.problem, result.frames[1])}


def read_back(result, folder):
    """The file of frame 1, by name of grid."""
    write_frame(folder / "a.vdb", result.problem, result.frames[1])
    return {grid.name: grid for grid in read_vdb(folder / "a.vdb")}


def dense(grid, shape):
    full = np.zeros(shape + grid.data.shape[3:], grid.data.dtype)
    full[tuple(slice(f, f + n) for f, n in zip(grid.first_index, grid.data.shape))] = grid.data
    return full


def test_several_fields_have_a_sum_and_a_colour():
    result, found = grids()
    assert list(found) == ["red", "blue", "density", "Cd", "vel", "target"]
    red, blue = found["red"].data, found["blue"].data
    assert found["density"].data == pytest.approx(red + blue)
    both = (red > 0.01) & (blue > 0.01)
    assert both.any()
    share = red / np.where(red + blue > 0, red + blue, 1)
    assert found["Cd"].data[both][:, 0] == pytest.approx(share[both], rel=1e-5)
    assert found["target"].data == pytest.approx(result.problem.keyframes[0].target)


def test_z_up_turns_places_and_vectors_alike():
    _, upright = grids()
    result, turned = grids("output.up=z", "output.names=blender")
    assert {"velocity", "color"} <= set(turned)
    dx = result.problem.grid.spacing
    x, y, z, _ = turned["density"].transform @ [3, 7, 1, 1]
    assert (x, y, z) == pytest.approx((3.5 * dx, -1.5 * dx, 7.5 * dx))
    before, after = upright["vel"].data, turned["velocity"].data
    assert np.abs(before).max() > 0.05
    assert after[..., 0] == pytest.approx(before[..., 0])
    assert after[..., 1] == pytest.approx(-before[..., 2])
    assert after[..., 2] == pytest.approx(before[..., 1])


def test_only_smoke_above_the_threshold_is_active(tmp_path):
    """Values above it are unchanged in single precision; vectors and colours also lie in voxels that share a face."""
    result = keyfluid.run(SCENE, overrides=["time.frames=4", "keyframe[0].frame=4", "output.half=false"])
    frame, level = result.frames[1], 1e-3
    found = read_back(result, tmp_path)
    every = np.zeros(result.problem.grid.cells, bool)
    for name, values in frame.densities.items():
        smoke = values > level * result.problem.peaks[name]
        every |= smoke
        assert 0 < np.count_nonzero(smoke) < 0.9 * np.count_nonzero(values), "there is thin smoke to leave out"
        assert np.array_equal(dense(found[name], smoke.shape), np.where(smoke, values, 0))
    velocity = next(grid for grid in grids_of(result.problem, frame) if grid.name == "vel")
    near = velocity.active
    wider = np.pad(every, 1)
    beside = np.any([np.roll(wider, s, a) for a in range(3) for s in (-1, 1)], axis=0)[1:-1, 1:-1, 1:-1]
    assert np.array_equal(near, every | beside)
    stored = dense(found["vel"], every.shape)
    assert np.array_equal(stored[near], velocity.data[near].astype(np.float32))
    assert not stored[~near].any()


def test_without_a_threshold_every_voxel_is_stored(tmp_path):
    result = keyfluid.run(SCENE, overrides=["output.threshold=0", "output.half=false"])
    found = read_back(result, tmp_path)
    for name, values in result.frames[1].densities.items():
        assert np.array_equal(dense(found[name], values.shape), values)


def test_densities_are_halved_where_half_holds_them():
    def halved(*overrides):
        return {name for name, grid in grids(*overrides)[1].items() if grid.half}

    smoke = {"red", "blue", "density", "Cd", "target"}
    assert halved() == smoke
    assert halved("output.half=true") == smoke | {"vel"}
    assert halved("output.half=false") == set()
    assert halved("smoke.initial[0].density=1e5") == {"blue", "Cd"}, "beyond the largest half"
    assert halved("smoke.initial[1].density=0.01") == smoke - {"blue"}, "a thousandth of it is too small for a half"


def test_both_names():
    _, found = grids("output.names=both")
    assert list(found) == ["red", "blue", "density", "Cd", "color", "vel", "velocity", "target"]
    assert np.array_equal(found["vel"].data, found["velocity"].data)
    assert np.array_equal(found["Cd"].data, found["color"].data)


def test_grids_are_chosen():
    assert list(grids('output.grids=["density", "velocity"]')[1]) == ["red", "blue", "density", "vel"]
    assert list(grids('output.grids=["target"]')[1]) == ["target"]
    for wrong, words in (("[]", "at least one"), ('["vel"]', '"velocity"'), ('["surface"]', "is not a grid of smoke")):
        with pytest.raises(keyfluid.KeyfluidError, match=f"output.grids: .*{words}"):
            keyfluid.load_scene(SCENE, [f"output.grids={wrong}"])


def test_the_air_around_a_liquid_is_inactive():
    text = """
    [domain]
    resolution = 24
    [time]
    frames = 1
    [[liquid.initial]]
    shape = "disk"
    center = [0.4, 0.3]
    radius = 0.15
    velocity = [0.5, 0.0]
    """
    result = keyfluid.run(text)
    surface, velocity = grids_of(result.problem, result.frames[1])
    assert (surface.grid_class, surface.background) == ("level set", 3 / 24)
    assert np.array_equal(velocity.active[:, :, 0], result.frames[1].surface < 3 / 24)
    assert 0.05 < velocity.active.mean() < 0.5
