"""A run in words: what is missing where, what to try, and that "finished" is not "met"."""

from __future__ import annotations

import numpy as np
import pytest

from keyfluid.cli.summary import MOST_LINES, summary
from keyfluid.runs.remedies import remedies, value_at
from keyfluid.runs.words import verdict
from keyfluid.scenes import load_scene
from keyfluid.scenes.build.problem import build

SCENE = """
[domain]
resolution = 48
[time]
frames = 12
steps_per_frame = 2
[{fluid}]
initial = {{ shape = "disk", center = [0.5, 0.2], radius = 0.15 }}
[[keyframe]]
frame = 12
{target}
[control]
method = "{method}"
"""
METHODS = [
    ("none", "smoke"), ("target", "smoke"), ("particles", "smoke"), ("adjoint", "smoke"), ("spectral", "smoke"),
    ("spacetime", "smoke"), ("target", "liquid"), ("adjoint", "liquid"),
]  # fmt: skip
WORD = 'text = "FLUID\\nKEY"\nfit = 0.8'


def built(method="spectral", target=WORD, fluid="smoke", sets=()):
    return build(load_scene(SCENE.format(method=method, target=target, fluid=fluid), sets))


def scored(problem, reached, history=(), **changes):
    """Words for a film whose last frame holds `reached`."""
    key = problem.keyframes[0]
    level = 0.5 * key.target.max()
    iou = np.count_nonzero((reached > level) & (key.target > level)) / np.count_nonzero(
        (reached > level) | (key.target > level)
    )
    miss = float(np.linalg.norm(reached - key.target) / np.linalg.norm(key.target))
    score = {
        "frame": key.frame, "field": key.field, "relative_error": miss, "iou": iou,
        "mass_ratio": float(reached.sum() / key.target.sum()), "bound": key.bound, "transported_iou": None, **changes,
    }  # fmt: skip
    return verdict(problem, [score], lambda _: reached, 0.0, 0.0, history)


def without(problem, word):
    """The target with one of its words left out."""
    key = problem.keyframes[0]
    share = dict(key.body.parts(problem.grid))[word]
    return np.where(share > 0, 0.0, key.target)


def test_words_of_a_text_make_up_the_text():
    key = (problem := built()).keyframes[0]
    parts = dict(key.body.parts(problem.grid))
    assert list(parts) == ["FLUID", "KEY"]
    np.testing.assert_allclose(sum(parts.values()), key.target, atol=1e-6)
    letters = built(target='text = "Kiä"').keyframes[0].body.parts(problem.grid)
    assert [name for name, _ in letters] == ["K", "i", "ä"]


def test_an_empty_word_is_named_with_its_place():
    problem = built()
    found = scored(problem, without(problem, "KEY"))
    head, where, *rest = found.words
    assert found.met is False
    assert head.startswith("frame 12 is not met: overlap")
    missing = 100 * (1 - without(problem, "KEY").sum() / problem.keyframes[0].target.sum())
    assert f'{missing:.0f} % of the smoke of "FLUID KEY" is missing; nothing reached "KEY" (x 0.47, y 0.39)' in where
    assert "FLUID" not in where.split("nothing reached")[1]
    assert rest[-1].startswith('try control.gamma = "blur"')


def test_a_missing_island_is_named_by_its_place(tmp_path):
    islands = np.zeros((48, 48))
    islands[8:16, 30:40] = islands[30:42, 8:20] = 1.0
    np.save(tmp_path / "islands.npy", islands)
    problem = built(target=f'npy = "{tmp_path / "islands.npy"}"')
    reached = problem.keyframes[0].target.copy()
    reached[:20] = 0.0
    assert "nothing reached the part at (x 0.25, y 0.73)" in " ".join(scored(problem, reached).words)


def test_a_hole_in_one_body_is_placed():
    problem = built(target='shape = "box"\ncenter = [0.5, 0.5]')
    reached = problem.keyframes[0].target.copy()
    reached[24:] = 0.0
    assert "most of it around (x 0.5" in " ".join(scored(problem, reached).words)


