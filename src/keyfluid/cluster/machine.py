"""What decides the bits of a result, beside the scene: software and processor. Workers must have the same."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from keyfluid import __version__
from keyfluid.io.run.fingerprint import packages, processor
from keyfluid.solvers.transforms import BACKEND


@dataclass(frozen=True)
class Machine:
    """version: of keyfluid; source: a hash of its files; features: of the processor, as far as kernels use them."""

    version: str
    source: str
    packages: tuple[tuple[str, str], ...]
    transforms: str
    features: tuple[str, ...]

    @classmethod
    def here(cls) -> Machine:
        return cls(__version__, _source(), tuple(sorted(packages().items())), BACKEND, processor()[1])

    def difference(self, other: Machine) -> str | None:
        """How another machine differs, and what to do, as the end of a line; None if it gives the same bits."""
        if self.version != other.version:
            return f"has keyfluid {other.version}, this machine has {self.version}; install the same version"
        if self.source != other.source:
            return f"has other source files of keyfluid {self.version} than this machine; install the same ones"
        mine, theirs = dict(self.packages), dict(other.packages)
        for name in sorted({*mine, *theirs}):
            if mine.get(name) != theirs.get(name):
                have, here = theirs.get(name, "none"), mine.get(name, "none")
                return f"has {name} {have}, this machine has {here}; install the same version"
        if self.transforms != other.transforms:
            return f"does its transforms by {other.transforms}, this machine by {self.transforms}; install the same"
        if self.features != other.features:
            differ = ", ".join(sorted(set(self.features) ^ set(other.features)))
            return f"differs from this machine in {differ}, which changes the last bits; use processors of one kind"
        return None


@cache
def _source() -> str:
    root, total = Path(__file__).resolve().parents[1], hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        total.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return total.hexdigest()[:16]
