"""The package: one version, wheel and sdist that hold what they should, and what goes with a release."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
from supply_files import PROJECT, ROOT

import keyfluid


def package_module() -> Any:
    spec = importlib.util.spec_from_file_location("keyfluid_ci_package", ROOT / ".ci" / "package.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


package = package_module()


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    wheel, sdist = package.build(ROOT, tmp_path_factory.mktemp("dist"))
    return wheel, sdist


def test_the_version_is_in_one_place() -> None:
    assert PROJECT["project"]["dynamic"] == ["version"]
    assert PROJECT["tool"]["hatch"]["version"] == {"path": "src/keyfluid/__init__.py"}
    assert package.source_version() == keyfluid.__version__
    said = subprocess.run([sys.executable, "-m", "keyfluid", "--version"], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == keyfluid.__version__
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {keyfluid.__version__}\n" in citation
    assert citation.count("\n  - type: ") == 5


def test_wheel_and_sdist_are_in_order(built: tuple[Path, Path]) -> None:
    wheel_file, sdist = built
    assert package.wheel_faults(wheel_file) == []
    assert package.sdist_faults(sdist, wheel_file) == []
    with zipfile.ZipFile(wheel_file) as wheel:
        names = set(wheel.namelist())
        assert {"keyfluid/py.typed", "keyfluid/gallery/LICENSES.md", "keyfluid/studio/static/index.html"} <= names
        metadata = next(wheel.read(name).decode() for name in names if name.endswith("/METADATA"))
    for package_name in ("lit-html", "uplot"):
        assert f"keyfluid/studio/static/vendor/{package_name}/LICENSE" in names
        assert f"License-File: src/keyfluid/studio/static/vendor/{package_name}/LICENSE\n" in metadata
    assert "License-Expression: Apache-2.0 AND BSD-3-Clause AND MIT\n" in metadata


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("keyfluid/py.typed", "wheel: keyfluid/py.typed is missing"),
        ("keyfluid-{version}.dist-info/licenses/LICENSE", "wheel: has no LICENSE"),
        ("keyfluid-{version}.dist-info/METADATA", "wheel: has no keyfluid-{version}.dist-info/METADATA"),
    ],
)
def test_a_wheel_that_lacks_a_file_is_seen(built: tuple[Path, Path], tmp_path: Path, name: str, fault: str) -> None:
    version = keyfluid.__version__
    damaged = tmp_path / built[0].name
    with zipfile.ZipFile(built[0]) as whole, zipfile.ZipFile(damaged, "w") as other:
        for entry in whole.namelist():
            if entry != name.format(version=version):
                other.writestr(entry, whole.read(entry))
    assert fault.format(version=version) in package.wheel_faults(damaged)


def test_the_empty_environment_gets_no_tools() -> None:
    lock = package.runtime_lock((ROOT / "requirements.lock").read_text(encoding="utf-8"))
    names = set(re.findall(r"^([a-z0-9._-]+)==", lock, flags=re.MULTILINE))
    assert {"numpy", "numba", "llvmlite", "pydantic", "pydantic-core", "matplotlib", "typer", "pillow"} <= names
    assert not names & {"pytest", "ruff", "mypy", "hatchling", "trimesh", "av", "libigl"}
    assert all("--hash=sha256:" in entry for entry in re.split(r"\n(?=[a-z])", lock.strip()))


def test_uvx_runs_the_command_of_the_wheel(built: tuple[Path, Path], tmp_path: Path) -> None:
    """From what uv has in its cache; `make package` makes the whole demo this way."""
    uv = shutil.which("uv")
    if uv is None:
        pytest.skip("uv is not installed")
    command = [uv, "tool", "run", "--offline", "--isolated", "--from", str(built[0]), "keyfluid", "--version"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    if done.returncode and "network was disabled" in done.stderr:
        pytest.skip("uv has not got the dependencies in its cache")
    assert done.stdout.strip() == keyfluid.__version__, done.stderr


def test_hooks_and_workflow_call_what_make_calls() -> None:
    hooks = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    assert re.findall(r"repo: (\S+)", hooks) == ["local"]
    assert re.findall(r"entry: \.venv/bin/(\w+)", hooks) == ["ruff", "ruff", "mypy"]
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    called = re.findall(r"- run: (.+)", workflow)
    assert called == [".ci/run", "python -m pip install uv", "make package", "make docs"]
    python = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["requires-python"]
    assert all(f">={found}" == python for found in re.findall(r'python-version: "(.+)"', workflow))
