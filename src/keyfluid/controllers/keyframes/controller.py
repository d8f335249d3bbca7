"""`method = "adjoint"` and `method = "spectral"`: the forces that bring smoke to its keyframes, by optimisation.

    minimise phi(u) by L-BFGS, the gradient by the adjoint method                            [McNamara 2004, section 4]
    over a potential whose waves are let in from long to short                               [Tang 2021, section 4.2]

Both methods are this loop over stages (stages.py); they differ in their controls and defaults. After each stage the
film of the forces so far is made, so that there is a preview from the first minute on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from keyfluid.controllers.keyframes.begin import first_guess
from keyfluid.controllers.keyframes.edited import own_forces
from keyfluid.controllers.keyframes.evaluation import Evaluation, optimiser_bytes
from keyfluid.controllers.keyframes.layers import plan_layers
from keyfluid.controllers.keyframes.places import Place, from_other_run, part_name, restored, windows_of
from keyfluid.controllers.keyframes.replay import state_after
from keyfluid.controllers.keyframes.search import Here, Search
from keyfluid.controllers.keyframes.settings import SearchNumbers
from keyfluid.controllers.keyframes.shooting import Shooting, share_memory
from keyfluid.controllers.keyframes.stages import carry, make_control, plan_stages
from keyfluid.controllers.keyframes.windows import Pieces, Window, plan_windows
from keyfluid.controllers.shell import Shell
from keyfluid.problem import Problem

_PER_EVALUATION = 3.0
"""Simulations' work of an evaluation, its line search included (docs/benchmarks.md: gradient over forward)."""


class Keyframes:
    """The controller."""

    begins_from_frames = False
    films_again = True

    def check(self, problem: Problem, shell: Shell) -> None:
        settings = SearchNumbers.of(problem)
        self.memory_bytes(problem)
        if settings.start is not None:
            windows = windows_of(shell, problem, settings)
            last = len(windows) - 1
            from_other_run(shell, settings.start, windows, last, plan_stages(problem, settings, windows[last]))

    def memory_bytes(self, problem: Problem) -> int:
        settings = SearchNumbers.of(problem)
        count = 1
        if settings.schedule == "shooting":
            count, settings = share_memory(problem, settings)
        return count * max(
            Evaluation(plan_stages(problem, settings, window)[-1], settings).plan.total_bytes
            for window in _windows(problem, settings)
        )

    def simulations(self, problem: Problem) -> float:
        """An evaluation is a simulation and its adjoint; a coarser grid's is cheaper by its cells."""
        settings = SearchNumbers.of(problem)
        work = 0.0
        for window in _windows(problem, settings):
            share = (window.last - window.first) / problem.frames
            for stage in plan_stages(problem, settings, window):
                work += share * stage.iterations * stage.problem.grid.count / problem.grid.count
        passes = (settings.rounds + 1) / 2 if settings.schedule == "shooting" else 1.0
        return _PER_EVALUATION * passes * work

    def stored_bytes(self, problem: Problem) -> int:
        """Points and gradients of the optimiser's memory, and the forces of every window."""
        settings = SearchNumbers.of(problem)
        cutoff = settings.cutoffs(problem)[-1]
        sizes = [make_control(problem, settings, cutoff, window).nbytes for window in _windows(problem, settings)]
        return 2 * (settings.history + 2) * max(sizes) + sum(sizes)

    def plan_lines(self, problem: Problem) -> Sequence[str]:
        """What will be searched, and what that takes."""
        settings = SearchNumbers.of(problem)
        workers = 1
        if settings.schedule == "shooting":
            workers, settings = share_memory(problem, settings)
        windows = _windows(problem, settings)
        longest = max(windows, key=lambda window: window.last - window.first)
        stages = plan_stages(problem, settings, longest)
        control, timing = stages[-1].control, stages[-1].control.timing
        lines = [
            f"{control.count:,} unknowns ({timing.count} x {control.basis.count:,}, {control.nbytes / 1e6:.1f} MB; "
            f"with the optimiser's vectors {optimiser_bytes(control, settings.history) / 1e6:.1f} MB)",
            str(Evaluation(stages[-1], settings).plan),
            "stages: " + "; ".join(f"{stage.label} (at most {stage.iterations} iterations)" for stage in stages),
        ]
        if settings.schedule == "shooting":
            spans = " and ".join(
                ", ".join(f"{window.first}-{window.last}" for window in layer)
                for layer in plan_layers(problem, settings.span)
            )
            lines.append(f"windows in two layers, frames {spans}; {workers} at once; the numbers are one window's")
        elif len(windows) > 1:
            spans = ", ".join(f"{window.first}-{window.last}" for window in windows)
            lines.append(f"{len(windows)} windows one after the other, frames {spans}; the numbers are the longest's")
        return lines

    def run(self, problem: Problem, shell: Shell) -> None:
        settings = SearchNumbers.of(problem)
        if settings.schedule == "shooting":
            Shooting(problem, settings, shell).run()
            return
        windows = windows_of(shell, problem, settings)
        if shell.restored is None and windows != plan_windows(problem, settings.schedule):
            shell.note(f"windows as in {settings.start}: {len(windows)}; control.schedule can say otherwise")
        plans = [plan_stages(problem, settings, window) for window in windows]
        place = restored(shell, plans, settings)
        pieces, kept = Pieces(own_forces(problem)), [*place.found]
        for number, stages in enumerate(plans):
            if number < place.window:
                pieces = pieces.and_then(stages[-1].control, place.found[kept[number]])
                continue
            start = state_after(problem, pieces, windows[number].first) if number > 0 else None
            if place.state is None and settings.start is not None:
                place, vector = from_other_run(shell, settings.start, windows, number, stages)
            else:
                vector = first_guess(stages[0], settings) if place.state is None else place.state.now.x
            for rank in range(place.stage, len(stages)):
                if rank > place.stage:
                    vector = carry(vector, stages[rank - 1].control, stages[rank].control)
                search = Search(shell, settings, plans, Here(number, rank, pieces, tuple(kept), start))
                state = search.go(vector, place)
                vector = state.best.x
                if rank + 1 < len(stages):
                    search.preview(vector)
                else:
                    search.film(vector, problem.frames if number + 1 == len(plans) else windows[number].last)
                if stages[rank] is not plans[-1][-1]:
                    shell.show()
                place = replace(place, state=None)
            pieces = pieces.and_then(stages[-1].control, vector)
            kept.append(part_name(number, len(stages) - 1, state.lowest))
            place = Place()


def _windows(problem: Problem, settings: SearchNumbers) -> list[Window]:
    """All windows that a schedule solves, those of shooting once per layer."""
    if settings.schedule == "shooting":
        return [window for layer in plan_layers(problem, settings.span) for window in layer]
    return plan_windows(problem, settings.schedule)
