"""A web page in one file: style, script and pictures inside, and a policy that forbids everything else.

The policy names the style and the script by their hashes, so that text which slipped past the escaping would still not
run, and allows pictures only as data URIs. There are no style attributes: the policy would block them.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

_HERE = Path(__file__).parent


def page(title: str, body: str, scripts: Sequence[str] = (), style: str = "") -> str:
    """A whole HTML document; `scripts` are names of files beside this one, `style` is CSS added to page.css."""
    css = _HERE.joinpath("page.css").read_text(encoding="utf-8") + style
    code = "".join(_HERE.joinpath(name).read_text(encoding="utf-8") for name in scripts)
    policy = f"default-src 'none'; img-src data:; style-src {_hash(css)}; base-uri 'none'; form-action 'none'"
    if code:
        policy += f"; script-src {_hash(code)}"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(title)}</title>\n<style>{css}</style>\n</head>\n<body>\n{body}\n"
        + (f"<script>{code}</script>\n" if code else "")
        + "</body>\n</html>\n"
    )


def data_block(name: str, value: Any) -> str:
    """JSON that a script of the page reads; nothing in it can end the element."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return f'<script type="application/json" id="{escape(name, quote=True)}">{text}</script>'


def data_uri(kind: str, data: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode('ascii')}"


def section(heading: str, body: str) -> str:
    return f"<section><h2>{escape(heading)}</h2>{body}</section>"


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}'"
