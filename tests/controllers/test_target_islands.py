"""Targets with parts that are far from all smoke: a wider reach by default, and the usual one for all others."""

from __future__ import annotations

import numpy as np
import pytest
from target_cases import no_other_runs, problem, run

from keyfluid.controllers.target.controller import Target
from keyfluid.controllers.target.goals import Goals
from keyfluid.controllers.target.settings import TargetNumbers

BELOW = {"initial": [{"shape": "disk", "center": [0.45, 0.2], "radius": 0.2, "mass": "first-key"}]}


def two_letters(**control):
    """A disk below two letters, the second behind the first."""
    return problem("H\nH", resolution=32, frames=24, precision="float32", fit=0.7, smoke=BELOW, control=control)


def share_of_far_letter(made):
    """Of the smoke that the upper letter needs, what is there at the end."""
    target, found = made.keyframes[-1].target, run(made).records[-1].state["density"].array
    upper = np.s_[:, made.grid.cells[1] // 2 :]
    return float(np.sum(found[upper]) / np.sum(target[upper]))


def test_both_parts_get_their_smoke():
    assert share_of_far_letter(two_letters()) > 0.9
    assert share_of_far_letter(two_letters(reach=0.2)) < 0.75


def test_a_far_part_widens_the_reach_and_says_so():
    (line,) = Target().plan(two_letters(), no_other_runs).lines
    assert line.startswith("keyframe[0]: parts of it are far from the smoke; reach 0.")
    assert Target().plan(two_letters(reach=0.2), no_other_runs).lines == []


def test_near_parts_change_nothing():
    made = problem("HIH", resolution=48, frames=24)
    goals = Goals(made, TargetNumbers.of(made))
    assert all(numbers is goals.settings for numbers in goals._numbers.values())


def test_keys_that_are_given_win():
    far = TargetNumbers(side=2.0).reaching(1.0)
    assert (far.reach, far.strength) == (0.5, 3.0)
    assert far.width_at(0.19, 1.0) == far.width_at(0.0, 1.0) == 1.0
    assert far.width_at(0.75, 1.0) > far.width == far.width_at(0.8, 1.0)
    assert TargetNumbers(reach=0.3).reaching(1.0).reach == 0.3
    assert TargetNumbers(strength=0.5).reaching(1.0).strength == 0.5
    assert TargetNumbers(v_f=2.0).reaching(1.0).strength == 1.0
    assert TargetNumbers().reaching(0.1).reach == pytest.approx(0.2)
