"""The code on README and docs pages, and the comments that say how to run it.

A fenced block has a language: `python` is executed, `toml` is a scene that is loaded, built and planned, `sh` holds
commands. Blocks without a language are drawings and listings, those with a {directive} are for the site's builder. A
comment on the line above a block says what a reader knows and a program does not; several are separated by semicolons:

    <!-- code: after the block before -->    continues the page's previous block of the same language
    <!-- code: after shot_3d.toml -->        continues a file of this folder
    <!-- code: 200 -> 64 -->                 every "200" becomes "64": to make it smaller
    <!-- code: an entry of a dict -->        stands in braces; continues the previous block too
    <!-- code: a key of PATH -->             a line for the settings class in src/keyfluid/PATH
    <!-- code: not run: REASON -->
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
TOP = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "examples/README.md")
PAGES = [*(ROOT / name for name in TOP), *sorted((ROOT / "docs").rglob("*.md"))]
LANGUAGES = ("python", "toml", "sh", "{eval-rst}", "")
COMMENT = re.compile(r"<!-- code: (.*) -->")
PROGRAMS = ("keyfluid ", "make ", "python ")
LOOKS_LIKE_CODE = re.compile(r"^(import \w+|from \w\S* import .*|\[\[?\w+\]\]?)$", re.MULTILINE)
"""Python or a scene; a block without a language must not hold any."""


@dataclass(frozen=True)
class Block:
    """A fenced block: the line of its first character, what it holds, and the comment's parts.

    source  what to run: the block with what it continues
    """

    page: str
    line: int
    language: str
    text: str
    notes: tuple[str, ...]
    source: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def runs(self) -> bool:
        return not any(note.startswith(("not run:", "a key of ")) for note in self.notes)

    @property
    def key_of(self) -> str | None:
        """The settings file that the block is a line of."""
        return next((note.removeprefix("a key of ") for note in self.notes if note.startswith("a key of ")), None)


def blocks_of(page: str, text: str) -> list[Block]:
    """The fenced blocks of a page."""
    found: list[Block] = []
    lines = text.splitlines()
    start = None
    for number, line in enumerate(lines, 1):
        if not line.startswith("```"):
            continue
        if start is None:
            start = number
        else:
            found.append(_block(page, lines, start, number, found))
            start = None
    if start is not None:
        raise ValueError(f"{page}:{start}: the block has no end")
    return found


def _block(page: str, lines: list[str], start: int, end: int, before: list[Block]) -> Block:
    language = lines[start - 1].removeprefix("```")
    text = "".join(f"{line}\n" for line in lines[start : end - 1])
    where = f"{page}:{start + 1}"
    if language not in LANGUAGES:
        raise ValueError(f"{where}: the language {language!r} is not one of {LANGUAGES}")
    if not language and LOOKS_LIKE_CODE.search(text):
        raise ValueError(f"{where}: this is code; give the block its language")
    comment = COMMENT.fullmatch(lines[start - 2]) if start > 1 else None
    notes = tuple(comment[1].split("; ")) if comment else ()
    earlier = next((block.source for block in reversed(before) if block.language == language), None)
    lead, shown = "\n" * start if language == "python" else "", text
    for note in notes:
        kind, _, rest = note.partition(" ")
        if note in ("after the block before", "an entry of a dict"):
            if earlier is None:
                raise ValueError(f"{where}: the page has no {language} block before this one")
            lead = earlier + "\n" * (start - earlier.count("\n"))
            shown = f"ENTRY = {{\n{shown}}}\n" if kind == "an" else shown
        elif kind == "after":
            lead = (HERE / rest).read_text(encoding="utf-8")
        elif " -> " in note:
            old, _, new = note.partition(" -> ")
            if old not in shown:
                raise ValueError(f"{where}: {old!r} is not in the block")
            shown = shown.replace(old, new)
        elif not re.match(r"not run: .|a key of \S+$", note):
            raise ValueError(f"{where}: {note!r} is not a comment that tests/docs/doc_blocks.py knows")
    return Block(page, start + 1, language, text, notes, lead + shown)


def all_blocks(language: str) -> list[Block]:
    """Of all pages."""
    found = []
    for path in PAGES:
        found += blocks_of(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8"))
    return [block for block in found if block.language == language]


def shown_commands(text: str) -> list[str]:
    """Commands in a page's blocks, fenced or indented, without the words that explain them."""
    fenced = "".join(block.text for block in blocks_of("", text) if block.language in ("sh", ""))
    lines = [*fenced.splitlines(), *(line[4:] for line in text.splitlines() if line.startswith("    "))]
    commands = [line.removeprefix(".venv/bin/") for line in lines]
    return [re.split(r"\s{2,}|\s+#", line)[0] for line in commands if line.startswith(PROGRAMS)]


def named_commands(text: str) -> list[str]:
    """Commands between backticks in a sentence, which may leave their arguments out."""
    return [words for words in re.findall(r"`([^`\n]*)`", text) if words.startswith(PROGRAMS)]
