"""Target-driven smoke as a whole: rest, mass, quality, turns, resuming."""

from __future__ import annotations

import numpy as np
import pytest
from target_cases import MemoryShell, no_other_runs, problem, quality, run

from keyfluid.controllers.shell import Stopped
from keyfluid.controllers.target.controller import Target
from keyfluid.controllers.target.driven import driven_smoke
from keyfluid.controllers.target.goals import Goals
from keyfluid.controllers.target.settings import TargetNumbers
from keyfluid.errors import KeyfluidError
from keyfluid.models.driven_smoke import DrivenInputs
from keyfluid.models.operation import Observer
from keyfluid.threads import set_threads


def model_of(made, **changes):
    settings = TargetNumbers(**changes)
    return Goals(made, settings), driven_smoke(made, settings)


class Seen(Observer):
    """The length and the carrier of a step."""

    def lasts(self, seconds):
        self.seconds = seconds

    def carries(self, fields):
        self.carrier = fields["velocity"]


def advance(model, state, pulls, count, dt=1 / 24):
    """`count` sub-steps; the state, the largest speed, and the least density on the way."""
    fastest, least, time = 0.0, np.inf, 0.0
    impulse = state["velocity"].zeros_like()
    for index in range(count):
        seen = Seen()
        state = model.step(state, DrivenInputs(pulls, time, dt, impulse), index, seen)
        time += seen.seconds
        fastest = max(fastest, seen.carrier.peak())
        least = min(least, state["density"].data.min())
    return state, fastest, least


def test_smoke_at_its_target_stays_at_rest():
    made = problem(resolution=48)
    plan, model = model_of(made)
    start = model.projected({**made.densities, "velocity": made.velocity})
    _, normal, _ = advance(model, start, plan.pulls(1), 10)
    assert normal > 0.1
    state = {**start, "density": plan.pulls(1)["density"].goal.target}
    for frame in (1, 4, 7, 10, 13):  # all widths of the blur, one after the other
        pulls = plan.pulls(frame)
        state, fastest, _ = advance(model, state, pulls, 20)
        assert fastest < 1e-10 * normal
    assert pulls["density"].width == 0.05
    assert np.abs(state["density"].data - pulls["density"].goal.target.data).max() < 1e-12


def test_a_force_that_is_no_gradient_disturbs_the_rest():
    """The checker above sees a fault of the kind it is there for."""
    made = problem(resolution=48)
    plan, model = model_of(made)
    pulls = plan.pulls(1)
    pull = pulls["density"]
    crooked = pull.goal.slope.like(pull.goal.slope.data * 1.01)
    crooked.component(0)[...] *= 0.98
    object.__setattr__(pull.goal, "slope", crooked)
    start = model.projected({**made.densities, "velocity": made.velocity, "density": pull.goal.target})
    assert advance(model, start, pulls, 3)[1] > 1e-6


@pytest.mark.parametrize(("precision", "limit"), [("float32", 1e-6), ("float64", 1e-12)])
def test_mass_stays_and_density_is_never_negative(precision, limit):
    made = problem("Sm", resolution=48, precision=precision)
    plan, model = model_of(made, gathering=2.0)
    start = model.projected({**made.densities, "velocity": made.velocity})
    state, _, least = advance(model, start, plan.pulls(1), 400)
    before, after = (s["density"].data.sum(dtype=np.float64) for s in (start, state))
    assert abs(after / before - 1) < limit
    assert least >= 0
    assert np.abs(state["density"].data - start["density"].data).max() > 0.5


def word(text, resolution=128, **control):
    made = problem(text, resolution=resolution, frames=48, precision="float32", fit=0.95, control=control)
    shell = run(made)
    return *quality(made, shell), shell.logs[-1]["gathered"]


def test_a_word_is_formed_and_gathering_is_what_makes_it_sharp():
    """FLUX: the start lies between its letters, and two of them are far from it."""
    error, iou, gathered = word("FLUX")
    assert iou >= 0.95
    assert error <= 0.2
    assert gathered < 1
    assert word("FLUX", gathering=0.0)[0] > 2 * error
    far_letters_starve = word("FLUX", reach=0.0)
    assert far_letters_starve[0] > 1.5 * error


