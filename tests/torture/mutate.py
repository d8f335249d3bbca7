"""Mutations of bytes, words and JSON; those that know a format are in formats.py."""

from __future__ import annotations

import json
import random
import re
import struct
import zipfile
import zlib
from collections.abc import Callable
from typing import Any

NUMBERS = (
    0, 1, -1, 2, 3, 127, 128, 255, 256, 32767, 65535, 65536, 10**6, 10**9, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63,
    -(2**31), 10**30,
)  # fmt: skip
WRITTEN = ("nan", "inf", "-inf", "1e308", "-1e308", "1e-308", "1e38", "1e400", "0.0", "-0.0", "0x10", "1_000", "", "²",
           "1" * 400, "-", "1e", ".5", "true", "99999999999999999999")  # fmt: skip
HOSTILE = ("", "\0", "a" * 3000, "../../secret", "/etc/hostname", "%s%n", "\udc80", "é²\u202e", "*" * 9,
           "....", "~",
           "data:;base64,AAAA", "file:///etc/hostname", "http://localhost/x", "a\nb", "-1", "\ufeff")  # fmt: skip

REALS = (float("nan"), float("inf"), -1e38, 1e-38, 3e38, 0.0, 1e-3, 1e3, -1.0)

Mutation = Callable[[random.Random, bytes, list[bytes]], bytes]
"""(chance, content, other seeds of the same reader) -> content"""


def several(*kinds: tuple[Mutation, float]) -> Mutation:
    """One to four mutations in turn, drawn by weight; what a format's own mutation can't parse is mutated as bytes."""
    mutations, weights = [kind for kind, _ in kinds], [weight for _, weight in kinds]

    def mutated(chance: random.Random, content: bytes, others: list[bytes]) -> bytes:
        for _ in range(chance.choice((1, 1, 1, 2, 2, 3, 4))):
            mutation = chance.choices(mutations, weights)[0]
            try:
                content = mutation(chance, content, others)
            except (ValueError, KeyError, IndexError, TypeError, struct.error, zipfile.BadZipFile, zlib.error, OSError,
                    NotImplementedError, RecursionError, EOFError, OverflowError, RuntimeError):  # fmt: skip
                content = some_bytes(chance, content, others)
        return content[: 1 << 20]

    return mutated


def some_bytes(chance: random.Random, content: bytes, others: list[bytes]) -> bytes:
    """Flips, extremes, cuts, copies, splices."""
    data = bytearray(content)
    size = len(data)
    at = chance.randrange(size + 1)
    # Headers are where readers decide: half of the changes go there.
    near = min(at, chance.randrange(257)) if chance.random() < 0.5 else at
    length = chance.choice((1, 2, 4, 8, 16, chance.randint(1, max(1, size))))
    kind = chance.randrange(11)
    if kind == 0 and size:
        data[near % size] ^= 1 << chance.randrange(8)
    elif kind == 1 and size:
        data[near % size] = chance.choice((0, 1, 0x7F, 0x80, 0xFF, 0x20, 0x0A, chance.randrange(256)))
    elif kind == 2:
        return bytes(data[:at])
    elif kind == 3:
        data[near:near] = bytes(chance.randrange(256) for _ in range(min(length, 64)))
    elif kind == 4:
        data[at:at] = data[near : near + length] * chance.choice((1, 1, 2, 20))
    elif kind == 5:
        del data[near : near + length]
    elif kind == 6:
        data[near : near + length] = bytes(min(length, size))
    elif kind == 7 and others:
        other = chance.choice(others)
        cut = chance.randrange(len(other) + 1)
        return bytes(data[:at]) + other[cut:]
    elif kind in (8, 9):
        width, order = chance.choice((1, 2, 4, 4, 8)), chance.choice("<<>")
        number = chance.choice(NUMBERS) + chance.choice((0, 0, 0, 1, -1))
        value = (number % (1 << 8 * width)).to_bytes(width, "little" if order == "<" else "big")
        if chance.random() < 0.15:
            value = struct.pack(order + chance.choice("fd"), chance.choice(REALS))
        data[near : near + len(value)] = value
    else:
        return _number_in_text(chance, content)
    return bytes(data)


def _number_in_text(chance: random.Random, content: bytes) -> bytes:
    """A number written in digits becomes another."""
    found = list(re.finditer(rb"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?", content[:20_000]))
    if not found:
        return content
    place = chance.choice(found)
    return content[: place.start()] + number_text(chance).encode("utf-8", "replace") + content[place.end() :]


def number_text(chance: random.Random) -> str:
    """Small, extreme, or none."""
    kind = chance.random()
    if kind < 0.4:
        return chance.choice((str(chance.randint(0, 40)), f"{chance.uniform(0, 1):.3g}"))
    return str(chance.choice(NUMBERS)) if kind < 0.75 else chance.choice(WRITTEN)


