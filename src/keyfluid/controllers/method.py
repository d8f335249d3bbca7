"""What a method is: it plans a problem, then runs its plan. docs/methods.md has an example for authors.

    plan = method.plan(problem, other_runs)    what will be done, and what that takes; raises what can't be done
    method.run(plan, shell)                    simulate, and hand every frame to the shell

Everything that is known before a run is read off the plan: memory, work, disk, the lines to print. A problem is planned
once, and nothing is written before that.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from keyfluid.controllers.shell import Checkpoint, Shell
from keyfluid.errors import KeyfluidError
from keyfluid.problem import FrameRecord, Problem


@dataclass(frozen=True, eq=False)
class OtherRun:
    """The run in another folder, to begin from what it found: its problem, its last checkpoint and its frames.

    record    reads a frame; raises if it is missing or damaged
    seconds   how long the velocities lasted that a frame keeps, without reading them
    finished  whether it has all of them
    """

    folder: str
    problem: Problem
    checkpoint: Checkpoint
    finished: bool
    record: Callable[[int], FrameRecord]
    seconds: Callable[[int], Sequence[float]]


@dataclass(frozen=True)
class Workers:
    """Workers of other machines: how many, and the memory that each may use."""

    count: int
    memory_bytes: int


class OtherRuns(Protocol):
    """Opens the run in a folder; `key` names it in the scene."""

    def __call__(self, folder: str, key: str = ...) -> OtherRun: ...


@dataclass(frozen=True, eq=False, kw_only=True)
class Plan:
    """What a run will do. A method derives its own, with what it has worked out.

    memory_bytes  beyond a free simulation
    frames_beside frames that are there while that memory is held; None: all, as they are made one by one
    stored_bytes  of checkpoints while it runs, beyond a state
    kept_bytes    of those, what a finished run keeps
    frame_bytes   of a frame on disk, beyond its fields
    steps         of a frame, as far as can be known where the method chooses them itself; 0: as the scene says
    likely        share of the most work that a run usually takes, where a search may end early
    lines         to print before a run: what is searched or stored
    """

    problem: Problem
    memory_bytes: int = 0
    frames_beside: int | None = None
    stored_bytes: int = 0
    kept_bytes: int = 0
    frame_bytes: int = 0
    steps: float = 0.0
    likely: float = 1.0
    lines: Sequence[str] = ()


class Method(ABC):
    """A method, made without arguments.

    begins_from_frames  whether `resume --from FRAME` can be asked of it: not where all forces are found together
    films_again         whether frames are films of what a checkpoint holds, so that damaged ones can be made again
    """

    begins_from_frames = True
    films_again = False

    @abstractmethod
    def plan(self, problem: Problem, other_runs: OtherRuns) -> Plan:
        """Work out what will be done; raise what can't be."""

    @abstractmethod
    def run(self, plan: Plan, shell: Shell) -> None:
        """Simulate from `shell.restored` or the start to the last frame; raise Stopped to end early."""

    def shared(self, plan: Plan, workers: Workers) -> Plan:
        """The same plan for workers that `shell.hire` gets; raises where a method has nothing that others could do."""
        raise KeyfluidError(
            '--cluster: one run is spread over workers only with control.schedule = "shooting"; remove --cluster, '
            "or use it with keyfluid wedge"
        )

    def trial(self, plan: Plan, shell: Shell) -> None:
        """Begin the run for the run-time estimate alone: report progress until the shell asks to stop."""
        self.run(plan, shell)

    def what_stays(self, last: Checkpoint) -> Checkpoint:
        """What of the last checkpoint a finished run keeps: no arrays where its last frame has them."""
        return Checkpoint({}, last.meta) if self.begins_from_frames else last
