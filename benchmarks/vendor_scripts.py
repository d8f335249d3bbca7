"""The scripts of others that the studio serves: `python benchmarks/vendor_scripts.py [--check]`.

Fetches fixed versions by npm, checks the packages against the hashes below and copies single files, unchanged, to
src/keyfluid/studio/static/vendor, with their licences and a list (vendor.json). --check compares without fetching.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

VENDOR = Path(__file__).resolve().parents[1] / "src/keyfluid/studio/static/vendor"
PACKAGES = {
    "lit-html": (
        "3.3.3", "BSD-3-Clause",
        "sha512-el8M6jK2o3RXBnrSHX3ZKrsN8zEV63pSExTO1wYJz7QndGYZ8353e2a5PPX+qHe2aGayfnchQmkAojaWAREOIA==",
        ["lit-html.js", "directive.js", "directive-helpers.js", "directives/class-map.js", "directives/live.js",
         "directives/ref.js", "async-directive.js", "directives/repeat.js", "LICENSE"],
    ),
    "uplot": (
        "1.6.32", "MIT",
        "sha512-KIMVnG68zvu5XXUbC4LQEPnhwOxBuLyW1AHtpm6IKTXImkbLgkMy+jabjLgSLMasNuGGzQm/ep3tOkyTxpiQIw==",
        ["dist/uPlot.esm.js", "dist/uPlot.min.css", "LICENSE"],
    ),
}  # fmt: skip
"""{package: (version, licence, integrity of the package, its files that are served)}

Not lit's style-map: it writes a style attribute first, which the page's policy refuses; `.style=${text}` is allowed."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    if not parser.parse_args().check:
        fetch()
    wrong = differences()
    for line in wrong:
        print(line)
    sys.exit(1 if wrong else 0)


def fetch() -> None:
    shutil.rmtree(VENDOR, ignore_errors=True)
    listed = {}
    for name, (version, licence, integrity, files) in PACKAGES.items():
        with tempfile.TemporaryDirectory() as place:
            subprocess.run(["npm", "pack", "--silent", f"{name}@{version}"], cwd=place, check=True, stdout=sys.stderr)
            (archive,) = Path(place).glob("*.tgz")
            found = "sha512-" + base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
            if found != integrity:
                sys.exit(f"{name} {version}: the package has the hash {found}, not {integrity}")
            with tarfile.open(archive) as packed:
                for file in files:
                    target = VENDOR / name / file.removeprefix("dist/")
                    target.parent.mkdir(parents=True, exist_ok=True)
                    member = packed.extractfile(f"package/{file}")
                    assert member is not None, file
                    target.write_bytes(member.read())
        hashes = {path.relative_to(VENDOR / name).as_posix(): _hash(path)
                  for path in sorted((VENDOR / name).rglob("*")) if path.is_file()}  # fmt: skip
        listed[name] = {"version": version, "licence": licence, "package": integrity, "files": hashes}
    (VENDOR / "vendor.json").write_text(json.dumps(listed, indent=2) + "\n", encoding="utf-8")


def differences() -> list[str]:
    """Files that are not what the list says, and files that it does not name."""
    listed = json.loads((VENDOR / "vendor.json").read_text(encoding="utf-8"))
    expected = {f"{name}/{file}": value for name, entry in listed.items() for file, value in entry["files"].items()}
    there = {path.relative_to(VENDOR).as_posix(): _hash(path) for path in VENDOR.rglob("*") if path.is_file()}
    there.pop("vendor.json")
    return [f"{file}: differs from vendor.json" for file in sorted({*expected, *there})
            if expected.get(file) != there.get(file)]  # fmt: skip


def _hash(path: Path) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(path.read_bytes()).digest()).decode()


if __name__ == "__main__":
    main()
