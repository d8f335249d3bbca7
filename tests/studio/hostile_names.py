"""Names, values and bytes that a hostile client sends."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from hostile_table import SCENE

_UPS = [
    "../", "..\\", "..%2f", "%2e%2e/", "%2e%2e%2f", "..%252f", "..%c0%af", "%c0%ae%c0%ae/", "..;/", "....//",
    "..././", ".../", "\uff0e\uff0e/", "\u3002\u3002/", "\u2025/", "..\u2215", "..\u2044", "..\uff0f",
    "\u2024\u2024/", "..%u2215", "..\x00/", "..\r/", "..//", "./../", "\\..\\", "..\u200b/", "..\u202e/",
    "\ufeff../", "%20../", "..%00/",
]  # fmt: skip
_ABSOLUTE = [
    "/etc/passwd", "//etc/passwd", "/proc/self/environ", "/dev/stdin", "/dev/zero", "~/.ssh/id_rsa", "~root",
    "C:\\Windows\\win.ini", "C:secret.toml", "\\\\server\\share\\a.toml", "//server/share/a.toml",
    "\\\\?\\C:\\a.toml", "file:///etc/passwd", "http://127.0.0.1/a.toml", "scene.toml:stream",
    "scenes/word/scene.toml::$DATA", "data:text/plain,a",
]  # fmt: skip
_LINKS = [
    "scenes/out/secret.toml", "scenes/word/link.toml", "scenes/word/loop.toml", "runs/out",
    "scenes/root/etc/passwd", "scenes/hidden/job.toml", "link_home/secret.toml", "runs/out/scene.toml",
    "scenes/word/dangling.toml", "scenes/out", "scenes/root", "scenes/word/fifo.toml", "scenes/word/link.png",
    "link.png", "out/secret.png", "../out/secret.png",
]  # fmt: skip
"""Made by `workspace_with_links`."""
_OURS = [
    ".studio/job.toml", ".studio", "trash/old/scene.toml", "TRASH/old/scene.toml", ".git/config", ".", "..", "/",
    "./scenes/word/scene.toml", "scenes/./word/scene.toml", "scenes//word/scene.toml",
    "scenes/word/../word/scene.toml", "scenes/word/", "scenes/word/scene.toml/", "SCENES/WORD/SCENE.TOML",
    "scenes/word/scene.toml.", "", "\x20", "scenes/word/.scene.toml.part", "scenes/word/scene.toml\n",
    "scenes/word/scene.toml\x00.png", "runs",
]  # fmt: skip
_ODD = [
    "con", "NUL.toml", "aux/scene.toml", "COM1", "a" * 256, "a" * 5000, "/".join("a" * 400), "é" * 200,
    "\U0001d4b3" * 80, "\U0001f701", "\u202egnp.exe", "\x00", "\t", "\x7f", "\x1b[2J", "-rf", "--output=x", "-o",
    "$(id)", "`id`", "; id", "\x7c id", "&& id", "${HOME}", "%HOME%", "<script>alert(1)</script>",
    "'\"><img src=x onerror=alert(1)>", "{{7*7}}", "${7*7}", "%s%n%x", "{0.__class__}", "__proto__", "constructor",
    "*", "?", "[a-z]", "{a,b}", "~", "null", "undefined", "NaN", "-1", "1e309", "0x10", "' OR 1=1 --",
    "\ufdfa" * 30, "\ud83d", "A\u030a" * 60, "\ufb03", "\u0130", "\u2028", "name\r\nSet-Cookie: a=b",
]  # fmt: skip
ODD_VALUES: list[Any] = [
    None, True, 0, -1, 10**17, 1e308, -0.5, [], {}, [[]], [None], {"a": {"b": []}}, ["a"] * 3, "", "x" * 3000, "\ud800",
    "\x00", {"path": SCENE}, [SCENE], "../x", 2**31, "\U0001f4a8",
]  # fmt: skip


def names(outside: Path) -> list[str]:
    """Names and paths that lead out (to `outside`, beside the workspace), break a parser or mean something."""
    target = f"{outside.name}/secret.toml"
    climbing = [f"{start}{up * count}{target}" for up in _UPS for count in (1, 3) for start in ("", "scenes/word/")]
    climbing += [f"scenes/{up}{up}{outside.name}" for up in _UPS]
    absolute = [f"{before}{outside / 'secret.toml'}" for before in ("", "/", "file://", "scenes/word/")]
    return list(dict.fromkeys([*climbing, *absolute, *_ABSOLUTE, *_LINKS, *_OURS, *_ODD]))


def mutated(value: Any, chance: random.Random, depth: int = 0) -> Any:
    """A body like `value`, with something wrong in it."""
    if depth > 3 or chance.random() < 0.25 or not isinstance(value, dict | list) or not value:
        return chance.choice(ODD_VALUES)
    if isinstance(value, list):
        return [mutated(chance.choice(value), chance, depth + 1) for _ in range(chance.randrange(4))]
    changed = dict(value)
    for key in chance.sample(sorted(changed), chance.randint(1, len(changed))):
        if chance.random() < 0.2:
            del changed[key]
        else:
            changed[key] = mutated(changed[key], chance, depth + 1)
    if chance.random() < 0.2:
        changed[chance.choice(["", "path", "set", "wedge", "png", "text", "__proto__"])] = chance.choice(ODD_VALUES)
    return changed


def noise(chance: random.Random) -> bytes:
    """Bytes that are not JSON, or nearly are."""
    kind = chance.randrange(6)
    if kind == 0:
        return chance.randbytes(chance.randrange(200))
    if kind == 1:
        return b"[" * chance.choice([40, 3000, 100_000])
    if kind == 2:
        return b'{"a":' * chance.choice([40, 900]) + b"1" + b"}" * chance.choice([40, 900])
    if kind == 3:
        return chance.choice(
            [b"NaN", b'{"n": Infinity}', b'{"n": 1e999}', b'{"n": ' + b"9" * 5000 + b"}", b"null", b'"a"', b""]
        )
    if kind == 4:
        return b'{"path": "' + chance.randbytes(20) + b'"}'
    return chance.choice(
        [b"\xef\xbb\xbf{}", '{"a": 1}'.encode("utf-16"), b'{"a": 1,}', b'{"a": "\\ud800"}', b'{"a": 1, "a": 2}']
    )