def test_twice_the_cells_give_the_same_word():
    set_threads(1)
    coarse, fine = word("KEY"), word("KEY", 256)
    assert fine[:2] == pytest.approx(coarse[:2], abs=0.08)
    assert fine[1] > 0.95
    assert fine[2] < 2


def test_a_letter_is_formed():
    made = problem("F", resolution=96, frames=48, precision="float32")
    error, iou = quality(made, run(made))
    assert error < 0.2
    assert iou > 0.95


def test_threads_and_resuming_change_no_bit():
    made = problem("A", resolution=32, frames=6)
    results = []
    for count in (1, 2):
        set_threads(count)
        results.append(run(made))
    stopped = MemoryShell(stop_after=3)
    with pytest.raises(Stopped):
        Target().run(Target().plan(made, no_other_runs), stopped)
    results.append(run(made, restored=stopped.kept))
    last = [shell.records[-1] for shell in results]
    for other in last[1:]:
        for name in ("density", "velocity"):
            assert other.state[name].data.tobytes() == last[0].state[name].data.tobytes()
    assert last[0].memory == last[2].memory
    assert results[0].logs[3:] == results[2].logs
    assert [log["frame"] for log in stopped.logs] == [1, 2, 3]


def test_targets_take_over_in_turn_and_two_fields_share_the_air():
    keys = [
        {"frame": 12, "field": "a", "shape": "disk", "center": [0.3, 0.3], "radius": 0.1},
        {"frame": 24, "field": "a", "shape": "disk", "center": [0.7, 0.4], "radius": 0.1},
        {"frame": 24, "field": "b", "shape": "disk", "center": [0.3, 0.7], "radius": 0.1},
    ]
    smoke = {
        "field": [{"name": "a"}, {"name": "b"}],
        "initial": [
            {"shape": "disk", "field": "a", "center": [0.5, 0.3], "radius": 0.1},
            {"shape": "disk", "field": "b", "center": [0.7, 0.7], "radius": 0.1},
        ],
    }
    made = problem(keyframe=keys, smoke=smoke, resolution=64)
    shell = run(made)
    gathered = [log["gathered_a"] for log in shell.logs]
    assert 0 < gathered[12] < gathered[11]  # counted anew for every target
    assert quality(made, shell, 0)[1] > 0.9
    assert quality(made, shell, 2)[1] > 0.9
    for key in made.keyframes:
        rho = shell.records[key.frame].state[key.field].array
        middles = [np.arange(64) @ q.sum(1) / q.sum() / 64 for q in (rho, key.target)]
        assert middles[0] == pytest.approx(middles[1], abs=0.06)


def test_after_release_nothing_steers():
    made = problem("F", resolution=32, frames=10, keyframe=[{"frame": 4, "text": "F", "fit": 0.8, "hold": 2}],
                   control={"release": True})  # fmt: skip
    forces = [record.force for record in run(made).records]
    assert all(force is not None and force.norm() > 0 for force in forces[1:7])
    assert forces[7:] == [None] * 4
    kept = problem("F", resolution=32, frames=6, keyframe=[{"frame": 4, "text": "F", "fit": 0.8}])
    assert run(kept).records[-1].force is not None


def test_blend_scales_and_zero_frees():
    strong, half, free = (
        run(problem(resolution=32, frames=2, keyframe=[{"frame": 2, "text": "F", "fit": 0.8, "weight": w}]))
        for w in (1.0, 0.5, 0.0)
    )
    assert free.records[-1].force is None
    assert free.records[-1].state["velocity"].peak() == 0
    assert half.records[1].force.norm() < 0.8 * strong.records[1].force.norm()