def test_a_met_keyframe_gets_no_advice():
    problem = built()
    found = scored(problem, problem.keyframes[0].target)
    assert found.met is True
    assert found.words[0].startswith("frame 12 is met")
    assert not any(line.startswith("try") for line in found.words)


def test_a_search_that_ran_out_of_iterations_says_so():
    problem = built(sets=["control.iterations=5"])
    first = [{"iteration": i, "stage": 0, "window": 0, "error": 0.5} for i in range(9)]
    for count, said in ((5, True), (4, False)):
        last = [{"iteration": 9 + i, "stage": 1, "window": 0, "error": 0.5} for i in range(count + 1)]
        words = " ".join(scored(problem, without(problem, "KEY"), [*first, *last, {"frame": 3}]).words)
        assert ("used all of its 5 iterations" in words) is said
        assert ("control.iterations = 10" in words) is said


def test_a_bound_that_is_undercut_is_still_named():
    problem = built()
    low, near = (scored(problem, problem.keyframes[0].target * 0.9, relative_error=e, bound=0.3) for e in (0.2, 0.31))
    assert any("can't get below an error of 0.30; this run did, through blur, sources" in line for line in low.words)
    assert any("can't get below an error of 0.30" in line for line in near.words)
    assert not any("no flow" in line for line in low.words + near.words)


@pytest.mark.parametrize(("method", "fluid"), METHODS)
def test_advice_is_valid_and_new(method, fluid):
    """Each piece of advice is a key that the scene may have, with another value; taken, it is not given again."""
    target = 'shape = "box"\ncenter = [0.5, 0.6]'
    sets: list[str] = []
    for _ in range(3):
        problem = built(method, target, fluid, sets)
        found = {}

        def keep(*arguments, found=found):
            found["remedies"] = remedies(*arguments)
            return found["remedies"]

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("keyfluid.runs.words.remedies", keep)
            line = scored(problem, 0.3 * problem.keyframes[0].target, iou=0.1, bound=None).words[-1]
        assert line.startswith("try ")
        for remedy in found["remedies"]:
            assert value_at(problem.scene, remedy.key) != remedy.value
            changed = build(load_scene(SCENE.format(method=method, target=target, fluid=fluid), [*sets, told(remedy)]))
            assert value_at(changed.scene, remedy.key) == pytest.approx(remedy.value)
        if found["remedies"][0].key == "control.method":
            return
        sets += map(told, found["remedies"])


def told(remedy):
    key, value = str(remedy).split(" = ")
    return f"{key}={value}"


def result(keys):
    return {
        "method": "target", "status": "finished", "met": False, "words": ["said so"], "keyframes": keys,
        "mass_drift": 0.0, "max_divergence": 0.0, "force_norm": 0.0, "iterations": 0, "evaluations": 0, "seconds": 1.0,
        "peak_memory_mb": 1.0, "threads": 1, "history": [],
    }  # fmt: skip


def entry(frame, error, bound=None):
    return {
        "frame": frame, "field": "density", "relative_error": error, "iou": 1 - error, "mass_ratio": 1.0,
        "bound": bound, "transported_iou": None,
    }  # fmt: skip


def test_many_keyframes_are_summed_up():
    few, many = summary(result([entry(1, 0.1)] * MOST_LINES)), summary(result([entry(n, n / 100) for n in range(36)]))
    assert sum("keyframe" in line for line in few) == MOST_LINES
    assert sum("keyframe" in line for line in many) == 2
    assert any("36 keyframes: error median 0.175" in line and "result.json" in line for line in many)
    assert any("worst: keyframe 35 of density: error 0.350" in line for line in many)


def test_the_summary_says_not_met_and_keeps_an_undercut_bound():
    lines = summary(result([entry(9, 0.137, bound=0.18)]))
    assert lines[0].startswith("finished, but not met: ")
    assert "said so" in lines
    assert "error 0.137 (a rearrangement: at least 0.180)" in lines[-1]
