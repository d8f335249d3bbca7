"""Threads that a run takes by itself: one for tiny grids, idle cores for small ones, all for large ones."""

from __future__ import annotations

import pytest

from keyfluid.runs import busy, run
from keyfluid.runs.run import SMALL_GRID, TINY_GRID, usual_threads


@pytest.mark.parametrize(
    ("cells", "idle", "threads"),
    [
        (TINY_GRID - 1, 4.0, 1), (TINY_GRID, 4.0, 4), (TINY_GRID, 2.3, 2), (TINY_GRID, 0.1, 1), (TINY_GRID, 9.0, 4),
        (TINY_GRID, None, 1), (SMALL_GRID, 0.0, 4),
    ],
)  # fmt: skip
def test_idle_cores_are_used_by_small_grids(monkeypatch, cells, idle, threads):
    monkeypatch.setattr(run, "available", lambda: 4)
    monkeypatch.setattr(run, "idle_cores", lambda: idle)
    assert usual_threads(cells) == threads


def test_idle_cores_from_the_systems_ticks(monkeypatch):
    ticks = iter([(100, 1000), (115, 1020)])
    monkeypatch.setattr(busy, "_idle_ticks", lambda: next(ticks))
    monkeypatch.setattr(busy.os, "cpu_count", lambda: 8)
    monkeypatch.setattr(busy.time, "sleep", lambda seconds: None)
    assert busy.idle_cores() == pytest.approx(6.0)


@pytest.mark.parametrize("fault", [OSError("no such file"), ValueError("words"), IndexError("short")])
def test_where_the_system_does_not_tell_nothing_is_known(monkeypatch, fault):
    def unreadable():
        raise fault

    monkeypatch.setattr(busy, "_idle_ticks", unreadable)
    assert busy.idle_cores() is None