def test_equalise_brings_the_mass_of_the_target():
    key = [{"frame": 24, "shape": "disk", "center": [0.5, 0.5], "radius": 0.2, "mass": "keep"}]
    smoke = {"initial": [{"shape": "disk", "center": [0.4, 0.5], "radius": 0.1}]}
    made = problem(keyframe=key, smoke=smoke, resolution=32, control={"equalise": 4.0})
    masses = [record.state["density"].data.sum() for record in run(made).records]
    wanted = made.keyframes[0].target.sum()
    assert masses[0] / wanted == pytest.approx(0.25, abs=0.02)
    share = 1 - (1 - masses[0] / wanted) * np.exp(-4.0 * 0.5)
    assert masses[12] / wanted == pytest.approx(share, rel=1e-6)


def test_sources_obstacles_buoyancy_and_open_sides():
    made = problem(
        keyframe=[{"frame": 12, "shape": "disk", "center": [0.6, 0.7], "radius": 0.15}],
        smoke={"initial": [], "buoyancy": 1.0},
        source=[
            {"shape": "disk", "center": [0.5, 0.15], "radius": 0.1, "rate": 2.0, "velocity": [0.0, 0.5], "stop": 6}
        ],
        obstacle=[{"shape": "box", "center": [0.35, 0.5], "size": [0.2, 0.2], "velocity": [0.2, 0.0]}],
        domain={"boundary": ["open", "walls"]},
        resolution=32,
        frames=12,
        precision="float32",
    )
    shell = run(made)
    given = sum(record.emitted.get("density", 0.0) for record in shell.records)
    assert given == pytest.approx(2.0 * 0.25 * np.pi * 0.1**2, rel=0.02)
    last = shell.records[-1].state
    assert last["density"].data.min() >= 0
    assert not last["density"].array[made.solids(12 / 24).solid].any()
    height = np.arange(32) @ last["density"].array.sum(0) / last["density"].array.sum() / 32
    assert height > 0.4


def test_smooth_advection_repeats_from_its_forces():
    from keyfluid.problem import Clock

    made = problem(resolution=32, frames=6, control={"advection": "smooth"})
    object.__setattr__(made, "steps_per_frame", 1)
    shell = run(made)
    state = shell.records[0].state
    for index, record in enumerate(shell.records[1:]):
        state = made.fluid.steps(made).advance(state, Clock(index, 1 / 24), record.force).state
    assert np.array_equal(state["density"].data, shell.records[-1].state["density"].data)
    assert np.abs(state["density"].data - shell.records[0].state["density"].data).max() > 0.1


def test_turbulence_stirs_what_is_on_its_way_and_leaves_the_rest():
    made = problem(resolution=48)
    calm_plan, calm = model_of(made)
    plan, model = model_of(made, turbulence=5.0)
    start = model.projected({**made.densities, "velocity": made.velocity})
    pulls = plan.pulls(24)
    stirred, quiet = (advance(s, start, pulls, 5)[0]["velocity"] for s in (model, calm))
    assert (stirred - quiet).norm() > 0.05 * quiet.norm()
    at_rest = {**start, "density": pulls["density"].goal.target}
    assert advance(model, at_rest, pulls, 20)[1] < 1e-12
    assert calm_plan.pulls(24)["density"].coefficients == pulls["density"].coefficients


def test_a_field_without_a_target_is_refused():
    smoke = {
        "field": [{"name": "a"}, {"name": "b"}],
        "initial": [{"shape": "disk", "center": [0.5, 0.5], "radius": 0.1}],
    }
    made = problem(smoke=smoke, resolution=16)
    with pytest.raises(KeyfluidError, match="'b' has no target"):
        run(made)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"control": {"strength": -1.0}}, "strength"),
        ({"control": {"v_g": 1e300}}, "v_g"),
        ({"control": {"reach": 1.5}}, "reach"),
        ({"keyframe": [{"frame": 24, "shape": "disk", "center": [5.0, 5.0], "radius": 0.1}]}, "outside the domain"),
    ],
)
def test_bad_input_is_named(change, said):
    with pytest.raises(Exception, match=said):
        problem(resolution=16, **change)
