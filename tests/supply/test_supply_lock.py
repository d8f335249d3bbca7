"""The lock fits pyproject.toml, every line of it is hashed, it names no server, and no known hole is below a bound."""

from __future__ import annotations

import re

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version
from supply_files import LOCK, PROJECT, ROOT, audit_module, table_rows

audit = audit_module()
DOCS_LOCK = (ROOT / "requirements-docs.lock").read_text(encoding="utf-8")
EXTRAS = ("dev", "mesh", "video", "studio", "cluster")
"""What requirements.lock has. The extra "fast" is left out: ducc0 is under the GPL, and it changes bits. Its own tests
find it in a folder of its own, from requirements-ducc0.lock."""


def faults(lock: str, wanted: list[Requirement]) -> list[str]:
    """What is wrong with a lock file, one line a fault."""
    found = []
    entries = re.split(r"\n(?=\S)", re.sub(r"^#.*\n", "", lock, flags=re.MULTILINE).strip())
    for entry in entries:
        head, *hashes = re.split(r"\s*\\\n\s*", entry)
        if not re.fullmatch(r"[a-z0-9._-]+==[^\s;]+( ; .+)?", head):
            found.append(f"not a pin: {head}")
        if not hashes or not all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", each) for each in hashes):
            found.append(f"not hashed: {head}")
    without_markers = re.sub(r" ; .*", "", lock)
    if match := re.search(r"://|--(extra-)?index|--find-links|\S*/\S*|@|\blocalhost\b", without_markers):
        found.append(f"names a server, a path or an index: {match.group()}")
    pins = audit.locked(lock)
    for requirement in wanted:
        versions = [version for name, version in pins if name == canonicalize_name(requirement.name)]
        if not versions:
            found.append(f"not locked: {requirement}")
        found += [f"{requirement} does not allow {v}" for v in versions if v not in requirement.specifier]
    return found


def wanted(names: tuple[str, ...] = EXTRAS) -> list[Requirement]:
    extras = PROJECT["project"]["optional-dependencies"]
    texts = [*PROJECT["project"]["dependencies"], *(text for name in names for text in extras[name])]
    tools = PROJECT["build-system"]["requires"] if "dev" in names else []
    return [Requirement(text) for text in [*texts, *tools]]


def test_the_locks_fit_the_project() -> None:
    assert faults(LOCK, wanted()) == []
    ducc0 = [Requirement(text) for text in PROJECT["project"]["optional-dependencies"]["fast"]]
    assert faults((ROOT / "requirements-ducc0.lock").read_text(encoding="utf-8"), ducc0) == []
    assert faults(DOCS_LOCK, wanted(("docs",))) == []
    oracles = [Requirement("bpy==4.5.*"), Requirement("usd-core>=25.11")]
    assert faults((ROOT / "requirements-blender.lock").read_text(encoding="utf-8"), oracles) == []


def test_the_site_is_built_with_the_versions_of_the_tests() -> None:
    """Where both locks have a package, it is the same one: `make lock` constrains the second by the first."""
    names = {name for name, _ in audit.locked(LOCK)}
    shared = [pin for pin in audit.locked(DOCS_LOCK) if pin[0] in names]
    assert {"numpy", "numba", "pydantic"} <= {name for name, _ in shared}
    assert [pin for pin in shared if pin not in audit.locked(LOCK)] == []


@pytest.mark.parametrize(
    ("before", "after", "fault"),
    [
        (r"numpy==2[^ ]+", "numpy==1.20.0", "numpy>=1.26 does not allow 1.20.0"),
        (r"\npillow==[^\n]+\\\n(    --hash=\S+( \\)?\n)+", "\n", "not locked: Pillow>=13"),
        (r"\ntyper==([^\n]+) \\\n(    --hash=\S+( \\)?\n)+", r"\ntyper==\1\n", "not hashed: typer"),
        (r"sha256:[0-9a-f]", "sha256:", "not hashed"),
        (r"\nrich==", "\nrich>=", "not a pin: rich"),
        (r"^", "--extra-index-url something\n", "names a server, a path or an index"),
        (r"#    make lock", "#    /home/someone/uv pip compile", "names a server, a path or an index: /home"),
        (r"\nscipy==[^ ]+", "\nscipy @ file.whl", "names a server, a path or an index: @"),
    ],
)
def test_a_damaged_lock_is_seen(before: str, after: str, fault: str) -> None:
    damaged = re.sub(before, after, LOCK, count=1)
    assert damaged != LOCK
    assert any(line.startswith(fault) for line in faults(damaged, wanted())), faults(damaged, wanted())


def test_bounds_and_pins_are_above_every_known_fix() -> None:
    """The table in SECURITY.md, which says which advisory moved which bound."""
    bounds = {canonicalize_name(each.name): audit.lower_bound(each) for each in audit.requirements(PROJECT)}
    pins = audit.locked(LOCK)
    rows = [row for row in table_rows((ROOT / "SECURITY.md").read_text(encoding="utf-8"), "package") if len(row) == 4]
    assert {canonicalize_name(row[0]) for row in rows} >= {
        "pillow",
        "av",
        "pytest",
        "fonttools",
        "starlette",
        "h11",
        "distributed",
    }
    for package, fixed, bound, _ in rows:
        name = canonicalize_name(package)
        assert bound == bounds.get(name, "lock"), f"SECURITY.md is out of date about {package}"
        if name in bounds:
            assert Version(bounds[name]) >= Version(fixed)
        versions = [version for other, version in pins if other == name]
        assert versions, f"{package} is not in the lock any more"
        assert all(Version(version) >= Version(fixed) for version in versions)


def test_make_and_ci_install_from_the_lock() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "$(READY): pyproject.toml requirements.lock" in makefile
    assert re.findall(r"^\t\$\(BIN\)/\$\(PIP\) (.*)$", makefile, flags=re.MULTILINE) == [
        "--require-hashes -r requirements.lock",
        "--no-build-isolation --no-deps -e .",
    ]
    assert re.findall(r"--extra (\w+)", makefile) == [*EXTRAS, "docs"]
    assert "$(DOCS)/bin/$(PIP) --require-hashes -r requirements-docs.lock" in makefile
    assert (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()[-2:] == ["make lint", "make test"]
