"""`keyfluid check`: complete, and green on this machine."""

from __future__ import annotations

from keyfluid.operators.registry import REGISTER
from keyfluid.verify import Check, print_table, run_checks


def test_all_checks_pass_and_every_operator_is_among_them(capsys):
    seen = []
    rows = run_checks(seen.append)
    assert [row for row in rows if not row.passed] == []
    assert seen == rows
    for dim in ("2D", "3D"):
        for name in REGISTER:
            tests = {row.test for row in rows if row.what == name and row.where.startswith(dim)}
            assert {"dot test", "Taylor slope"} <= tests
        for test in ("Taylor slope", "2 of 6 steps stored", "1 and 2 threads"):
            assert any(row.where.startswith(dim) and row.test == test and "steps" in row.what for row in rows)
    print_table(rows)
    assert f"{len(rows)} checks, all passed" in capsys.readouterr().out


def test_a_failure_stands_out(capsys):
    print_table([Check("curl", "2D", "dot test", "3.0e-01", "< 1e-12", False)])
    shown = capsys.readouterr().out
    assert "FAILED" in shown
    assert "1 failed" in shown
