"""The operator contract: a simulation is a list of operations, and each knows its own adjoint.

[McNamara et al. 2004, sections 3 and 6]  An operator f has, side by side in one file,

    forward(*inputs)                 -> outputs          f(x)
    tangent(inputs, d_inputs)        -> d_outputs        J(x) d_x
    adjoint(inputs, outputs_bar)     -> inputs_bar       J(x)^T y_bar      (Euclidean transpose of the tangent)

An operator that has to find something out first, a matrix or an order of cells, and needs it in both directions, writes
`work` and `forward_with`, `tangent_with`, `adjoint_with`: who runs it forward and back keeps the work in between.

Inputs and outputs are tuples of fields; `d_` marks a tangent, `_bar` an adjoint. A linear (or affine) operator
writes `apply` and `transpose` only. Operators are values: what they do is fixed when they are made.
Flux limiters have no useful derivative; such operators are `ForwardOnly`, and gradient rollouts refuse them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Generic, TypeVar

from keyfluid.errors import KeyfluidError
from keyfluid.fields import Field

Fields = tuple[Field, ...]
Work = TypeVar("Work")


class Operator(ABC):
    """One operation with its derivative; see the module docstring."""

    linear: ClassVar[bool] = False
    """True if the derivative does not depend on the inputs, which then need not be stored."""

    differentiable: ClassVar[bool] = True

    @abstractmethod
    def forward(self, *inputs: Field) -> Fields: ...

    @abstractmethod
    def tangent(self, inputs: Fields, d_inputs: Fields) -> Fields: ...

    @abstractmethod
    def adjoint(self, inputs: Fields, outputs_bar: Fields) -> Fields: ...


class SharedWork(Operator, Generic[Work]):
    """An operator whose forward, tangent and adjoint begin with the same work on the inputs."""

    @abstractmethod
    def work(self, *inputs: Field) -> Work: ...

    @abstractmethod
    def forward_with(self, work: Work, inputs: Fields) -> Fields: ...

    @abstractmethod
    def tangent_with(self, work: Work, inputs: Fields, d_inputs: Fields) -> Fields: ...

    @abstractmethod
    def adjoint_with(self, work: Work, inputs: Fields, outputs_bar: Fields) -> Fields: ...

    def forward(self, *inputs: Field) -> Fields:
        return self.forward_with(self.work(*inputs), inputs)

    def tangent(self, inputs: Fields, d_inputs: Fields) -> Fields:
        return self.tangent_with(self.work(*inputs), inputs, d_inputs)

    def adjoint(self, inputs: Fields, outputs_bar: Fields) -> Fields:
        return self.adjoint_with(self.work(*inputs), inputs, outputs_bar)


class LinearOperator(Operator):
    """An operator whose derivative is the same everywhere: f(x) = A x, or A x + b."""

    linear: ClassVar[bool] = True

    @abstractmethod
    def apply(self, *inputs: Field) -> Fields:
        """A x."""

    @abstractmethod
    def transpose(self, *outputs_bar: Field) -> Fields:
        """A^T y_bar."""

    def forward(self, *inputs: Field) -> Fields:
        return self.apply(*inputs)

    def tangent(self, inputs: Fields, d_inputs: Fields) -> Fields:
        return self.apply(*d_inputs)

    def adjoint(self, inputs: Fields, outputs_bar: Fields) -> Fields:
        return self.transpose(*outputs_bar)


class SymmetricOperator(LinearOperator):
    """A linear operator that is its own transpose: projection, diffusion, blur."""

    def transpose(self, *outputs_bar: Field) -> Fields:
        return self.apply(*outputs_bar)


class ForwardOnly(Operator):
    """An operator without a derivative: it may be part of a simulation, but not of a gradient."""

    differentiable: ClassVar[bool] = False

    def tangent(self, inputs: Fields, d_inputs: Fields) -> Fields:
        raise self._refusal()

    def adjoint(self, inputs: Fields, outputs_bar: Fields) -> Fields:
        raise self._refusal()

    def _refusal(self) -> KeyfluidError:
        return KeyfluidError(f"{type(self).__name__} has no derivative; a gradient needs another operator")
