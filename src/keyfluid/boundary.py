"""What happens at the sides of the box, axis by axis.

walls     nothing passes: the normal velocity is zero, tangential velocity slips freely, smoke stays.
periodic  what leaves on one side enters on the other.
open      air passes freely against zero pressure, held in the first ghost cell outside; what comes in carries
          no smoke and the velocity of the side.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from keyfluid.errors import KeyfluidError

WALL_SIDE, PERIODIC_SIDE, OPEN_SIDE = 0, 1, 2
"""The kinds as kernels take them: Numba compiles these names as the numbers they are."""


class Boundary(StrEnum):
    """The kind of both sides of the box along one axis."""

    WALLS = "walls"
    PERIODIC = "periodic"
    OPEN = "open"

    @property
    def code(self) -> int:
        """The kind as a number, for kernels."""
        return _CODES[self]


_CODES = {Boundary.WALLS: WALL_SIDE, Boundary.PERIODIC: PERIODIC_SIDE, Boundary.OPEN: OPEN_SIDE}


def boundaries(kinds: str | Sequence[str], dim: int) -> tuple[Boundary, ...]:
    """One kind for every axis, from one word for all or a list with a word per axis."""
    words = [kinds] * dim if isinstance(kinds, str) else list(kinds)
    if len(words) != dim:
        raise KeyfluidError(f"boundary: {len(words)} kinds given for {dim} axes; give one word, or one per axis")
    try:
        return tuple(Boundary(word) for word in words)
    except ValueError:
        known = ", ".join(kind.value for kind in Boundary)
        raise KeyfluidError(f"boundary: {kinds!r} is not known; use {known}") from None
