"""Build wheel and sdist, look into both, and try the wheel in an empty environment.

    python .ci/package.py            all of it; `make package` runs this
    python .ci/package.py --build    only build and look

The environment gets what the wheel depends on and nothing else, from requirements.lock by hash. There the wheel has to
pass `keyfluid --version`, `keyfluid demo` and `keyfluid check`. Where uv is installed, `uv tool run --from WHEEL` makes
the demo too: that is `uvx`. Exit code 0: all passed. 1: a fault, one line each.
"""

from __future__ import annotations

import filecmp
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

from packaging.metadata import Metadata
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "keyfluid"
IN_SDIST = (
    "pyproject.toml",
    "LICENSE",
    "README.md",
    "CITATION.cff",
    "Makefile",
    "requirements.lock",
    "tests",
    "docs",
    "examples",
)


def source_version() -> str:
    """`__version__`, the one place that has it."""
    found = re.search(r'^__version__ = "(.+)"$', (PACKAGE / "__init__.py").read_text(encoding="utf-8"), re.MULTILINE)
    assert found is not None
    return found[1]


def build(source: Path, folder: Path, *targets: str) -> list[Path]:
    """Wheel and sdist of the project in `source`, by hatchling; needs no network."""
    folder.mkdir(parents=True, exist_ok=True)
    choice = [word for target in targets for word in ("-t", target)]
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder), *choice]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    return sorted(folder.glob("keyfluid-*"))


def wheel_faults(wheel: Path) -> list[str]:
    """What is wrong with a wheel, one line each."""
    version = source_version()
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        info = f"keyfluid-{version}.dist-info"
        found = [f"wheel: has no {info}/{name}" for name in ("METADATA", "RECORD") if f"{info}/{name}" not in names]
        if found:
            return found
        try:
            metadata = Metadata.from_email(archive.read(f"{info}/METADATA"), validate=True)
        except ExceptionGroup as group:
            return [f"wheel: METADATA: {error}" for error in group.exceptions]
        entries = archive.read(f"{info}/entry_points.txt").decode()
    if str(metadata.version) != version:
        found.append(f"wheel: its version is {metadata.version}, __version__ is {version}")
    if metadata.description_content_type != "text/markdown" or not metadata.description:
        found.append("wheel: the README is not its description")
    if f"{info}/licenses/LICENSE" not in names:
        found.append("wheel: has no LICENSE")
    if "keyfluid = keyfluid.cli.main:main" not in entries:
        found.append("wheel: has no command keyfluid")
    expected = {f"keyfluid/{path.relative_to(PACKAGE).as_posix()}" for path in package_files()}
    inside = {name for name in names if not name.startswith(info)}
    found += [f"wheel: {name} is missing" for name in sorted(expected - inside)]
    return found + [f"wheel: {name} is not a file of the package" for name in sorted(inside - expected)]


def package_files() -> list[Path]:
    files = (path for path in PACKAGE.rglob("*") if path.is_file())
    return [path for path in files if "__pycache__" not in path.parts and path.suffix != ".pyc"]


def sdist_faults(sdist: Path, wheel: Path) -> list[str]:
    """What is wrong with an sdist: it lacks files, or the wheel made from it differs from `wheel`."""
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(sdist) as archive:
            archive.extractall(folder, filter="data")
        source = Path(folder) / f"keyfluid-{source_version()}"
        found = [f"sdist: has no {name}" for name in IN_SDIST if not (source / name).exists()]
        (again,) = build(source, Path(folder) / "again", "wheel")
        with zipfile.ZipFile(wheel) as one, zipfile.ZipFile(again) as other:
            if sorted(one.namelist()) != sorted(other.namelist()):
                return [*found, "sdist: the wheel built from it has other files"]
            changed = [name for name in one.namelist() if one.read(name) != other.read(name)]
    return found + [f"sdist: the wheel built from it has another {name}" for name in changed]


def runtime_lock(lock: str) -> str:
    """The entries of requirements.lock that the package needs to run, without those of tests and tools."""
    needed: set[str] = set()
    waiting = ["keyfluid"]
    while waiting:
        for text in importlib.metadata.requires(waiting.pop()) or ():
            requirement = Requirement(text)
            name = canonicalize_name(requirement.name)
            applies = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
            if applies and name not in needed:
                needed.add(name)
                waiting.append(name)
    entries = re.split(r"\n(?=[a-z0-9])", re.sub(r"^#.*\n", "", lock, flags=re.MULTILINE))
    return "\n".join(entry for entry in entries if canonicalize_name(entry.split("==")[0]) in needed) + "\n"


def try_out(wheel: Path, folder: Path) -> list[str]:
    """Install the wheel in an empty environment and use it there, away from the sources."""
    venv.create(folder / "empty", with_pip=True)
    python = folder / "empty" / ("Scripts" if os.name == "nt" else "bin") / "python"
    lock = folder / "runtime.lock"
    lock.write_text(runtime_lock((ROOT / "requirements.lock").read_text(encoding="utf-8")), encoding="utf-8")
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    steps = [
        [*install, "--require-hashes", "-r", str(lock)],
        [*install, "--no-deps", "--no-index", str(wheel)],
        [str(python), "-m", "pip", "check"],
    ]
    for step in steps:
        if fault := failed(step, folder):
            return [fault]
    keyfluid = str(python.with_name("keyfluid"))
    found = [failed([keyfluid, "--version"], folder, source_version())]
    found.append(failed([keyfluid, "demo", "-o", "demo"], folder, "report.html"))
    found.append(failed([keyfluid, "check"], folder))
    return [fault for fault in found if fault]


def try_uvx(wheel: Path, folder: Path) -> list[str]:
    """`uvx keyfluid demo`, from the wheel instead of an index; skipped with a line where uv is missing."""
    uv = shutil.which("uv")
    if uv is None:
        print("skipped: uv is not installed, so `uvx keyfluid demo` was not tried", flush=True)
        return []
    command = [uv, "tool", "run", "--isolated", "--from", str(wheel), "keyfluid"]
    fault = failed([*command, "--version"], folder, source_version())
    fault = fault or failed([*command, "demo", "-o", "demo_uvx"], folder, "report.html")
    if not fault and not filecmp.cmp(
        folder / "demo" / "spectral_word" / "strip.png", folder / "demo_uvx" / "spectral_word" / "strip.png", False
    ):
        fault = "uvx: its demo differs from that of the empty environment"
    return [fault] if fault else []


def failed(command: list[str], folder: Path, expected: str = "") -> str:
    """Run a command in `folder`; a line if it fails or does not print what is expected, else nothing."""
    print("$", *(Path(word).name for word in command[:1]), *command[1:], flush=True)
    surroundings = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(command, cwd=folder, env=surroundings, capture_output=True, text=True, check=False)
    if done.returncode:
        return f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
    return "" if expected in done.stdout else f"{' '.join(command)}: does not print {expected!r}: {done.stdout[-500:]}"


def main(arguments: list[str]) -> int:
    dist = ROOT / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    wheel, sdist = build(ROOT, dist)
    found = wheel_faults(wheel) + sdist_faults(sdist, wheel)
    if not found and "--build" not in arguments:
        with tempfile.TemporaryDirectory() as folder:
            found = try_out(wheel, Path(folder)) or try_uvx(wheel, Path(folder))
    for line in found:
        print(line, file=sys.stderr)
    if not found:
        print(f"{wheel.relative_to(ROOT)} and {sdist.relative_to(ROOT)} are in order")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
