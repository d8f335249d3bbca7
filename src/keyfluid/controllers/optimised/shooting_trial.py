"""The first window of shooting, solved for the run-time estimate alone."""

from __future__ import annotations

from collections.abc import Sequence

from keyfluid.controllers.optimised.evaluation import Evaluation
from keyfluid.controllers.optimised.minimise import Entry, Watch, WindowSearch, solve_window
from keyfluid.controllers.optimised.settings import SearchNumbers
from keyfluid.controllers.optimised.stages import Stage
from keyfluid.controllers.optimised.unknowns import first_guess
from keyfluid.controllers.shell import Shell, Stopped
from keyfluid.optimise.lbfgs import Minimisation
from keyfluid.problem import Problem

_BESIDE = 0.8
"""Share of a process's time that another one at work beside it adds."""


def try_window(
    problem: Problem, settings: SearchNumbers, stages: Sequence[Sequence[Stage]], workers: int, shell: Shell
) -> None:
    """Report its iterations as a share of the work of all rounds."""
    first = stages[0]
    search = WindowSearch(first, settings)
    entry = Entry(0, first_guess(first[0].control, first[0].problem, settings))
    solve_window(search, entry, _Trial(first, _all_work(settings, stages, workers), shell))


def _all_work(settings: SearchNumbers, stages: Sequence[Sequence[Stage]], workers: int) -> float:
    """The first round has all stages, later ones and the closing only the last; `stages` are those of two rounds."""
    first = sum(stage.iterations * stage.cost for found in stages for stage in found) / 2
    later = sum(found[-1].iterations * found[-1].cost for found in stages) / 2
    return (first + (settings.rounds - 1) * later) / (1 + _BESIDE * (workers - 1)) + later


class _Trial(Watch):
    """Reports iterations to a shell."""

    def __init__(self, stages: Sequence[Stage], total: float, shell: Shell) -> None:
        self._stages, self._total, self._shell, self._done = stages, total, shell, 0.0

    def stop_if_asked(self) -> None:
        if self._shell.stop_requested:
            raise Stopped

    def iterated(self, rank: int, state: Minimisation, evaluation: Evaluation) -> None:
        self._done += self._stages[rank].cost if state.iteration > 0 else 0.0
        left = max(self._total - self._done, 0.0)
        self._shell.progress(state.iteration, self._stages[rank].iterations, "iteration", work=(self._done, left))

    def finished(self, rank: int, state: Minimisation) -> None:
        """Nothing is kept."""
