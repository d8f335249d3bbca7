"""`keyfluid check`: complete, and green on this machine."""

from __future__ import annotations

from keyfluid.operators.registry import REGISTER
from keyfluid.verify import Check, print_table, run_checks


def covered(rows: list[Check], dim: str) -> set[str]:
    """The operators that had both their tests in a dimension."""
    done = {(row.what, row.test) for row in rows if row.where.startswith(dim)}
    return {name for name in REGISTER if {(name, "dot test"), (name, "Taylor slope")} <= done}


def test_all_checks_pass_and_every_operator_is_among_them(capsys):
    seen: list[Check] = []
    rows = run_checks(seen.extend, everything=True)
    assert [row for row in rows if not row.passed] == []
    assert seen == rows
    for dim in ("2D", "3D"):
        assert covered(rows, dim) == set(REGISTER)
        for test in ("Taylor slope", "2 of 6 steps stored", "1 and 2 threads"):
            assert any(row.where.startswith(dim) and row.test == test and "steps" in row.what for row in rows)
    print_table(rows)
    assert f"{len(rows)} checks, all passed" in capsys.readouterr().out


def test_the_ordinary_run_leaves_out_only_kinds_of_advection_in_3d():
    rows = run_checks(processes=2)
    assert all(row.passed for row in rows)
    assert covered(rows, "2D") == set(REGISTER)
    left_out = set(REGISTER) - covered(rows, "3D")
    assert all(name.startswith("advect ") for name in left_out)
    assert "advect RK2" not in left_out


def test_a_failure_stands_out(capsys):
    print_table([Check("curl", "2D", "dot test", "3.0e-01", "< 1e-12", False)])
    shown = capsys.readouterr().out
    assert "FAILED" in shown
    assert "1 failed" in shown
