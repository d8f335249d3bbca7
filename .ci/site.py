"""Check the built site: every link and picture leads somewhere inside it, and no page needs the network.

    python .ci/site.py out/site

Links to other sites are only listed, not followed. Exit code 0: all lead somewhere. 1: one line per fault.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {("img", "src"), ("script", "src"), ("link", "href"), ("source", "src"), ("iframe", "src")}
"""What a browser fetches by itself when it opens a page."""


class Page(HTMLParser):
    """The anchors of a page and what it refers to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[tuple[str, bool]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            elif value and ((tag, name) in LOADED or (tag, name) == ("a", "href")):
                self.links.append((value, (tag, name) in LOADED))


def faults(site: Path) -> tuple[list[str], set[str]]:
    """What is wrong, and the links that leave the site."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    found: list[str] = []
    outside: set[str] = set()
    for path, page in pages.items():
        where = path.relative_to(site)
        for link, loaded in page.links:
            parts = urlsplit(link)
            if parts.scheme == "data":
                continue
            if parts.scheme or parts.netloc:
                outside.add(link)
                if loaded:
                    found.append(f"{where}: needs the network: {link}")
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.is_file():
                found.append(f"{where}: leads nowhere: {link}")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                found.append(f"{where}: no such heading: {link}")
    if not pages:
        found.append(f"{site}: has no pages")
    return found, outside


def main(arguments: list[str]) -> int:
    site = Path(arguments[0]).resolve()
    found, outside = faults(site)
    for line in found:
        print(line, file=sys.stderr)
    if not found:
        count = len(list(site.rglob("*.html")))
        print(f"{arguments[0]}/index.html: {count} pages, all links inside lead somewhere; {len(outside)} lead outside")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
