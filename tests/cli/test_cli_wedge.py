"""`keyfluid wedge`: the grid of values, what is shown and scored, and its page."""

from __future__ import annotations

import json

import numpy as np
import pytest

from browser import Browser
from keyfluid.cli.wedge import Score, scores_of, shown_frame, write_sheet
from keyfluid.cli.wedge_page import wedge_page
from keyfluid.errors import KeyfluidError
from keyfluid.runs.pictures import Painter
from keyfluid.runs.run import run
from keyfluid.runs.wedge import Wedge

SCENE = """
name = "tiny"
[domain]
resolution = 16
[time]
frames = 3
[smoke]
initial = { shape = "disk", center = [0.4, 0.5], radius = 0.2, velocity = [0.3, 0.1] }
[[keyframe]]
frame = 2
shape = "disk"
center = [0.6, 0.5]
radius = 0.2
[output]
vdb = false
video = false
size = 32
"""


@pytest.fixture(scope="module")
def two_keys():
    """Wind from the left, weak or strong, at two resolutions: the stronger it is, the nearer comes the smoke."""
    wedge = Wedge.of(["domain.resolution=12,16", "smoke.initial.velocity=[0.1,0.0],[0.9,0.0]"])
    return wedge, {label: run(SCENE, overrides=sets, threads=1) for label, sets in wedge.variants.items()}


def test_values_make_a_grid():
    wedge = Wedge.of(["camera.position=[1,2,3],[4,5,6]"])
    assert list(wedge.variants.values()) == [["camera.position=[1,2,3]"], ["camera.position=[4,5,6]"]]
    assert wedge.rows == [""]
    wedge = Wedge.of(["a.b=1,2", "c.d=x,y,z"])
    assert wedge.rows == ["b = 1", "b = 2"]
    assert wedge.columns == ["d = x", "d = y", "d = z"]
    assert wedge.grid()[1] == ["a.b=2+c.d=x", "a.b=2+c.d=y", "a.b=2+c.d=z"]
    assert Wedge.of(["a=1,2", "b=3,4", "c=5,6"]).rows[1] == "a = 1, b = 4"
    for faulty, message in (("buoyancy", "key=a,b,c"), ("a=1,1", "a value twice")):
        with pytest.raises(KeyfluidError, match=message):
            Wedge.of([faulty])


def test_the_keyframe_is_shown_and_runs_are_sorted_by_its_error(two_keys):
    _, results = two_keys
    scores = scores_of(results, None)
    errors = [score.error for score in scores.values()]
    assert {score.frame for score in scores.values()} == {2}
    assert errors == sorted(errors)
    assert list(scores) != list(results)
    assert [label.endswith("-0.9-0.0-") for label in scores] == [True, True, False, False]
    label, score = next(iter(scores.items()))
    assert score.error == results[label].metrics["keyframes"][0]["relative_error"]
    assert score.iou == results[label].metrics["keyframes"][0]["iou"]
    assert shown_frame(results[label].problem, 1) == 1


def test_scores_are_those_of_the_frame_or_the_worst_of_all():
    keys = [{"frame": 4, "relative_error": 0.5, "iou": 0.6}, {"frame": 8, "relative_error": 0.2, "iou": 0.9}]
    assert Score.of({"keyframes": keys}, 8) == Score(8, 0.2, 0.9)
    assert Score.of({"keyframes": keys}, 5) == Score(5, 0.5, 0.6, elsewhere=True)
    assert Score.of({"keyframes": []}, 5).line() == "frame 5"
    assert Score.of({"keyframes": [{"frame": 4, "relative_error": float("nan"), "iou": 1.0}]}, 4).error is None


