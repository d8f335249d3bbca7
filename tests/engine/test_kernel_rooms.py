"""Kernels live where they are used: in the room's own folder `kernels`, or in keyfluid/kernels if rooms share them."""

from __future__ import annotations

from pathlib import Path

import pytest

import keyfluid
from keyfluid.kernels.source_digest import _module, _read

SOURCE = Path(keyfluid.__file__).parent
SHARED = sorted({path.stem for path in (SOURCE / "kernels").glob("*.py")} - {"__init__", "compile", "source_digest"})


def room(path: Path) -> str:
    """A top-level package or module; of the controllers, each method is a room."""
    parts = path.relative_to(SOURCE).parts
    return "/".join(parts[:2] if parts[0] == "controllers" else parts[:1])


def rooms_using(name: str) -> set[str]:
    """Rooms that import a shared kernel, be it through another one."""
    file = SOURCE / "kernels" / f"{name}.py"
    users = [path for path in SOURCE.rglob("*.py") if file in {module.file for module in _read(_module(path))[1]}]
    others = [path.stem for path in users if room(path) == "kernels"]
    return {room(path) for path in users}.union(*map(rooms_using, others)) - {"kernels"}


@pytest.mark.parametrize("name", SHARED)
def test_shared_kernels_are_shared(name: str) -> None:
    assert len(rooms_using(name)) > 1, f"kernels/{name}.py: move it to the one room that uses it"


def test_kernels_live_in_folders_of_that_name() -> None:
    """There, the type checker and this test know them for what they are."""
    elsewhere = [
        path.relative_to(SOURCE)
        for path in SOURCE.rglob("*.py")
        if path.parent.name != "kernels"
        and SOURCE / "kernels" / "compile.py" in {module.file for module in _read(_module(path))[1]}
    ]
    assert not elsewhere
