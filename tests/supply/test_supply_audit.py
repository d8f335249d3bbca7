"""`make audit` asks about every version, and what was not answered is not called clean."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from supply_files import LOCK, PROJECT, audit_module

HOLE = {"id": "PYSEC-1", "fix_versions": ["9"]}


@pytest.fixture
def audit() -> Any:
    return audit_module()


def answering(monkeypatch: pytest.MonkeyPatch, audit: Any, answer: Any) -> list[tuple[str, str]]:
    """Put `answer(service, name, version)` in place of pip-audit; returns the pins it was asked about."""
    asked: list[tuple[str, str]] = []

    def run(command: list[str], **_: Any) -> Any:
        service = command[command.index("--vulnerability-service") + 1]
        with open(command[command.index("--requirement") + 1], encoding="utf-8") as file:
            pins = [tuple(line.strip().split("==")) for line in file]
        asked.extend(pins)
        dependencies = [answer(service, *pin) for pin in pins]
        text = "" if None in dependencies else json.dumps({"dependencies": dependencies, "fixes": []})
        return subprocess.CompletedProcess(command, 0, text, "no route to host")

    monkeypatch.setattr(audit.subprocess, "run", run)
    return asked


def bound_of(audit: Any, name: str) -> str:
    return next(audit.lower_bound(each) for each in audit.requirements(PROJECT) if each.name == name)


def clean(_: str, name: str, version: str) -> dict[str, Any]:
    return {"name": name, "version": version, "vulns": []}


def test_everything_is_asked_about_once_per_file(monkeypatch: pytest.MonkeyPatch, audit: Any) -> None:
    asked = answering(monkeypatch, audit, clean)
    assert audit.main() == 0
    assert set(audit.locked(LOCK)) <= set(asked)
    assert len([version for name, version in audit.locked(LOCK) if name == "numpy"]) == 2  # by marker
    bounds = {(canonicalize_name(each.name), audit.lower_bound(each)) for each in audit.requirements(PROJECT)}
    assert {"pillow", "hatchling", "ducc0"} <= {name for name, _ in bounds}  # to run, to build, an extra
    assert bounds <= set(asked)
    for one in audit.rounds(asked):
        assert len({name for name, _ in one}) == len(one)
    assert len(asked) == len(set(asked))


@pytest.mark.parametrize("where", ["pin", "bound"])
def test_one_known_hole_is_error_1(
    monkeypatch: pytest.MonkeyPatch, audit: Any, capsys: pytest.CaptureFixture[str], where: str
) -> None:
    bad = audit.locked(LOCK)[-1] if where == "pin" else ("scipy", bound_of(audit, "scipy"))

    def answer(service: str, name: str, version: str) -> dict[str, Any]:
        return {"name": name, "version": version, "vulns": [HOLE] if (name, version) == bad else []}

    answering(monkeypatch, audit, answer)
    assert audit.main() == 1
    assert f"{bad[0]} {bad[1]}: PYSEC-1, fixed in 9" in capsys.readouterr().out


def test_the_second_service_is_asked_when_the_first_is_away(monkeypatch: pytest.MonkeyPatch, audit: Any) -> None:
    answering(monkeypatch, audit, lambda service, *pin: None if service == "osv" else clean(service, *pin))
    assert audit.main() == 0


def test_no_service_or_a_skipped_package_is_error_2(
    monkeypatch: pytest.MonkeyPatch, audit: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    def skipping(service: str, name: str, version: str) -> dict[str, Any]:
        return {"name": name, "skip_reason": "not found"} if name == "rich" else clean(service, name, version)

    for answer in (lambda *_: None, skipping):
        answering(monkeypatch, audit, answer)
        assert audit.main() == 2
        assert "NOT DONE" in capsys.readouterr().err


def test_every_requirement_has_a_lower_bound(audit: Any) -> None:
    assert all(audit.lower_bound(each) for each in audit.requirements(PROJECT))
    with pytest.raises(SystemExit, match="lower bound"):
        audit.lower_bound(Requirement("numpy"))
