"""Is keyfluid right on this machine? The checks of the test-suite, small, as a table a person can read.

Every row compares a number with a limit: dot defects (below it), Taylor slopes (2 within 0.1, or exactly
linear), divergence left by the projection, bits that threads or storage must not change. Takes some seconds
once the kernels are compiled. The very first run compiles them, and advection has kernels of its own in 2D and in 3D:
so the ordinary run tries one kind of it in 3D, all else in both dimensions; `everything` leaves nothing out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain
from multiprocessing import get_context

import numpy as np

from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.models.smoke import Smoke, SmokeOptions
from keyfluid.models.state import State
from keyfluid.operators.base import Fields, Operator
from keyfluid.operators.project import ROUNDING, Project, relative_divergence
from keyfluid.operators.registry import REGISTER, Setting
from keyfluid.rollout import Gradient, Rollout, StoredForcing
from keyfluid.rollout.plan import WORKING_STATES
from keyfluid.solids import Solids
from keyfluid.threads import available, set_threads, threads
from keyfluid.verify.derivatives import TaylorResult, dot_defect, random_like, taylor_test

DOT_LIMIT = 1e-12
GRIDS = {
    2: Grid((9, 7), boundary=("walls", "open")),
    3: Grid((7, 5, 6), boundary=("open", "walls", "periodic")),
}
ADVECTION_IN_3D = "advect RK2"
"""The one kind of advection that an ordinary run tries in 3D; its rollouts use it too."""
TAYLOR_STEPS = [1e-5 * 2.0**-k for k in range(5)]
ROLLOUT_STEPS = 6


@dataclass(frozen=True)
class Check:
    """One line of the table."""

    what: str
    where: str
    test: str
    value: str
    wanted: str
    passed: bool


def check_dot(what: str, where: str, operator: Operator, inputs: Fields, rng: np.random.Generator) -> Check:
    """Is the adjoint the transpose of the tangent?"""
    defect = dot_defect(operator, inputs, rng)
    return Check(what, where, "dot test", f"{defect:.1e}", f"< {DOT_LIMIT:.0e}", defect < DOT_LIMIT)


def check_taylor(what: str, where: str, operator: Operator, inputs: Fields, rng: np.random.Generator) -> Check:
    """Is the tangent the derivative of the forward?"""
    direction = random_like(inputs, rng)

    def outputs(h: float) -> np.ndarray:
        moved = (f.add_scaled(h, d) for f, d in zip(inputs, direction))
        return np.concatenate([out.data for out in operator.forward(*moved)])

    derivative = np.concatenate([out.data for out in operator.tangent(inputs, direction)])
    return _taylor_row(what, where, taylor_test(outputs, derivative, TAYLOR_STEPS))


def _taylor_row(what: str, where: str, result: TaylorResult) -> Check:
    shown = "linear" if result.exact else f"{result.slope:.3f}"
    return Check(what, where, "Taylor slope", shown, "2.0 +- 0.1", result.passed)


def check_divergence(
    where: str, operator: Operator, velocity: Field, limit: float, solids: Solids | None = None
) -> Check:
    """Does what comes out of a projection still flow out of a cell?"""
    left = relative_divergence(operator.forward(velocity)[0], solids)
    return Check("project", where, "max |div v| dx / max |v|", f"{left:.1e}", f"< {limit:.0e}", left < limit)


@dataclass(frozen=True)
class Distance:
    """0.5 |density - target|^2 after the last step: the smallest objective that has a gradient."""

    step: int
    target: Field

    def steps(self) -> Iterable[int]:
        return (self.step,)

    def term(self, step: int, state: State) -> tuple[float, dict[str, Field]]:
        gap = state["density"] - self.target
        return 0.5 * gap.dot(gap), {"density": gap}


class _Scene:
    """A few steps of buoyant, viscous smoke past a body, pushed by a force in every step."""

    def __init__(self, grid: Grid) -> None:
        at = Setting(grid, _ball(grid), np.random.default_rng(7), np.dtype(np.float64))
        options = SmokeOptions(dtype=np.float64, buoyancy=3.0, viscosity=1e-3, solids=at.solids, tolerance=1e-13)
        self.model = Smoke(grid, 0.05, options)
        self.state = self.model.initial_state(density=at.field(Kind.CENTRES), velocity=at.field(Kind.FACES))
        self.forces = [at.field(Kind.FACES) for _ in range(ROLLOUT_STEPS)]
        self.pushes = [at.field(Kind.FACES) for _ in range(ROLLOUT_STEPS)]
        self.objective = Distance(ROLLOUT_STEPS, at.field(Kind.CENTRES))

    def forcing(self, h: float) -> StoredForcing:
        return StoredForcing([{"force": f.add_scaled(h, d)} for f, d in zip(self.forces, self.pushes)])

    def gradient(self, budget: int | None = None) -> tuple[Gradient, StoredForcing]:
        forcing = self.forcing(0.0)
        return Rollout(self.model, ROLLOUT_STEPS, budget).gradient(self.state, self.objective, forcing), forcing

    def value(self, h: float) -> np.ndarray:
        final = Rollout(self.model, ROLLOUT_STEPS).run(self.state, self.forcing(h))[ROLLOUT_STEPS]
        return np.array([self.objective.term(ROLLOUT_STEPS, final)[0]])


def _ball(grid: Grid) -> Solids:
    def distance(*x: np.ndarray) -> np.ndarray:
        return np.asarray(sum((a - c) ** 2 for a, c in zip(x, (0.55, 0.45, 0.5))) - 0.2**2)

    return Solids.from_distance(grid, distance, dtype=np.float64)


def _bits(gradient: Gradient, forcing: StoredForcing) -> bytes:
    parts = [bar.data.tobytes() for bar in gradient.initial_bar.values()]
    return b"".join(parts + [bar["force"].data.tobytes() for bar in forcing.bars])


def _rollout_checks(dim: int) -> list[Check]:
    scene = _Scene(Grid((13, 11, 9)[:dim]))
    what, where = f"gradient of {ROLLOUT_STEPS} steps", f"{dim}D, body"
    gradient, forcing = scene.gradient()
    slope = sum(bar["force"].dot(push) for bar, push in zip(forcing.bars, scene.pushes))
    result = taylor_test(scene.value, np.array([slope]), [5e-5 * 2.0**-k for k in range(4)])
    rows = [_taylor_row(what, where, result)]
    bits = _bits(gradient, forcing)
    state_bytes = Rollout(scene.model, ROLLOUT_STEPS).plan.state_bytes
    rows.append(
        _bits_row(
            what, where, "2 of 6 steps stored", bits == _bits(*scene.gradient((WORKING_STATES + 2) * state_bytes))
        )
    )
    if available() > 1:
        set_threads(2)
        same = bits == _bits(*scene.gradient())
        set_threads(1)
        rows.append(_bits_row(what, where, "1 and 2 threads", same))
    return rows


def _bits_row(what: str, where: str, test: str, same: bool) -> Check:
    return Check(what, where, test, "same bits" if same else "DIFFERENT", "same bits", same)


def _operator_checks(dim: int, names: Iterable[str]) -> Iterator[Check]:
    for solids in (None, _ball(GRIDS[dim])):
        where = f"{dim}D" + (", body" if solids else "")
        for name in names:
            rng = np.random.default_rng(1)
            operator, inputs = REGISTER[name](Setting(GRIDS[dim], solids, rng, np.dtype(np.float64)))
            yield check_dot(name, where, operator, inputs, rng)
            yield check_taylor(name, where, operator, inputs, rng)


def _divergence_checks(dim: int) -> list[Check]:
    grid = Grid((48, 37, 29)[:dim])
    rows = []
    for dtype in (np.dtype(np.float32), np.dtype(np.float64)):
        velocity = Setting(grid, None, np.random.default_rng(3), dtype).field(Kind.FACES)
        limit = max(ROUNDING[dtype] * max(grid.cells), 1e-12 if dtype == np.float64 else 0.0)
        rows.append(check_divergence(f"{dim}D, {dtype}", Project(grid, dtype=dtype), velocity, limit))
    solids = _ball(grid)
    velocity = Setting(grid, solids, np.random.default_rng(3), np.dtype(np.float64)).field(Kind.FACES)
    operator = Project(grid, solids, np.float64, tolerance=1e-8)
    rows.append(check_divergence(f"{dim}D, float64, body", operator, velocity, 1e-8, solids))
    return rows


@dataclass(frozen=True)
class Part:
    """Checks that share kernels, which one process compiles: advection with the rollouts, or all else."""

    dim: int
    advection: bool
    everything: bool

    def checks(self) -> Iterator[Check]:
        names = [name for name in REGISTER if name.startswith("advect ") == self.advection]
        if self.advection and self.dim == 3 and not self.everything:
            names = [ADVECTION_IN_3D]
        more = _rollout_checks if self.advection else _divergence_checks
        yield from chain(_operator_checks(self.dim, names), more(self.dim))

    def rows(self) -> list[Check]:
        """The checks on one thread."""
        before = threads()
        set_threads(1)
        try:
            return list(self.checks())
        finally:
            set_threads(before)


def run_checks(
    on_rows: Callable[[list[Check]], None] | None = None, everything: bool = False, processes: int = 1
) -> list[Check]:
    """The checks in 2D and 3D; `on_rows` is called with those of each part as it is done.

    More than one process halves the time of the first run, most of which is compilation.
    """
    parts = [Part(dim, advection, everything) for advection in (True, False) for dim in (2, 3)]
    rows: list[Check] = []
    with ExitStack() as stack:
        results: Iterable[list[Check]] = map(Part.rows, parts)
        if processes > 1:
            context = get_context("spawn")
            results = stack.enter_context(ProcessPoolExecutor(processes, context)).map(Part.rows, parts)
        for found in results:
            rows += found
            if on_rows is not None:
                on_rows(found)
    return rows


def print_table(rows: Iterable[Check]) -> None:
    """The table, failures in red, and a line that sums it up."""
    from rich.console import Console
    from rich.table import Table

    rows = list(rows)
    table = Table(box=None, header_style="bold")
    for heading in ("what", "where", "test", "value", "wanted", ""):
        table.add_column(heading)
    for row in rows:
        mark = "[green]ok[/]" if row.passed else "[bold red]FAILED[/]"
        table.add_row(row.what, row.where, row.test, row.value, row.wanted, mark)
    console = Console()
    console.print(table)
    failed = sum(not row.passed for row in rows)
    console.print(f"{len(rows)} checks, {failed} failed" if failed else f"{len(rows)} checks, all passed")
