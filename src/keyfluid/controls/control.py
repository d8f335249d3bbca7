"""A control vector as per-step forces, with the adjoint [McNamara 2004, eq. 1 and section 6.7: v + dt M_t u].

    f_t = B sum_k T_tk c_k        B: basis in space (basis.py), T: plan in time (timing.py)
    c_k_bar = sum_t T_tk B^T f_t_bar

The control vector holds all c_k one after the other, in the run's precision.
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
    """A basis and a timing."""

    basis: Basis
    timing: Timing

    @property
    def count(self) -> int:
        """Length of the control vector."""
        return self.timing.count * self.basis.count

    @property
    def nbytes(self) -> int:
        return self.count * self.basis.dtype.itemsize

    def zeros(self) -> np.ndarray:
        return np.zeros(self.count, self.basis.dtype)

    def force(self, vector: np.ndarray, step: int) -> Field | None:
        """The force of a step; None where the control does not act."""
        mixed = self.mixed(vector, step)
        return None if mixed is None else self.basis.force(mixed)

    def pull(self, step: int, force_bar: Field, vector_bar: np.ndarray) -> None:
        """Add the adjoint of a step's force to that of the control vector."""
        row = self.timing.row(step)
        if not row:
            return
        sets = vector_bar.reshape(self.timing.count, self.basis.count)
        bar = self.basis.pull(force_bar)
        for k, weight in row:
            sets[k] += bar * bar.dtype.type(weight)

    def mixed(self, vector: np.ndarray, step: int) -> np.ndarray | None:
        """The coefficients of a step's force; None where the control does not act."""
        row = self.timing.row(step)
        if not row:
            return None
        sets = vector.reshape(self.timing.count, self.basis.count)
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
        return np.tile((scales * scales).astype(self.basis.dtype), self.timing.count)


class Penalty(Protocol):
    """A price of forces: value and derivative of one step's."""

    def term(self, force: Field) -> tuple[float, Field]: ...


class ControlForcing:
    """Forces of a control vector for a rollout; its gradient gathers in `vector_bar`, penalties in `price`.

    others: what else acts on a step, such as sources, or a force beside the control's.
    """

    def __init__(
        self,
        control: Control,
        vector: np.ndarray,
        penalty: Penalty | None = None,
        others: Callable[[int], Mapping[str, Field]] = lambda step: {},
    ) -> None:
        self.control, self.vector, self.penalty, self._others = control, vector, penalty, others
        self.vector_bar = control.zeros()
        self.price = 0.0

    def inputs(self, step: int) -> Mapping[str, Field]:
        inputs = dict(self._others(step))
        force = self.control.force(self.vector, step)
        if force is not None:
            inputs["force"] = inputs["force"] + force if "force" in inputs else force
        return inputs

    def pull(self, step: int, inputs_bar: Mapping[str, Field]) -> None:
        bar = inputs_bar.get("force")
        if self.penalty is not None:
            force = self.control.force(self.vector, step)
            if force is not None:
                price, penalty_bar = self.penalty.term(force)
                self.price += price
                bar = penalty_bar if bar is None else bar + penalty_bar
        if bar is not None:
            self.control.pull(step, bar, self.vector_bar)
