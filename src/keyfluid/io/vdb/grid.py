"""A dense array with the name, place and meaning that an OpenVDB file gives it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

GridClass = Literal["fog volume", "level set", "staggered", "unknown"]
VectorType = Literal[
    "invariant", "covariant", "covariant normalize", "contravariant relative", "contravariant absolute"
]
MetadataValue = str | bool | int | float
Value = float | tuple[float, float, float]


@dataclass(eq=False)
class VdbGrid:
    """One grid of a VDB file.

    data         (nx, ny, nz) for a scalar, (nx, ny, nz, 3) for a vector; ``data[0, 0, 0]`` has the index
                 `first_index` (which may be negative).
    transform    4 x 4, world = transform @ (i, j, k, 1): the *centre* of voxel (i, j, k), in metres.
    grid_class   "level set": `background` is the half width of the band, in metres; values are clamped
                 to +-background and only the voxels strictly between are active.
    active       (nx, ny, nz): the voxels that are stored; the others take the background value. None: those whose
                 values differ from the background. A level set has its own rule, above.
    vector_type  how a vector turns with a transform; "contravariant relative" is right for velocity.
    half         stored in half precision, else in single.
    metadata     what the file says about this grid beyond the fields above.
    """

    name: str
    data: np.ndarray
    first_index: tuple[int, int, int] = (0, 0, 0)
    transform: np.ndarray = field(default_factory=lambda: np.eye(4))
    grid_class: GridClass = "unknown"
    background: Value = 0.0
    vector_type: VectorType = "invariant"
    active: np.ndarray | None = None
    half: bool = False
    metadata: dict[str, MetadataValue] = field(default_factory=dict)

    @property
    def voxel_size(self) -> tuple[float, float, float]:
        """Lengths of the three voxel edges in metres."""
        x, y, z = np.linalg.norm(self.transform[:3, :3], axis=0)
        return float(x), float(y), float(z)


def cell_transform(spacing: float, origin: Sequence[float] = (0.0, 0.0, 0.0)) -> np.ndarray:
    """Transform of keyfluid's cells: the centre of cell i lies at origin + (i + 1/2) spacing."""
    transform = np.diag([spacing, spacing, spacing, 1.0])
    transform[:3, 3] = np.asarray(origin, dtype=float) + 0.5 * spacing
    return transform
