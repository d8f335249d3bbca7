"""`keyfluid wedge`: the grid of values, what is shown and scored, and its page."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from browser import Browser
from keyfluid.cli.wedge import Order, Score
from keyfluid.cli.wedge_drawn import Look, best_first, shown_frame, write_sheet
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


def drawn_of(results, order=None):
    look = Look(None, order or Order(), 100_000)
    return {label: look.drawn(result, Path(label)) for label, result in results.items()}


def captions_of(drawn):
    return {label: found.line(Order()) for label, found in drawn.items()}


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
    ranked = best_first(drawn_of(results), Order())
    errors = [found.score.error for found in ranked.values()]
    assert {found.score.frame for found in ranked.values()} == {2}
    assert errors == sorted(errors)
    assert list(ranked) != list(results)
    assert [label.endswith("-0.9-0.0-") for label in ranked] == [True, True, False, False]
    label, found = next(iter(ranked.items()))
    assert found.score.error == results[label].metrics["keyframes"][0]["relative_error"]
    assert found.score.iou == results[label].metrics["keyframes"][0]["iou"]
    assert shown_frame(results[label].problem, 1) == 1


def test_any_number_of_the_result_sorts(two_keys):
    _, results = two_keys
    for text, numbers, largest in (
        ("iou", [result.metrics["keyframes"][0]["iou"] for result in results.values()], True),
        ("-iou", [result.metrics["keyframes"][0]["iou"] for result in results.values()], False),
        ("max_divergence", [result.metrics["max_divergence"] for result in results.values()], False),
    ):
        order = Order.of(text)
        ranked = best_first(drawn_of(results, order), order)
        assert [found.number for found in ranked.values()] == sorted(numbers, reverse=largest)
    assert "max_divergence" in next(iter(ranked.values())).line(order)
    with pytest.raises(KeyfluidError, match=r"--sort beauty: is not a number of result.json; use one of bound, "):
        Order.of("beauty")


def test_scores_are_those_of_the_frame_or_the_worst_of_all():
    keys = [{"frame": 4, "relative_error": 0.5, "iou": 0.6}, {"frame": 8, "relative_error": 0.2, "iou": 0.9}]
    assert Score.of({"keyframes": keys}, 8) == Score(8, 0.2, 0.9)
    assert Score.of({"keyframes": keys}, 5) == Score(5, 0.5, 0.6, elsewhere=True)
    assert Score.of({"keyframes": []}, 5).line() == "frame 5"
    assert Score.of({"keyframes": [{"frame": 4, "relative_error": float("nan"), "iou": 1.0}]}, 4).error is None


def test_a_sheet_has_a_column_per_value_and_scores_below(two_keys, tmp_path, monkeypatch):
    wedge, results = two_keys
    drawn = []
    monkeypatch.setattr("keyfluid.cli.wedge_drawn.contact_sheet", lambda *content: drawn.append(content) or content)
    monkeypatch.setattr("keyfluid.cli.wedge_drawn.save_png", lambda path, picture: None)
    shown = drawn_of(results)
    write_sheet(tmp_path / "sheet.png", wedge, shown, captions_of(shown), next(iter(best_first(shown, Order()))))
    rows, heads, sides, title, _ = drawn[0]
    assert heads == [["velocity = [0.1,0.0]", "velocity = [0.9,0.0]"], []]
    assert sides == ["resolution = 12", "resolution = 16"]
    assert title == "frame 2"
    label = wedge.grid()[1][0]
    np.testing.assert_array_equal(
        rows[1][0].picture, Painter(results[label].problem, 384).frame(results[label].frames, 2)
    )
    score = shown[label].score
    assert rows[1][0].caption == f"error {score.error:.3f} · IoU {score.iou:.3f}"
    assert [[tile.best for tile in row].count(True) for row in rows].count(1) == 1


def test_a_sheet_shows_liquids_as_the_run_does(tmp_path, monkeypatch):
    drop = "[domain]\nresolution = 16\n[time]\nframes = 1\n[liquid]\ninitial = { shape = 'disk', radius = 0.3 }\n"
    result = run(drop, threads=1)
    drawn = []
    monkeypatch.setattr("keyfluid.cli.wedge_drawn.contact_sheet", lambda rows, *_: drawn.extend(rows[0]))
    monkeypatch.setattr("keyfluid.cli.wedge_drawn.save_png", lambda path, picture: None)
    wedge = Wedge.of(["time.frames=1"])
    shown = drawn_of(dict.fromkeys(wedge.variants, result))
    write_sheet(tmp_path / "sheet.png", wedge, shown, captions_of(shown), None)
    painter, last = Painter(result.problem, 384), result.frames[-1]
    np.testing.assert_array_equal(drawn[0].picture, painter.frame(result.frames, 1))
    assert not np.array_equal(drawn[0].picture, painter.picture(last.densities, 1))


def test_the_page_sorts_and_plays_in_step(two_keys, tmp_path):
    wedge, results = two_keys
    shown = drawn_of(results)
    path = tmp_path / "index.html"
    path.write_text(wedge_page("tiny <wedge>", wedge, shown, captions_of(shown), Order()), encoding="utf-8")
    with Browser(tmp_path / "profile") as browser:
        browser.open(path)
        places = "[...document.querySelectorAll('.tile')].map(t => [t.getBoundingClientRect().top, \
                  t.getBoundingClientRect().left, t.dataset.error])"
        as_given = [float(error) for *_, error in sorted(browser.ask(places))]
        assert as_given == [shown[label].score.error for label in results]
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


FAULTY = "smoke.initial.velocity=[0.3,0.1],[1e4,0.0]"
"""The second blows up in its first step."""


def test_a_variant_that_fails_is_in_the_table_with_its_line(keyfluid, tmp_path):
    scene = tmp_path / "tiny.toml"
    scene.write_text(SCENE)
    folder = tmp_path / "w"
    code, out, _ = keyfluid("wedge", scene, FAULTY, "-o", folder)
    assert code == 1
    good, bad = json.loads((folder / "wedge.json").read_text()).items()
    assert (good[1]["number"], good[1]["status"]) == (0, "finished")
    assert (bad[1]["number"], bad[1]["status"]) == (1, "failed")
    assert "\n" not in bad[1]["error"]
    assert f"{bad[0]}: failed: {bad[1]['error']}" in out.splitlines()
    assert bad[1]["error"].split(";")[0] in (folder / "index.html").read_text()


@pytest.mark.parametrize("jobs", [1, 2])
def test_json_says_which_runs_begin_and_how_they_end(keyfluid, tmp_path, jobs):
    """One after the other and by processes: a line before each run and one after it, then the end of all."""
    scene, folder = tmp_path / "tiny.toml", tmp_path / "w"
    scene.write_text(SCENE)
    code, out, err = keyfluid("wedge", scene, f"{FAULTY},[0.2,0.0]", "-o", folder, "--json", "--jobs", jobs)
    lines = [json.loads(line) for line in out.splitlines()]
    begins, ends = ([line for line in lines if line["event"] == name] for name in ("variant", "variant_end"))
    assert code == 1
    assert [line["number"] for line in begins] == [0, 1, 2]
    assert [line["done"] for line in begins] == ([0, 1, 2] if jobs == 1 else [0, 0, 1])
    assert all(line["total"] == 3 and (folder / line["label"]).is_dir() for line in begins)
    assert [line["folder"] for line in begins] == [str(folder / line["label"]) for line in begins]
    assert [line["done"] for line in ends] == [1, 2, 3]
    good = {line["number"]: line["sorted_by"] for line in ends if "fault" not in line}
    (bad,) = (line for line in ends if "fault" in line)
    assert bad["number"] == 1
    end, error = lines[-2:]
    assert (end["event"], end["folder"]) == ("wedge", str(folder))
    assert [score["error"] for score in end["scores"].values()] == sorted(good.values())
    assert end["faults"] == {bad["label"]: bad["fault"]}
    assert (error["event"], error["message"]) == ("error", f"{bad['label']}: {bad['fault']}")
    assert f"keyfluid: {error['message']}" in err.splitlines()


def test_what_has_finished_is_not_run_again(keyfluid, tmp_path):
    """Some of a wedge as a farm runs it, then all of it: each variant once, and the tables grow."""
    scene = tmp_path / "tiny.toml"
    scene.write_text(SCENE)
    words = ("wedge", scene, "domain.resolution=12,14,16", "-o", tmp_path / "w")
    code, _, err = keyfluid(*words, "--only", "3")
    assert (code, err) == (2, "keyfluid: --only 3: there are variants 0 to 2; give one of them\n")
    assert keyfluid(*words, "--only", "1")[0] == 0
    table = json.loads((tmp_path / "w" / "wedge.json").read_text())
    assert {label[-2:]: entry["status"] for label, entry in table.items()} == {
        "12": "waiting",
        "14": "finished",
        "16": "waiting",
    }
    assert "3 runs, 1 finished" in (tmp_path / "w" / "index.html").read_text()
    frame = tmp_path / "w" / "domain.resolution=14" / "frames" / "0001.npz"
    before = frame.stat().st_mtime_ns
    code, out, err = keyfluid(*words, "--jobs", "2", "--sort", "iou")
    assert code == 0, err
    assert frame.stat().st_mtime_ns == before
    entries = json.loads((tmp_path / "w" / "wedge.json").read_text())
    assert [entry["status"] for entry in entries.values()] == ["finished"] * 3
    overlaps = [entry["keyframes"][0]["iou"] for entry in entries.values()]
    assert overlaps == sorted(overlaps, reverse=True)
    assert [line.partition(":")[0] for line in out.splitlines()[:3]] == list(entries)
    assert "3 of 3" in err
    assert "1 of 3" not in err, "the first had finished before"
