"""What a run leaves: the fields of result.json, files with the right content, and nothing where it could not begin."""

from __future__ import annotations

import json

import numpy as np
import pytest
from run_scenes import STILL, busy

import keyfluid
from keyfluid.io.vdb import read_vdb
from keyfluid.render import video_available
from keyfluid.runs.pictures import centred
from keyfluid.runs.run import open_run

FIELDS = [
    "method", "status", "keyframes", "mass_drift", "max_divergence", "force_norm", "iterations", "evaluations",
    "seconds", "peak_memory_mb", "threads", "history",
]  # fmt: skip
KEY_FIELDS = ["frame", "field", "relative_error", "iou", "mass_ratio", "bound", "transported_iou", "stray"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("finished") / "run"
    seen = []
    return keyfluid.run(busy(), folder, progress=seen.append), seen


def test_result_has_exactly_the_named_fields(finished):
    result, _ = finished
    written = json.loads((result.folder / "result.json").read_text())
    assert [name for name in written if name not in ("mass_left", "mass_may_change")] == FIELDS
    assert 0 <= written["mass_left"] < 0.01, "where a scene has open sides"
    assert written["mass_may_change"] == ["domain.boundary"], "where a scene has open sides"
    assert written["status"] == "finished"
    assert written["method"] == "none"
    assert written["keyframes"] == []
    assert [entry["frame"] for entry in written["history"]] == list(range(7))
    assert 0 < written["max_divergence"] < 1e-4
    assert written["force_norm"] == 0.0
    assert written["evaluations"] == 1


def test_all_files_are_there_and_nothing_else(finished):
    result, _ = finished
    names = {path.name for path in result.folder.iterdir()}
    video = {"video.webp", "video.mp4"} if video_available() else {"video.webp", "video.gif"}
    assert names == video | {
        ".keyfluid", "scene.toml", "result.json", "checkpoint.npz", "frames", "vdb",
        "strip.png", "report.html",
    }  # fmt: skip
    assert sorted(p.name for p in (result.folder / "frames").iterdir()) == [f"{i:04d}.npz" for i in range(7)]


def test_vdb_sequence_has_the_cells_where_they_are(finished):
    result, _ = finished
    files = sorted((result.folder / "vdb").iterdir())
    assert [path.name for path in files] == [f"busy.{1001 + i}.vdb" for i in range(7)]
    grids = {grid.name: grid for grid in read_vdb(files[5])}
    frame = result.frames[5]
    density, dx = grids["density"], result.problem.grid.spacing
    corner = density.transform @ [*density.first_index, 1]
    assert corner[:3] == pytest.approx([(i + 0.5) * dx for i in density.first_index])
    assert density.voxel_size == pytest.approx((dx, dx, dx))
    assert density.grid_class == "fog volume"
    assert density.data.shape[2] == 1
    values = frame.densities["density"]
    smoke = values > 1e-3 * result.problem.peaks["density"]
    rounded = np.where(smoke, values, 0).astype(np.float16)  # output.half
    assert np.array_equal(_dense(density, (*result.problem.grid.cells, 1))[:, :, 0], rounded.astype(np.float32))
    speed = _dense(grids["vel"], (*result.problem.grid.cells, 1))[:, :, 0]
    assert speed[smoke][:, 1] == pytest.approx(centred(frame.velocity)[1][smoke])
    assert not speed[..., 2].any()


def _dense(grid, cells):
    out = np.zeros((*cells, *grid.data.shape[3:]), np.float32)
    window = tuple(slice(f, f + n) for f, n in zip(grid.first_index, grid.data.shape[:3]))
    out[window] = grid.data
    return out


def test_the_resolved_scene_gives_the_same_run(finished, tmp_path):
    result, _ = finished
    again = keyfluid.run(result.folder / "scene.toml", tmp_path / "again")
    for index in range(7):
        name = f"frames/{index:04d}.npz"
        assert (again.folder / name).read_bytes() == (result.folder / name).read_bytes()


def test_progress_is_told(finished):
    _, seen = finished
    frames = [p for p in seen if p.unit == "frame"]
    assert [(p.done, p.total) for p in frames] == [(i, 6) for i in range(1, 7)]
    assert frames[-1].seconds_left > 0, "the outputs are still to come"
    assert {p.unit for p in seen} == {"frame", "vdb", "picture", "video", "report"}


def test_a_run_in_memory_has_the_same_frames(finished):
    result, _ = finished
    memory = keyfluid.run(busy())
    assert memory.folder is None
    assert len(memory.frames) == 7
    for kept, stored in zip(memory.frames, result.frames):
        assert kept.densities["density"].tobytes() == stored.densities["density"].tobytes()
        assert kept.velocity.data.tobytes() == stored.velocity.data.tobytes()


def test_sources_act_between_their_frames(finished):
    result, _ = finished
    emitted = [sum(frame.meta["emitted"].values()) for frame in result.frames]
    assert [mass > 1e-6 for mass in emitted] == [False, False, False, True, True, True, False]


def test_keyframes_are_scored(tmp_path):
    result = keyfluid.run(STILL, tmp_path / "still")
    (entry,) = result.metrics["keyframes"]
    assert list(entry) == KEY_FIELDS
    start, target = result.problem.densities["density"].array, result.problem.keyframes[0].target
    assert entry["relative_error"] == pytest.approx(np.linalg.norm(start - target) / np.linalg.norm(target), rel=1e-5)
    inside, wanted = start > 0.5, target > 0.5
    assert entry["iou"] == np.count_nonzero(inside & wanted) / np.count_nonzero(inside | wanted)
    assert entry["transported_iou"] == entry["iou"]
    assert entry["mass_ratio"] == pytest.approx(1.0, rel=1e-4)
    assert open_run(result.folder).metrics["keyframes"] == result.metrics["keyframes"]


def test_unknown_attribute_of_the_package():
    with pytest.raises(AttributeError, match="nonsense"):
        keyfluid.nonsense  # noqa: B018
