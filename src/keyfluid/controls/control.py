"""A control vector as per-step forces, with the adjoint [McNamara 2004, eq. 1 and section 6.7: v + dt M_t u].

    f_t = B sum_k T_tk c_k        B: basis in space (basis.py), T: plan in time (timing.py)
    c_k_bar = sum_t T_tk B^T f_t_bar

The control vector holds all c_k one after the other, in the run's precision; those of a liquid's sources, which have a
basis and a plan of their own, come last.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from keyfluid.controls.basis import Basis
from keyfluid.controls.timing import Timing
from keyfluid.fields import Field


@dataclass(frozen=True, eq=False)
class Control:
    """A basis and a timing; sources: the same for what is added to a liquid's level set."""

    basis: Basis
    timing: Timing
    sources: Control | None = None

    @property
    def own(self) -> int:
        """Unknowns of the forces."""
        return self.timing.count * self.basis.count

    @property
    def count(self) -> int:
        """Length of the control vector."""
        return self.own + (self.sources.count if self.sources is not None else 0)

    @property
    def nbytes(self) -> int:
        return self.count * self.basis.dtype.itemsize

    def zeros(self) -> np.ndarray:
        return np.zeros(self.count, self.basis.dtype)

    def force(self, vector: np.ndarray, step: int) -> Field | None:
        """The force of a step; None where the control does not act."""
        mixed = self.mixed(vector, step)
        return None if mixed is None else self.basis.force(mixed)

    def source(self, vector: np.ndarray, step: int) -> Field | None:
        """The source of a step; None where there is none."""
        return None if self.sources is None else self.sources.force(vector[self.own :], step)

    def pull_source(self, step: int, source_bar: Field, vector_bar: np.ndarray) -> None:
        if self.sources is not None:
            self.sources.pull(step, source_bar, vector_bar[self.own :])

    def pull(self, step: int, force_bar: Field, vector_bar: np.ndarray) -> None:
        """Add the adjoint of a step's force to that of the control vector."""
        row = self.timing.row(step)
        if not row:
            return
        sets = vector_bar[: self.own].reshape(self.timing.count, self.basis.count)
        bar = self.basis.pull(force_bar)
        for k, weight in row:
            sets[k] += bar * bar.dtype.type(weight)

    def mixed(self, vector: np.ndarray, step: int) -> np.ndarray | None:
        """The coefficients of a step's force; None where the control does not act."""
        row = self.timing.row(step)
        if not row:
            return None
        sets = vector[: self.own].reshape(self.timing.count, self.basis.count)
        (first, weight), *rest = row
        mixed = sets[first] * vector.dtype.type(weight)
        for k, weight in rest:
            mixed += sets[k] * vector.dtype.type(weight)
        return mixed

    def metric(self) -> np.ndarray | None:
        """Scales squared of all unknowns, for the optimiser; None: all alike."""
        scales = self.basis.scales()
        if scales is None:
            return None
        own = np.tile((scales * scales).astype(self.basis.dtype), self.timing.count)
        return np.concatenate([own, np.ones(self.count - self.own, own.dtype)])


SOURCE = "source.surface"
"""Name of a step's input that sources are."""


class Penalty(Protocol):
    """A price of forces: value and derivative of one step's."""

    def term(self, force: Field) -> tuple[float, Field]: ...


class ControlForcing:
    """Forces of a control vector for a rollout; its gradient gathers in `vector_bar`, penalties in `price`.

    others: what else acts on a step, such as emissions, or a force beside the control's; source_penalty: of what is
    added to a level set.
    """

    def __init__(
        self,
        control: Control,
        vector: np.ndarray,
        penalty: Penalty | None = None,
        others: Callable[[int], Mapping[str, Field]] = lambda step: {},
        source_penalty: Penalty | None = None,
    ) -> None:
        self.control, self.vector, self.penalty, self._others = control, vector, penalty, others
        self.source_penalty = source_penalty
        self.vector_bar = control.zeros()
        self.price = 0.0

    def inputs(self, step: int) -> Mapping[str, Field]:
        inputs = dict(self._others(step))
        force = self.control.force(self.vector, step)
        if force is not None:
            inputs["force"] = inputs["force"] + force if "force" in inputs else force
        source = self.control.source(self.vector, step)
        if source is not None:
            inputs[SOURCE] = source
        return inputs

    def pull(self, step: int, inputs_bar: Mapping[str, Field]) -> None:
        bar = self._priced(inputs_bar.get("force"), self.penalty, self.control.force, step)
        if bar is not None:
            self.control.pull(step, bar, self.vector_bar)
        bar = self._priced(inputs_bar.get(SOURCE), self.source_penalty, self.control.source, step)
        if bar is not None:
            self.control.pull_source(step, bar, self.vector_bar)

    def _priced(
        self,
        bar: Field | None,
        penalty: Penalty | None,
        field_of: Callable[[np.ndarray, int], Field | None],
        step: int,
    ) -> Field | None:
        """The adjoint with that of the price added; the price goes to `price`."""
        field = field_of(self.vector, step) if penalty is not None else None
        if penalty is None or field is None:
            return bar
        price, penalty_bar = penalty.term(field)
        self.price += price
        return penalty_bar if bar is None else bar + penalty_bar