def test_a_sheet_has_a_column_per_value_and_scores_below(two_keys, tmp_path, monkeypatch):
    wedge, results = two_keys
    drawn = []
    monkeypatch.setattr("keyfluid.cli.wedge.contact_sheet", lambda *content: drawn.append(content) or content)
    monkeypatch.setattr("keyfluid.cli.wedge.save_png", lambda path, picture: None)
    scores = scores_of(results, None)
    write_sheet(tmp_path / "sheet.png", wedge, results, scores)
    rows, heads, sides, title, _ = drawn[0]
    assert heads == [["velocity = [0.1,0.0]", "velocity = [0.9,0.0]"], []]
    assert sides == ["resolution = 12", "resolution = 16"]
    assert title == "frame 2"
    label = wedge.grid()[1][0]
    np.testing.assert_array_equal(
        rows[1][0].picture, Painter(results[label].problem, 384).frame(results[label].frames, 2)
    )
    assert rows[1][0].caption == f"error {scores[label].error:.3f} · IoU {scores[label].iou:.3f}"
    assert [[tile.best for tile in row].count(True) for row in rows].count(1) == 1


def test_a_sheet_shows_liquids_as_the_run_does(tmp_path, monkeypatch):
    drop = "[domain]\nresolution = 16\n[time]\nframes = 1\n[liquid]\ninitial = { shape = 'disk', radius = 0.3 }\n"
    result = run(drop, threads=1)
    drawn = []
    monkeypatch.setattr("keyfluid.cli.wedge.contact_sheet", lambda rows, *_: drawn.extend(rows[0]))
    monkeypatch.setattr("keyfluid.cli.wedge.save_png", lambda path, picture: None)
    wedge = Wedge.of(["time.frames=1"])
    results = dict.fromkeys(wedge.variants, result)
    write_sheet(tmp_path / "sheet.png", wedge, results, scores_of(results, None))
    painter, last = Painter(result.problem, 384), result.frames[-1]
    np.testing.assert_array_equal(drawn[0].picture, painter.frame(result.frames, 1))
    assert not np.array_equal(drawn[0].picture, painter.picture(last.densities, 1))


def test_the_page_sorts_and_plays_in_step(two_keys, tmp_path):
    wedge, results = two_keys
    scores = scores_of(results, None)
    path = tmp_path / "index.html"
    path.write_text(wedge_page("tiny <wedge>", wedge, results, scores), encoding="utf-8")
    with Browser(tmp_path / "profile") as browser:
        browser.open(path)
        places = "[...document.querySelectorAll('.tile')].map(t => [t.getBoundingClientRect().top, \
                  t.getBoundingClientRect().left, t.dataset.error])"
        as_given = [float(error) for *_, error in sorted(browser.ask(places))]
        assert as_given == [scores[label].error for label in results]
        choose = "(s => (s.value = 'error', s.dispatchEvent(new Event('change'))))(document.getElementById('sort'))"
        browser.ask(choose)
        assert [float(error) for *_, error in sorted(browser.ask(places))] == sorted(as_given)
        assert "Frame 2 of 3" in browser.ask("document.querySelector('[data-show=frame]').textContent")
        assert browser.faults == []


def test_wedge_makes_sheet_table_and_page(keyfluid, tmp_path):
    scene = tmp_path / "tiny.toml"
    scene.write_text(SCENE)
    words = ("wedge", scene, "domain.resolution=12,16", "-o", tmp_path / "w")
    code, _, err = keyfluid(*words, "--frame", "9")
    assert code == 2
    assert err == "keyfluid: --frame 9: is beyond the last frame of a run; give one between 0 and 3\n"
    code, out, err = keyfluid(*words, "--frame", "1")
    assert code == 0, err
    lines = out.splitlines()
    assert lines[-2:] == [str(tmp_path / "w" / "wedge.png"), str(tmp_path / "w" / "index.html")]
    table = json.loads((tmp_path / "w" / "wedge.json").read_text())
    errors = [entry["keyframes"][0]["relative_error"] for entry in table.values()]
    assert errors == sorted(errors)
    assert lines[0].startswith(f"{next(iter(table))}: error {errors[0]:.3f}")
    assert (tmp_path / "w" / "domain.resolution=12" / "result.json").exists()
    assert 'href="domain.resolution%3D12/report.html"' in (tmp_path / "w" / "index.html").read_text()
