"""What a user can get wrong raises a ValueError that says what and what to do."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from engine_cases import bodies, setting

from keyfluid.errors import ConvergenceWarning, KeyfluidError
from keyfluid.fields import Field, density, velocity
from keyfluid.grid import Grid, Kind
from keyfluid.models import Emitter, Smoke, SmokeOptions
from keyfluid.operators.advect import Advect
from keyfluid.operators.blur import gaussian_blur, gaussian_pyramid
from keyfluid.operators.diffuse import Diffuse
from keyfluid.operators.force import AddConstant, Inflow
from keyfluid.operators.project import Project
from keyfluid.rollout import Rollout, StoredForcing
from keyfluid.rollout.schedule import Schedule
from keyfluid.solids import Solids
from keyfluid.threads import set_threads
from keyfluid.verify import taylor_green, viscous_mode
from keyfluid.verify.check import Distance

GRID = Grid((6, 5))


def centred(value=0.0):
    return Field(GRID, Kind.CENTRES, np.full(30, value))


MISTAKES = {
    "negative size": (lambda: Grid((8, -3)), "at least 2 cells per axis"),
    "zero size": (lambda: Grid((0, 8, 8)), "at least 2 cells per axis"),
    "fractional size": (lambda: Grid((8.5, 8)), "whole numbers"),
    "one axis": (lambda: Grid((8,)), "a grid has 2 or 3"),
    "four axes": (lambda: Grid((8, 8, 8, 8)), "a grid has 2 or 3"),
    "negative spacing": (lambda: Grid((8, 8), -0.1), "positive number of metres"),
    "zero spacing": (lambda: Grid((8, 8), 0.0), "positive number of metres"),
    "NaN spacing": (lambda: Grid((8, 8), np.nan), "positive number of metres"),
    "unknown side": (lambda: Grid((8, 8), boundary="wall"), "use walls, periodic, open"),
    "sides for other axes": (lambda: Grid((8, 8), boundary=["walls"] * 3), "one word, or one per axis"),
    "shape of a density": (lambda: density(GRID, np.zeros((5, 6))), r"take \[\(6, 5\)\]"),
    "shapes of a velocity": (
        lambda: velocity(GRID, np.zeros((6, 5)), np.zeros((6, 5))),
        r"\(7, 5\), \(6, 6\)",
    ),
    "a component missing": (lambda: velocity(GRID, np.zeros((7, 5))), r"\(7, 5\), \(6, 6\)"),
    "flat size": (lambda: Field(GRID, Kind.FACES, np.zeros(30)), r"\(7, 5\), \(6, 6\)"),
    "whole numbers in a field": (lambda: Field(GRID, Kind.CENTRES, np.zeros(30, int)), "float32 or float64"),
    "body that fills the box": (lambda: Solids.from_distance(GRID, -np.ones((6, 5))), "fills the whole box"),
    "NaN distance": (lambda: Solids.from_distance(GRID, np.full((6, 5), np.nan)), "NaN or infinite"),
    "NaN density": (lambda: Smoke(GRID, 0.1).initial_state(density=centred(np.nan)), "density: holds NaN"),
    "infinite velocity": (
        lambda: Smoke(GRID, 0.1).initial_state(Field(GRID, Kind.FACES, np.full(71, -np.inf))),
        "velocity: holds NaN or infinite",
    ),
    "density on faces": (
        lambda: Smoke(GRID, 0.1).initial_state(density=Field.zeros(GRID, Kind.FACES)),
        "density: expected centres",
    ),
    "velocity of another grid": (
        lambda: Smoke(GRID, 0.1).initial_state(Field.zeros(Grid((5, 6)), Kind.FACES)),
        r"velocity: expected faces of a \(6, 5\) grid",
    ),
    "unknown density": (
        lambda: Smoke(GRID, 0.1).initial_state(steam=centred()),
        "steam.*not part of this model",
    ),
    "zero step": (lambda: Smoke(GRID, 0.0), "must be positive"),
    "negative step": (lambda: Advect(GRID, -0.1), "must be positive"),
    "unknown order": (lambda: Smoke(GRID, 0.1, SmokeOptions(order=4)), "use 1, 2 or 3"),
    "unknown feet": (lambda: Advect(GRID, 0.1, feet="flat"), "'own' or 'shared'"),
    "unknown part of a step": (lambda: Smoke(GRID, 0.1, SmokeOptions(sequence=("advect",))), "each once"),
    "up beyond the axes": (lambda: Smoke(GRID, 0.1, SmokeOptions(up=2)), "axes 0 to 1"),
    "NaN buoyancy": (lambda: Smoke(GRID, 0.1, SmokeOptions(buoyancy=np.nan)), "finite"),
    "negative viscosity": (lambda: Diffuse(GRID, -1.0, 0.1), "zero or positive"),
    "force of other dimension": (lambda: AddConstant(GRID, [1.0], 0.1), "2 finite numbers"),
    "mask beyond one": (lambda: Inflow(centred(1.5)), "between 0 and 1"),
    "negative blur": (lambda: gaussian_blur(GRID, -0.1), "zero or positive"),
    "no pyramid level": (lambda: gaussian_pyramid(GRID, 0.1, 0), "at least one"),
    "negative steps": (lambda: Rollout(Smoke(GRID, 0.1), -1), "zero or more"),
    "no place to store": (lambda: Schedule(5, 0), "at least one place"),
    "objective beyond the end": (
        lambda: Rollout(Smoke(GRID, 0.1), 3).gradient(Smoke(GRID, 0.1).initial_state(), Distance(4, centred())),
        r"looks at steps \[4\]",
    ),
    "too many threads": (lambda: set_threads(10_000), "this machine has 1 to"),
    "Taylor-Green between walls": (lambda: taylor_green(GRID), "periodic"),
    "viscous mode with open sides": (
        lambda: viscous_mode(Grid((4, 4), boundary="open"), (1, 1), 1, 1),
        "only",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_explained(mistake):
    act, words = MISTAKES[mistake]
    with pytest.raises(KeyfluidError, match=words):
        act()
    assert issubclass(KeyfluidError, ValueError)


@pytest.mark.parametrize("cells", [(6, 5), (5, 4, 6)])
@pytest.mark.parametrize("solid", [False, True])
def test_nan_during_a_run_is_found(cells, solid):
    at = setting(cells, "walls", solid)
    model = Smoke(at.grid, 0.1, SmokeOptions(dtype=np.float64, solids=at.solids))
    forces = [{"force": at.field(Kind.FACES)} for _ in range(3)]
    forces[1]["force"].data[at.solids.free.nonzero()[0][3] if solid else 17] = np.nan
    with pytest.raises(KeyfluidError, match="NaN"):
        Rollout(model, 3).run(model.initial_state(), StoredForcing(forces))


def test_a_force_of_the_wrong_place_is_refused():
    model = Smoke(GRID, 0.1, SmokeOptions(dtype=np.float64))
    with pytest.raises(KeyfluidError, match="different places"):
        Rollout(model, 1).run(model.initial_state(), StoredForcing([{"force": centred()}]))


def test_a_misspelt_input_is_refused():
    model = Smoke(GRID, 0.1, SmokeOptions(dtype=np.float64))
    with pytest.raises(KeyfluidError, match=r"source\.smoke"):
        Rollout(model, 1).run(model.initial_state(), StoredForcing([{"source.smoke": centred()}]))


def test_an_emitter_of_an_unknown_density_is_refused():
    with pytest.raises(KeyfluidError, match="steam"):
        Smoke(GRID, 0.1, SmokeOptions(emitters=[Emitter(centred(0.5), centred(1.0), name="steam")]))


def test_a_solve_that_stops_short_warns():
    grid = Grid((24, 20))
    at = setting((24, 20), "walls", False)
    project = Project(grid, bodies(grid, moving=False), np.float64, tolerance=1e-10, max_iterations=2)
    with pytest.warns(ConvergenceWarning, match="pressure solve stopped after 2 iterations"):
        project.forward(at.field(Kind.FACES))
    assert not project.report.converged
    assert project.report.iterations == 2
    assert project.report.residual > 1e-10
    project = Project(grid, bodies(grid, moving=False), np.float64, tolerance=1e-10)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        project.forward(at.field(Kind.FACES))
    assert project.report.converged
    assert 2 < project.report.iterations <= 20
