"""The server's memory stays where it is: a small version of benchmarks/studio_memory.py, which has the real figures."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytest.importorskip("starlette")

from studio_kit import running_studio


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_memory_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(Path(__file__).parents[2] / "benchmarks"), *sys.path])
    import studio_memory

    studio_memory.fill(tmp_path / "work", 40)
    with running_studio(tmp_path / "work") as studio:
        steps = list(studio_memory.use(studio, 40, 100, 10))
    assert len(steps) == 4
    assert max(megabytes for _, megabytes in steps) - steps[0][1] < studio_memory.LIMIT, steps