def words(vocabulary: tuple[str, ...] = ()) -> Mutation:
    """Of text made of tokens: swap, drop, double, replace; and whole lines likewise."""

    def mutated(chance: random.Random, content: bytes, others: list[bytes]) -> bytes:
        text = content.decode("utf-8", "surrogateescape")
        by_line = chance.random() < 0.35
        pieces = text.splitlines(True) if by_line else re.findall(r"\s+|[\w.+-]+|\"[^\"\n]*\"|.", text, re.DOTALL)
        if not pieces:
            return chance.choice(HOSTILE).encode("utf-8", "surrogatepass")
        at, kind = chance.randrange(len(pieces)), chance.randrange(7)
        if kind == 0:
            to = chance.randrange(len(pieces))
            pieces[at], pieces[to] = pieces[to], pieces[at]
        elif kind == 1:
            del pieces[at]
        elif kind == 2:
            pieces.insert(chance.randrange(len(pieces)), pieces[at] * chance.choice((1, 1, 2, 40)))
        elif kind == 3:
            pieces[_like(chance, pieces, at, r"[\d.+-][\w.+-]*")] = number_text(chance)
        elif kind == 4:
            hostile = chance.choice(HOSTILE)
            pieces[at] = json.dumps(hostile) if chance.random() < 0.6 else hostile
        elif kind == 5 and vocabulary:
            word = chance.choice(vocabulary)
            if chance.random() < 0.5:
                pieces[_like(chance, pieces, at, r'".*"')] = json.dumps(word)
            else:
                pieces[_like(chance, pieces, at, r"[a-z]\w*")] = word
        elif others:
            other = chance.choice(others).decode("utf-8", "surrogateescape").splitlines(True) or [""]
            first = chance.randrange(len(other))
            pieces[at:at] = other[first : first + chance.randint(1, 8)]
        return "".join(pieces).encode("utf-8", "surrogatepass" if chance.random() < 0.1 else "replace")

    return mutated


def _like(chance: random.Random, pieces: list[str], at: int, pattern: str) -> int:
    """Mostly a piece that looks so: a number for a number gets further than one for a bracket."""
    alike = [place for place, piece in enumerate(pieces) if re.fullmatch(pattern, piece)]
    return chance.choice(alike) if alike and chance.random() < 0.8 else at


def json_tree(chance: random.Random, content: bytes, others: list[bytes]) -> bytes:
    """A node of JSON replaced, dropped, doubled, moved or wrapped."""
    tree = json.loads(content)
    node, key = _pick(chance, tree)
    if node is None:
        return content
    kind = chance.randrange(8)
    if kind < 3:
        node[key] = _other_value(chance, node[key])
    elif kind == 3:
        del node[key]
    elif kind == 4:
        other, from_key = _pick(chance, tree)
        node[key] = other[from_key]
    elif kind == 5 and isinstance(node, list):
        node.insert(0, node[key])
    elif kind == 6:
        depth, inner, node[key] = chance.choice((1, 3, 2000, 100_000)), json.dumps(node[key]), "\0deep"
        return json.dumps(tree).replace(r'"\u0000deep"', "[" * depth + inner + "]" * depth).encode()
    elif isinstance(node, dict):
        name = chance.choice(("sparse", "extensions", "uri", "count", "byteOffset", "byteStride", "children", "0", ""))
        node[name] = _other_value(chance, 1)
    return json.dumps(tree).encode()


def _pick(chance: random.Random, tree: Any) -> tuple[Any, Any]:
    """A random container of the tree and a key in it; deeper ones as likely as upper ones."""
    containers, stack = [], [tree]
    while stack:
        node = stack.pop()
        children = list(node.values()) if isinstance(node, dict) else node if isinstance(node, list) else []
        if children:
            containers.append(node)
            stack += [child for child in children if isinstance(child, dict | list)]
    if not containers:
        return None, None
    node = chance.choice(containers)
    return node, chance.choice(list(node)) if isinstance(node, dict) else chance.randrange(len(node))


def _other_value(chance: random.Random, value: Any) -> Any:
    kind = chance.randrange(8)
    if isinstance(value, int | float) and kind < 5:
        return chance.choice((chance.choice(NUMBERS), value + 1, -value, 0.5, 1e308, float("nan"), float("inf")))
    if isinstance(value, str) and kind < 4:
        return chance.choice(HOSTILE[:-1])
    return chance.choice((None, True, [], {}, "", 0, -1, [[]], {"a": 1}, chance.choice(NUMBERS), "x", 1.5, [value] * 3))
