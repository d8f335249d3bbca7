"""A type checker sees the public API as it is installed, not as it lies in the repository."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

import keyfluid

ROOT = Path(__file__).parents[2]
SCRIPT = Path(__file__).with_name("user_script.py")
REVEALED = {
    "keyfluid.run": r"def \(scene: keyfluid\.\S+\.Scene \| str \| pathlib.Path \| typing.Mapping\[str, object\], .*\) "
    r"-> keyfluid\.\S+\.RunResult",
    "keyfluid.resume": r"def \(folder: str \| pathlib.Path, .*\) -> keyfluid\.\S+\.RunResult",
    'keyfluid.load_scene("x").domain.size': r"list\[float\]",
    'keyfluid.run("x").metrics["keyframes"][0]["iou"]': "float",
    'keyfluid.run("x").frames[0].densities': r"dict\[str, numpy\.ndarray\[.*\]\]",
    'keyfluid.LiveRun("x").frame': "int",
}
"""Expressions and what a checker must say of their types."""

WRONG = {
    "keyfluid.missing": 'Module has no attribute "missing"',
    'keyfluid.run("x", thread=3)': 'Unexpected keyword argument "thread"',
    'keyfluid.load_scene("x").domain.cells': 'has no attribute "cells"',
}


def pip(*words):
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *words]
    subprocess.run(command, check=True, cwd=ROOT)


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """An environment with the wheel installed, and with the packages of this one, but for keyfluid itself."""
    place = tmp_path_factory.mktemp("typed")
    pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(place), ".")
    venv.create(place / "env", with_pip=False, symlinks=True)
    packages = next((place / "env").glob("[Ll]ib/**/site-packages"))
    (packages / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    pip("install", "--no-deps", "--no-compile", "--target", str(packages), str(next(place.glob("*.whl"))))
    return place / "env"


def checked(environment, path, *options):
    """What mypy says of a script, line by line, with keyfluid from that environment."""
    command = [
        sys.executable, "-m", "mypy", "--strict", "--config-file", "", "--no-error-summary", "--hide-error-context",
        "--cache-dir", str(environment / "mypy"), "--python-executable", str(environment / "bin" / "python"), *options,
        str(path),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, cwd=path.parent, check=False)
    assert not done.stderr, done.stderr
    return done.stdout.splitlines()


def test_the_wheel_has_every_file_of_the_package(installed):
    """A line of .gitignore is enough to leave a folder out."""
    package = next(installed.glob("[Ll]ib/**/keyfluid/py.typed")).parent
    source = ROOT / "src" / "keyfluid"
    tracked = [path for path in source.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert [path for path in tracked if not (package / path.relative_to(source)).is_file()] == []
    modules = {path.parent for path in tracked if path.suffix == ".py"}
    assert not [folder for folder in modules if not (folder / "__init__.py").is_file()]


def test_a_users_script_has_no_any_but_numpys(installed, tmp_path):
    script = Path(shutil.copy(SCRIPT, tmp_path))
    said = checked(installed, script, "--disallow-any-expr")
    assert [line for line in said if "ndarray" not in line] == []
    assert len(said) == 1, "an array of numpy has Any in its type"


def test_types_are_the_ones_that_are_meant(installed, tmp_path):
    lines = [*(f"reveal_type({expression})" for expression in REVEALED), *WRONG]
    script = tmp_path / "reveal.py"
    script.write_text("\n".join(["import keyfluid", *lines]) + "\n")
    said = {int(number): text for number, text in re.findall(r"reveal\.py:(\d+): (.*)", "\n".join(
        line for line in checked(installed, script) if 'note: "' not in line))}  # fmt: skip
    for number, wanted in enumerate(REVEALED.values(), 2):
        assert re.fullmatch(f'note: Revealed type is "{wanted}"', said[number])
    for number, wanted in enumerate(WRONG.values(), 2 + len(REVEALED)):
        assert wanted in said[number]
    assert len(said) == len(REVEALED) + len(WRONG), "no fault is found where there is none"


def test_without_the_marker_a_checker_sees_nothing(installed, tmp_path):
    """The first test would be worth little if it passed then too."""
    marker = next(installed.glob("[Ll]ib/**/keyfluid/py.typed"))
    marker.rename(marker.with_suffix(".gone"))
    try:
        said = checked(installed, Path(shutil.copy(SCRIPT, tmp_path)))
    finally:
        marker.with_suffix(".gone").rename(marker)
    assert any("missing library stubs or py.typed marker" in line for line in said)


def test_the_stub_has_the_names_that_there_are():
    stub = (Path(keyfluid.__file__).parent / "__init__.pyi").read_text()
    typed = {alias: module for module, alias in re.findall(r"^from (\S+) import (\w+) as \2$", stub, re.MULTILINE)}
    assert {"__version__", *typed} == set(keyfluid.__all__)
    for name, module in typed.items():
        assert module == f"keyfluid.{keyfluid._WHERE[name]}"
        assert getattr(keyfluid, name).__name__ == name
