"""The zip of the Blender extension: `make blender` writes it to dist and checks it against Blender's rules.

The rules of Blender's manual for a manifest are checked here; where the oracle environment is
installed (`make blender-env`), Blender's own `validate` checks the zip too.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "blender" / "keyfluid"
ENVIRONMENT = ROOT / ".venv-blender"
REQUIRED = (
    "schema_version", "id", "version", "name", "tagline", "maintainer", "type", "blender_version_min", "license",
)  # fmt: skip
TAGS = {
    "3D View", "Add Curve", "Add Mesh", "Animation", "Bake", "Camera", "Compositing", "Development", "Game Engine",
    "Geometry Nodes", "Grease Pencil", "Import-Export", "Lighting", "Material", "Modeling", "Mesh", "Node", "Object",
    "Paint", "Physics", "Pipeline", "Render", "Rigging", "Scene", "Sculpt", "Sequencer", "System", "Text Editor",
    "Tracking", "User Interface", "UV",
}  # fmt: skip
PERMISSIONS = {"files", "network", "clipboard", "camera", "microphone"}


def package_version() -> str:
    """Of keyfluid, which the extension's has to be."""
    text = (ROOT / "src" / "keyfluid" / "__init__.py").read_text(encoding="utf-8")
    match = re.search(r'^__version__ = "(.+)"', text, re.MULTILINE)
    assert match is not None
    return match[1]


def manifest_faults(manifest: dict[str, Any], version: str) -> list[str]:
    """What breaks Blender's rules, one line each."""
    found = [f"{key}: is missing" for key in REQUIRED if not manifest.get(key)]
    if manifest.get("schema_version") != "1.0.0":
        found.append("schema_version: must be 1.0.0")
    if not re.fullmatch(r"[a-z][a-z0-9_]*", str(manifest.get("id", ""))):
        found.append("id: must be an identifier in lower case")
    if manifest.get("version") != version:
        found.append(f"version: must be that of keyfluid, {version}")
    for key, value in {"tagline": manifest.get("tagline"), **manifest.get("permissions", {})}.items():
        if not value or len(value) > 64 or not value[-1].isalnum():
            found.append(f"{key}: must have 1 to 64 characters and no punctuation at its end")
    if manifest.get("type") not in ("add-on", "theme"):
        found.append("type: must be add-on or theme")
    found += [f"tags: {tag} is not one of Blender's" for tag in manifest.get("tags", []) if tag not in TAGS]
    found += [
        f"permissions: {key} is not one of Blender's"
        for key in manifest.get("permissions", {})
        if key not in PERMISSIONS
    ]
    least = re.fullmatch(r"(\d+)\.(\d+)\.(\d+)", str(manifest.get("blender_version_min", "")))
    if least is None or (int(least[1]), int(least[2])) < (4, 2):
        found.append("blender_version_min: must be 4.2.0 or later")
    if not all(re.fullmatch(r"SPDX:[A-Za-z0-9.-]+", each) for each in manifest.get("license", [])):
        found.append("license: must be a list of SPDX:IDENTIFIER")
    if not all(re.match(r"\d{4}(-\d{4})? \S", each) for each in manifest.get("copyright", [])):
        found.append("copyright: must be a list of YEAR NAME")
    return found


def zip_faults(path: Path) -> list[str]:
    """What a zip lacks or should not hold."""
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        found = [
            f"{name}: is missing" for name in ("blender_manifest.toml", "__init__.py", "LICENSE") if name not in names
        ]
        found += [
            f"{name}: has no place here" for name in names if name.endswith(".pyc") or name.startswith(("/", ".."))
        ]
        for name in names:
            if name.endswith(".py") and "SPDX-License-Identifier: GPL-3.0-or-later" not in archive.read(name).decode():
                found.append(f"{name}: does not name its licence")
    return found


def build(folder: Path) -> Path:
    """The zip, with the same bytes for the same files."""
    version = package_version()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"keyfluid-blender-{version}.zip"
    files = {file.relative_to(SOURCE).as_posix(): file for file in SOURCE.rglob("*") if file.suffix in (".py", ".toml")}
    files["LICENSE"] = ROOT / "blender" / "LICENSE"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0))
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(entry, files[name].read_bytes())
    return path


def blender_says(path: Path, environment: Path = ENVIRONMENT) -> str | None:
    """What Blender's own check finds, "" for nothing; None where Blender is not installed."""
    tools = list(environment.glob("lib/python*/site-packages/bpy/*/scripts/addons_core/bl_pkg/cli/blender_ext.py"))
    if not tools:
        return None
    command = [str(environment / "bin" / "python"), str(tools[0]), "validate", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else (done.stdout + done.stderr).strip()


def main() -> int:
    manifest = tomllib.loads((SOURCE / "blender_manifest.toml").read_text(encoding="utf-8"))
    faults = manifest_faults(manifest, package_version())
    path = build(ROOT / "dist")
    faults += zip_faults(path)
    said = blender_says(path)
    if said:
        faults.append(f"Blender: {said}")
    for fault in faults:
        print(f"blender: {fault}", file=sys.stderr)
    if not faults:
        checked = "by Blender too" if said == "" else "Blender is not here to check it; make blender-env"
        print(f"{path.relative_to(ROOT)}: {path.stat().st_size} bytes, in order ({checked})")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
