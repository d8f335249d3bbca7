"""Errors that the user can fix: one line with the key or file, what is wrong and what to do."""

from __future__ import annotations

from collections.abc import Sequence


class KeyfluidError(ValueError):
    """Something in the input, the machine or the run folder stands in the way; the text says how to go on."""


class BlowUp(KeyfluidError):
    """The flow has left all sense: speeds that are not finite, or that cross the whole domain in a step.

    An optimiser steps back from forces that do this; everything else ends with its text.
    """


class WorkerDied(KeyfluidError):
    """A worker process ended without an answer; what the run has saved is whole."""


class SceneError(KeyfluidError):
    """A fault in a scene; `key` is the dotted path of the key at fault, such as ``keyframe[0].text``."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(f"{key}: {message}" if key else message)
        self.key = key
        self.message = message

    def __reduce__(self) -> tuple[type[SceneError], tuple[str, str]]:
        """Made again from its parts when it comes from another process."""
        return type(self), (self.key, self.message)


class SceneErrors(KeyfluidError):
    """All that is wrong with a scene; `faults` holds one SceneError each, and the text one line each."""

    def __init__(self, faults: Sequence[SceneError]) -> None:
        super().__init__("\n".join(str(fault) for fault in faults))
        self.faults = list(faults)

    def __reduce__(self) -> tuple[type[SceneErrors], tuple[list[SceneError]]]:
        return type(self), (self.faults,)


class OverBudget(KeyfluidError):
    """Not even one step of a gradient fits into the memory it may take."""


class ConvergenceWarning(UserWarning):
    """An iterative solve stopped before its tolerance; the text says by how much."""


def faults_of(error: KeyfluidError) -> list[dict[str, str]]:
    """The faults of a scene, each with its key path; nothing for other errors."""
    faults = error.faults if isinstance(error, SceneErrors) else [error] if isinstance(error, SceneError) else []
    return [{"path": fault.key, "message": fault.message} for fault in faults]
