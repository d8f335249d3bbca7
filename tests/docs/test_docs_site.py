"""The site without building it: pages are in a table of contents, links lead somewhere, and its checker can fail."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest
from doc_blocks import PAGES, ROOT

DOCS = ROOT / "docs"


def site_module() -> Any:
    spec = importlib.util.spec_from_file_location("keyfluid_ci_site", ROOT / ".ci" / "site.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def listed(page: Path) -> set[str]:
    """What the page's tables of contents name, as paths in docs without their ending."""
    blocks = re.findall(r"^:::\{toctree\}\n(.*?)^:::$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    names = [line for block in blocks for line in block.splitlines() if line and not line.startswith(":")]
    return {(page.parent / name).relative_to(DOCS).as_posix() for name in names}


def test_every_page_is_in_a_table_of_contents() -> None:
    pages = {path for ending in ("md", "ipynb") for path in DOCS.rglob(f"*.{ending}")}
    named = {name for page in pages if page.suffix == ".md" for name in listed(page)}
    assert named | {"index"} == {path.relative_to(DOCS).with_suffix("").as_posix() for path in pages}


def anchors(text: str) -> set[str]:
    """Of the headings, as GitHub and MyST make them."""
    heads = re.findall(
        r"^#{1,3} (.*)$", re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL), re.MULTILINE
    )
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_to_files_and_headings(page: Path) -> None:
    text = re.sub(r"^```.*?^```$|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in link:
            continue
        name, _, heading = link.partition("#")
        target = page.parent / name if name else page
        assert target.is_file(), f"{page.name}: {link}"
        if heading:
            assert heading in anchors(target.read_text(encoding="utf-8")), f"{page.name}: {link}"


@pytest.mark.parametrize(
    ("html", "fault"),
    [
        ('<a href="gone.html">x</a>', "leads nowhere: gone.html"),
        ('<a href="other.html#gone">x</a>', "no such heading: other.html#gone"),
        ('<script src="https://cdn.example/x.js"></script>', "needs the network: https://cdn.example/x.js"),
        ('<img src="gone.png">', "leads nowhere: gone.png"),
    ],
)
def test_the_checker_finds_what_is_wrong(tmp_path: Path, html: str, fault: str) -> None:
    (tmp_path / "other.html").write_text('<h1 id="here">x</h1><a href="https://example.org">x</a>')
    page = tmp_path / "index.html"
    page.write_text('<a href="other.html#here">x</a>')
    site = site_module()
    assert site.faults(tmp_path) == ([], {"https://example.org"})
    page.write_text(html)
    assert site.faults(tmp_path)[0] == [f"index.html: {fault}"]
