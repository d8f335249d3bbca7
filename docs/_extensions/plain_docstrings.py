"""Docstrings as they are written here, plain text, made into reStructuredText.

Indented lines are shown as they stand (equations, examples). `name` in backticks is code. A line "name: meaning"
begins an item of a list. Everything else is a paragraph in which no character has a meaning of its own. In signatures
types have their short names.
"""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

ITEM = re.compile(r"(?P<names>\w+(?:, \w+)*): (?P<text>.*)")
CODE = re.compile(r"``?([^`]+)``?")


def plain(text: str) -> str:
    """One line: code as literals, everything else escaped."""
    parts = CODE.split(text)
    return "".join(f"``{part}``" if at % 2 else re.sub(r"([\\*|_])", r"\\\1", part) for at, part in enumerate(parts))


def converted(lines: list[str]) -> list[str]:
    """The docstring in reStructuredText."""
    made: list[str] = []
    literal = False
    for line in lines:
        if not line.strip():
            made.append("")
        elif line.startswith("  "):
            if not literal:
                made += ["", "::", ""]
            made.append(f"    {line}")
            literal = True
            continue
        else:
            if literal:
                made.append("")
            literal = False
            item = ITEM.fullmatch(line)
            if item is not None and all(name.islower() for name in item["names"].split(", ")):
                names = ", ".join(f"``{name}``" for name in item["names"].split(", "))
                made += ["", f"- {names}: {plain(item['text'])}"]
            elif _in_item(made) and not (made[-1].endswith(".") and line[0].isupper()):
                made.append(f"  {plain(line)}")
            elif _in_item(made):
                made += ["", plain(line)]
            else:
                made.append(plain(line))
    return [*made, ""]


def _in_item(made: list[str]) -> bool:
    """Whether the line before belongs to a list."""
    return bool(made) and made[-1].startswith(("- ", "  "))


def _process(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    lines[:] = converted(list(lines))


def shortened(signature: str | None) -> str | None:
    """Types by their own names: no modules, aliases unexpanded."""
    if signature is None:
        return None
    signature = re.sub(r"~?(?:[a-z_]\w*\.)+([A-Z_]\w*)", r"\1", signature.replace("~", ""))
    signature = re.sub(r"type\[Any\] \| (?:numpy\.)?dtype.*?_DTypeDict \| str", "DTypeLike", signature)
    signature = re.sub(r"<class '(?:numpy\.)?(\w+)'>", r"\1", signature)
    return re.sub(r"TypeAliasForwardRef\('(\w+)'\)", r"\1", signature)


def _sign(
    app: Sphinx, what: str, name: str, obj: object, options: object, signature: str | None, answer: str | None
) -> tuple[str | None, str | None]:
    return shortened(signature), shortened(answer)


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("autodoc-process-docstring", _process)
    app.connect("autodoc-process-signature", _sign)
    return {"parallel_read_safe": True}
