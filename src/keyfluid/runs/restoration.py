"""Where a run can go on: what its folder holds is checked and read here, and nothing is written."""

from __future__ import annotations

from dataclasses import dataclass

from keyfluid.controllers import controller_for
from keyfluid.controllers.shell import Checkpoint
from keyfluid.errors import KeyfluidError
from keyfluid.io.run.checkpoints import ShellMemory, Stored
from keyfluid.io.run.run_folder import RunFolder
from keyfluid.problem import Problem


@dataclass(frozen=True, eq=False)
class Resumption:
    """Where to go on: frames after `last` are made again.

    from_frame: asked for by `resume --from`; older: why it is the last checkpoint but one, if it is.
    """

    checkpoint: Checkpoint
    last: int
    memory: ShellMemory
    from_frame: int | None = None
    older: str | None = None


class Restoration:
    """Finds where the run of `problem` in a folder can continue."""

    def __init__(self, folder: RunFolder, problem: Problem) -> None:
        self.folder, self.problem = folder, problem
        self._films = controller_for(problem.method)

    def is_whole(self) -> bool:
        """Whether a finished run's frames are as they were written; raises if they are not and can't be filmed again
        from the checkpoint, which may be gone."""
        try:
            self._check_frames(self.problem.frames)
        except KeyfluidError:
            if not self._films.films_again or not self.folder.checkpoints.exist:
                raise
            return False
        return True

    def from_checkpoint(self) -> Resumption | None:
        """None where there is none yet; raises where that would give up frames that the run could go on from."""
        found = self._load_checkpoint()
        if found is None:
            whole = self.folder.frames.whole()
            if whole > 1 and self._films.begins_from_frames:
                raise KeyfluidError(
                    f"{self.folder.path}: has {whole + 1} frames but no checkpoint; "
                    f"{self._way_out(whole, 'continues from the last intact frame')}"
                )
            return None
        last = self._intact(int(found.shell["last_frame"]))
        if not found.arrays and self._films.begins_from_frames:
            return Resumption(self._state_of(last), last, found.shell)  # all that a finished run keeps
        return Resumption(Checkpoint(found.arrays, found.controller), last, found.shell, older=found.older)

    def from_frame(self, index: int) -> Resumption:
        """With the checkpoint's memory, if it can be read: `--from` is also the way out of a damaged one."""
        indices = self.folder.frames.indices()
        if index not in indices:
            have = f"it has {indices[0]} to {indices[-1]}" if indices else "it has none"
            raise KeyfluidError(f"--from {index}: this run has no such frame ({have})")
        try:
            found = self.folder.checkpoints.load()
        except KeyfluidError:
            found = None
        last = self._intact(index)
        return Resumption(self._state_of(index), last, found.shell if found is not None else {}, index)

    def _state_of(self, index: int) -> Checkpoint:
        """A frame as a checkpoint."""
        record = self.folder.frames.read(index).record(self.problem.grid, self.problem.carried)
        arrays = {name: field.data for name, field in record.state.items()}
        return Checkpoint({**arrays, **record.particles}, {"frame": index, **record.memory})

    def _intact(self, last: int) -> int:
        """`last`, if the frames up to it are; -1 if they can be filmed again."""
        try:
            self._check_frames(last)
        except KeyfluidError:
            if not self._films.films_again:
                raise
            return -1
        return last

    def _load_checkpoint(self) -> Stored | None:
        try:
            return self.folder.checkpoints.load()
        except KeyfluidError as error:
            whole = self.folder.frames.whole()
            raise KeyfluidError(f"{error}; {self._way_out(whole, 'continues from the last intact frame')}") from None

    def _check_frames(self, last: int) -> None:
        for index in range(last + 1):
            try:
                self.folder.frames.check(index)
            except KeyfluidError as error:
                raise KeyfluidError(f"{error}; {self._way_out(index - 1, 'recomputes it')}") from None

    def _way_out(self, whole: int, what: str) -> str:
        """What to do about damage: resume from the last whole frame, where the method can start from one."""
        if whole >= 0 and self._films.begins_from_frames:
            return f"keyfluid resume {self.folder.path} --from {whole} {what}"
        return "run the scene again with --overwrite"
