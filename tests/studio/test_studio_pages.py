"""The front end as files: scripts parse, import what exists and keep to the policy; colours can be read."""

from __future__ import annotations

import re
import shutil
import subprocess
from itertools import product
from pathlib import Path

import pytest

import keyfluid

STATIC = Path(keyfluid.__file__).parent / "studio" / "static"
OURS = sorted(path for path in STATIC.rglob("*") if path.is_file() and "vendor" not in path.relative_to(STATIC).parts)
SCRIPTS = [path for path in OURS if path.suffix == ".js"]
IMPORT = re.compile(
    r"""(?:^|[;\s])(?:import|export)\s(?:[^;"'`]*?\sfrom\s)?["']([^"']+)["']|\bimport\(["']([^"']+)["']\)"""
)
AGAINST_THE_POLICY = {
    "a style attribute": r"""<[^>`]*\sstyle\s*=\s*["'$]""",
    "a script element": r"<script\b(?![^>]*\bsrc=)",
    "a style element": r"<style\b",
    "a handler in markup": r"""<[a-z][^>`]*\son[a-z]+\s*=\s*["'$]""",
    "eval": r"\beval\s*\(|\bnew\s+Function\s*\(|\bset(?:Timeout|Interval)\s*\(\s*[\"'`]",
    "markup from text": r"\.(?:inner|outer)HTML\b|insertAdjacentHTML|document\.write\b|unsafeHTML|unsafeSVG|DOMParser",
    "an attribute set from text": r"setAttribute\(\s*[\"'](?:style|on[a-z]+)[\"']",
    "another server": r"""["'`(](?:https?:)?//(?!www\.w3\.org/)[a-z]""",
}
INKS = ("text", "quiet", "accent", "good", "warn", "bad", "start", "source", "obstacle", "keyframe")
PAPERS = ("paper", "panel", "raised")


def faults_in(text: str) -> list[str]:
    code = re.sub(r"/\*.*?\*/|(?<![:\"'`\w])//[^\n]*", "", text, flags=re.DOTALL)
    return [name for name, pattern in AGAINST_THE_POLICY.items() if re.search(pattern, code)]


def test_scripts_parse(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is missing; scripts are only parsed by the browser tests")
    program = (
        "const fs = require('fs'); const vm = require('vm'); let bad = 0; for (const f of process.argv.slice(1)) try {"
    )
    program += " new vm.SourceTextModule(fs.readFileSync(f, 'utf8'), {identifier: f}) } catch (e) { bad = 1;"
    program += " console.log(f + ': ' + e.message) } process.exit(bad)"
    command = [node, "--experimental-vm-modules", "--no-warnings", "-e", program]
    done = subprocess.run([*command, *map(str, SCRIPTS)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    broken = tmp_path / "broken.js"
    broken.write_text("export const a = ;")
    assert subprocess.run([*command, str(broken)], capture_output=True, check=False).returncode == 1


def test_imports_are_files() -> None:
    assert len(SCRIPTS) > 8
    missing = []
    for script in SCRIPTS:
        for one, other in IMPORT.findall(script.read_text(encoding="utf-8")):
            name = one or other
            target = STATIC / name.removeprefix("/static/") if name.startswith("/static/") else script.parent / name
            if not name.startswith(("./", "../", "/static/")) or not target.resolve().is_file():
                missing.append(f"{script.relative_to(STATIC)}: {name}")
    assert missing == []
    assert [found[0] or found[1] for found in IMPORT.findall('import a, { b } from "./a.js";\nimport("./b.js")')] == [
        "./a.js",
        "./b.js",
    ]


def test_style_sheets_and_page_name_files_that_exist() -> None:
    named = []
    for file in OURS:
        if file.suffix == ".css":
            names = re.findall(r"url\([\"']?([^\"')]+)[\"']?\)", file.read_text(encoding="utf-8"))
            named += [(file, file.parent / name) for name in names if not name.startswith("data:")]
    page = (STATIC / "index.html").read_text(encoding="utf-8")
    named += [(STATIC / "index.html", STATIC / name) for name in re.findall(r'(?:src|href)="/static/([^"]+)"', page)]
    assert len(named) > 6
    assert [f"{file.name}: {target.name}" for file, target in named if not target.is_file()] == []


def test_the_policy_is_kept() -> None:
    found = {str(path.relative_to(STATIC)): faults_in(path.read_text(encoding="utf-8")) for path in OURS}
    assert {name: faults for name, faults in found.items() if faults} == {}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('html`<div style="color: red">`', "a style attribute"),
        ("html`<p class=a style=${x}>`", "a style attribute"),
        ("<script>go()</script>", "a script element"),
        ('<button onclick="go()">', "a handler in markup"),
        ("eval(text)", "eval"),
        ("setTimeout('go()', 1)", "eval"),
        ("place.innerHTML = text", "markup from text"),
        ('fetch("https://example.org/a.js")', "another server"),
        ('import a from "//example.org/a.js"', "another server"),
    ],
)
def test_what_breaks_the_policy_is_seen(text: str, fault: str) -> None:
    assert fault in faults_in(text)


def test_colours_are_named_in_one_place() -> None:
    """Pages and parts take their colours from style.css, but for shadows; a shader or a canvas may mix its own."""
    sheets = [path for path in OURS if path.suffix == ".css" and path.name != "style.css"]
    found = {
        path.name: re.findall(r"#[0-9a-fA-F]{3,8}\b|\brgba?\((?!0 0 0 /)|\bhsla?\(", path.read_text())
        for path in sheets
    }
    assert {name: colours for name, colours in found.items() if colours} == {}


def test_text_can_be_read() -> None:
    """WCAG 2.2, 1.4.3: contrast of text at least 4.5; 1.4.11: of edges and other signs at least 3."""
    style = (STATIC / "style.css").read_text(encoding="utf-8")
    colours = dict(re.findall(r"--([\w-]+):\s*(#[0-9a-f]{6});", style))
    pairs = [*product(INKS, PAPERS), ("on-accent", "accent")]
    faint = [f"{ink} on {paper}" for ink, paper in pairs if contrast(colours[ink], colours[paper]) < 4.5]
    faint += [f"edge on {paper}" for paper in PAPERS if contrast(colours["edge"], colours[paper]) < 3]
    assert faint == []
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


def contrast(one: str, other: str) -> float:
    """The ratio of relative luminances of two colours in sRGB, as WCAG defines it."""
    low, high = sorted(luminance(colour) for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
