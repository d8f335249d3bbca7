"""The report of a run: its numbers are those of result.json, its charts say what they show."""

from __future__ import annotations

import json
import re

import pytest

from keyfluid.runs.report_charts import charts_of
from keyfluid.runs.report_content import MOST_ROWS, duration, keyframe_table, tiles
from keyfluid.runs.run import run

SCENE = """
name = "tiny"
[domain]
resolution = 16
[time]
frames = 4
[smoke]
initial = { shape = "disk", center = [0.4, 0.5], radius = 0.2, velocity = [0.3, 0.1] }
[[keyframe]]
frame = 2
shape = "disk"
radius = 0.2
[output]
vdb = false
size = 48
"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    return run(SCENE, folder, threads=1), folder


def test_numbers_are_those_of_result_json(finished):
    result, folder = finished
    stored = json.loads((folder / "result.json").read_text())
    assert stored == json.loads(json.dumps(result.metrics))
    text = (folder / "report.html").read_text(encoding="utf-8")
    shown = [float(value) for value in re.findall(r'<data value="([^"]*)">', text)]
    (key,) = stored["keyframes"]
    singles = [stored[name] for name in ("seconds", "peak_memory_mb", "mass_drift", "max_divergence", "force_norm")]
    for value in (*singles, key["relative_error"], key["iou"], key["mass_ratio"], key["bound"]):
        assert value in shown
    assert "relative_error" not in text
    assert "peak_memory_mb" not in text


def test_the_film_is_in_the_report_and_half_drawn_ones_too(finished, tmp_path):
    _, folder = finished
    data = re.search(r'id="player-data">(.*?)</script>', (folder / "report.html").read_text(), re.DOTALL)
    film = json.loads(data[1])["films"][0]
    assert film["frames"] == [0, 1, 2, 3, 4]
    assert [frame for frame, _ in film["targets"]] == [2]
    assert film["empty"] is not None
    run(SCENE + "video = false\n", tmp_path / "run", overrides=["time.frames=20"], threads=1)
    text = (tmp_path / "run" / "report.html").read_text()
    data = re.search(r'id="player-data">(.*?)</script>', text, re.DOTALL)
    frames = json.loads(data[1])["films"][0]["frames"]
    assert frames[0] == 0
    assert frames[-1] == 20
    assert 2 in frames
    assert f"{len(frames)} of 21 frames" in text


def test_iterations_are_on_a_log_axis_with_stages_as_bands():
    history = [{"iteration": k, "objective": 1.0, "error": 0.5**k, "stage": k // 3, "window": 0} for k in range(6)]
    frames = [{"frame": k, "mass": 0.2 + 1e-6 * k, "steps": min(k, 1), "divergence": 0.1 * k} for k in range(4)]
    (error,), constant = charts_of([*history, *frames], set(), 2)
    assert error.x_label == "iteration"
    assert error.logarithmic
    assert [(band.start, band.stop, band.label) for band in error.bands] == [(0, 3, "stage 1"), (3, 5, "stage 2")]
    assert constant == ["objective (1)", "amount of fluid (0.2)", "steps per frame (1)"]


def test_charts_join_fields_break_at_keyframes_and_show_what_is_new():
    frames = [{"frame": k, "error": 1.0 / (1 + k % 4), "gathered_a": 0.1 * k, "gathered_b": 0.2 * k, "heat_loss": k}
              for k in range(9)]  # fmt: skip
    charts, _ = charts_of(frames, {3, 7, 8}, 3)
    assert {chart.title: list(chart.curves) for chart in charts} == {
        "Distance to the next keyframe": ["error"], "Gathered": ["a", "b"], "Heat loss": ["heat loss"],
    }  # fmt: skip
    assert charts[0].breaks == [3, 8]
    assert charts[0].x_label == "frame"


def test_many_keyframes_are_summarised(finished):
    result, _ = finished
    (key,) = result.metrics["keyframes"]
    many = [{**key, "frame": k, "relative_error": 0.1 * (k % 7 + 1)} for k in range(5 * MOST_ROWS)]
    table = keyframe_table(result.problem, {**result.metrics, "keyframes": many})
    assert [row[0] for row in table.rows] == ["best", "median", "worst"]
    assert [row[2].text for row in table.rows] == ["0.100", "0.400", "0.700"]
    assert len(table.more) == len(many)
    assert tiles({**result.metrics, "keyframes": many})[0][1].value == pytest.approx(0.7)


def test_durations_are_read_easily():
    assert [duration(seconds).text for seconds in (4.494, 107.9, 7380.0)] == ["4.49 s", "1 min 48 s", "2 h 3 min"]
