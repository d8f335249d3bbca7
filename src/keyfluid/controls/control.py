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
from keyfluid.controls.timing import Row, Timing
from keyfluid.fields import Field
from keyfluid.kernels.vectors import add_scaled


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
        if scales is None and self.sources is None:
            return None
        one = np.ones(self.basis.count) if scales is None else scales * scales
        own = np.tile(one.astype(self.basis.dtype), self.timing.count)
        more = self.sources.metric() if self.sources is not None else None
        return own if more is None else np.concatenate([own, more])


SOURCE = "source.surface"
"""Name of a step's input that sources are."""


class Penalty(Protocol):
    """A penalty on forces: its value and derivative for one step."""

    def term(self, force: Field) -> tuple[float, Field]: ...


class ControlForcing:
    """Forces of a control vector for a rollout; after its adjoint sweep `gradient` has their share of the objective.

    others: what else acts on a step, such as emissions, or a force beside the control's; source_penalty: of what is
    added to a level set. Steps that share a force, those of a window, are spread and gathered as one.
    """

    def __init__(
        self,
        control: Control,
        vector: np.ndarray,
        penalty: Penalty | None = None,
        others: Callable[[int], Mapping[str, Field]] = lambda step: {},
        source_penalty: Penalty | None = None,
    ) -> None:
        self.control, self.vector, self._others = control, vector, others
        sources = control.sources
        self._force = _Shared(control, vector[: control.own], penalty)
        self._source = None if sources is None else _Shared(sources, vector[control.own :], source_penalty)

    def gradient(self) -> tuple[float, np.ndarray]:
        """The penalties' value, and the derivative of all by the vector."""
        self._force.finish()
        if self._source is None:
            return self._force.paid, self._force.bar
        self._source.finish()
        return self._force.paid + self._source.paid, np.concatenate([self._force.bar, self._source.bar])

    def inputs(self, step: int) -> Mapping[str, Field]:
        inputs = dict(self._others(step))
        force = self._force.at(step)
        if force is not None:
            inputs["force"] = inputs["force"] + force if "force" in inputs else force
        source = self._source.at(step) if self._source is not None else None
        if source is not None:
            inputs[SOURCE] = source
        return inputs

    def pull(self, step: int, inputs_bar: Mapping[str, Field]) -> None:
        self._force.pull(step, inputs_bar.get("force"))
        if self._source is not None:
            self._source.pull(step, inputs_bar.get(SOURCE))


class _Shared:
    """The field of each step, made once for neighbouring steps that share it; its adjoint, their sum gathered once."""

    def __init__(self, control: Control, vector: np.ndarray, penalty: Penalty | None) -> None:
        self.control, self.vector, self.penalty = control, vector, penalty
        self.bar = np.zeros(control.own, control.basis.dtype)
        self.paid = 0.0
        self._made: tuple[Row, Field | None] = ((), None)
        self._waiting: list[int] = []
        self._sum: Field | None = None

    def at(self, step: int) -> Field | None:
        row = self.control.timing.row(step)
        if row != self._made[0]:
            self._made = (row, self.control.force(self.vector, step))
        return self._made[1]

    def pull(self, step: int, bar: Field | None) -> None:
        row = self.control.timing.row(step)
        if not row:
            return
        if self._waiting and row != self.control.timing.row(self._waiting[0]):
            self.finish()
        self._waiting.append(step)
        if bar is not None and self._sum is None:
            self._sum = bar.copy()
        elif bar is not None and self._sum is not None:
            add_scaled(1.0, bar.data, self._sum.data)

    def finish(self) -> None:
        """Gather what waits."""
        if self._waiting:
            step, count, total = self._waiting[0], len(self._waiting), self._sum
            field = self.at(step) if self.penalty is not None else None
            if self.penalty is not None and field is not None:
                term, term_bar = self.penalty.term(field)
                self.paid += count * term
                total = total if total is not None else field.zeros_like()
                add_scaled(count, term_bar.data, total.data)
            if total is not None:
                self.control.pull(step, total, self.bar)
            self._waiting, self._sum = [], None
