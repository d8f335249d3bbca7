"""Ask an advisory service about every version that the lock pins and every lower bound in pyproject.toml.

`make audit` runs this in an environment of its own that has pip-audit. pip-audit reads only the pins whose markers fit
the running Python, skips what its service does not know, and then still reports success; so the pins are handed over
without markers (all platforms and Pythons are asked about), and a skipped package counts as not checked.

Exit code 0: nothing known against any of them. 1: a known advisory. 2: no service could be asked, so nothing is known.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
SERVICES = ("osv", "pypi")
"""In this order: OSV knows GitHub's advisories and those of the index, the index only its own."""
PIN = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^\s;\\]+)")

Pin = tuple[str, str]


def locked(text: str) -> list[Pin]:
    """Name and version of every pin in a lock file, whatever its marker; a package can have several."""
    found = (PIN.match(line) for line in text.splitlines())
    return [(canonicalize_name(match["name"]), match["version"]) for match in found if match]


def requirements(project: dict[str, Any]) -> list[Requirement]:
    """Everything that pyproject.toml asks for: to run, to build, and in each extra."""
    extras = project["project"]["optional-dependencies"].values()
    texts = [*project["project"]["dependencies"], *project["build-system"]["requires"], *(t for e in extras for t in e)]
    return [Requirement(text) for text in texts]


def lower_bound(requirement: Requirement) -> str:
    """The version after ``>=``; a requirement without one could install any hole of the past, so that is an error."""
    bounds = [specifier.version for specifier in requirement.specifier if specifier.operator == ">="]
    if len(bounds) != 1:
        raise SystemExit(f"pyproject.toml: '{requirement}' needs exactly one lower bound (>=)")
    return bounds[0]


def rounds(pins: Iterable[Pin]) -> list[list[Pin]]:
    """The pins in lists that name each package once, which is what a requirements file may do."""
    lists: list[list[Pin]] = []
    for pin in dict.fromkeys(pins):
        for one in lists:
            if all(pin[0] != other[0] for other in one):
                one.append(pin)
                break
        else:
            lists.append([pin])
    return lists


def ask(service: str, pins: list[Pin]) -> tuple[list[str], list[str]]:
    """What `service` knows about one round: lines for advisories, and lines for what it could not check."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "requirements.txt"
        path.write_text("".join(f"{name}=={version}\n" for name, version in pins), encoding="utf-8")
        command = [sys.executable, "-m", "pip_audit", "--vulnerability-service", service, "--requirement", str(path)]
        options = ["--no-deps", "--disable-pip", "--format", "json", "--progress-spinner", "off"]
        done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
    try:
        answers = json.loads(done.stdout)["dependencies"]
    except (json.JSONDecodeError, KeyError):
        last = (done.stderr.strip().splitlines() or ["no output"])[-1]
        return [], [f"{name} {version}: {last[:200]}" for name, version in pins]
    return judged(answers, pins)


def judged(answers: list[dict[str, Any]], pins: list[Pin]) -> tuple[list[str], list[str]]:
    """Advisories and gaps in pip-audit's answers; a pin without an answer is a gap."""
    advisories, gaps, answered = [], [], set()
    for answer in answers:
        if "skip_reason" in answer:
            continue
        answered.add(canonicalize_name(answer["name"]))
        for hole in answer["vulns"]:
            fixed = ", ".join(hole["fix_versions"]) or "no version yet"
            advisories.append(f"{answer['name']} {answer['version']}: {hole['id']}, fixed in {fixed}")
    reasons = {canonicalize_name(a["name"]): a["skip_reason"] for a in answers if "skip_reason" in a}
    for name, version in pins:
        if name not in answered:
            gaps.append(f"{name} {version}: {reasons.get(name, 'not answered')}")
    return advisories, gaps


def main() -> int:
    pins = [pin for path in sorted(ROOT.glob("requirements*.lock")) for pin in locked(path.read_text(encoding="utf-8"))]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    bounds = [(canonicalize_name(each.name), lower_bound(each)) for each in requirements(project)]
    for service in SERVICES:
        results = [ask(service, one) for one in rounds([*pins, *bounds])]
        advisories = sorted({line for found, _ in results for line in found})
        gaps = [line for _, missing in results for line in missing]
        if advisories:
            print(f"audit: {len(advisories)} known advisories ({service}):", *advisories, sep="\n  ")
            return 1
        if not gaps:
            print(f"audit: nothing known against {len(pins)} locked versions and {len(bounds)} bounds ({service})")
            return 0
        print(f"audit: {service} did not check {len(gaps)} versions, for example {gaps[0]}", file=sys.stderr)
    print("audit: NOT DONE, no advisory service answered for all versions; run it where OSV or PyPI's own JSON "
          "interface can be reached", file=sys.stderr)  # fmt: skip
    return 2


if __name__ == "__main__":
    sys.exit(main())
