"""Mutations: of bytes, of words, and of formats whose checksums and lengths must stay right to get past the door."""

from __future__ import annotations

import io
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
            value = struct.pack(order + "f", chance.choice((float("nan"), float("inf"), -1e38, 1e-38, 3e38)))
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


def glb(inner: Mutation = json_tree) -> Mutation:
    """The JSON of a binary glTF, its lengths made right again (mostly)."""

    def mutated(chance: random.Random, content: bytes, others: list[bytes]) -> bytes:
        length = struct.unpack_from("<I", content, 12)[0]
        text, rest = content[20 : 20 + length], content[20 + length :]
        if chance.random() < 0.3:
            rest = rest[:8] + some_bytes(chance, rest[8:], [])
        else:
            text = inner(chance, text, [])
        text += b" " * (-len(text) % 4)
        total = 20 + len(text) + len(rest)
        total = chance.choice(NUMBERS) % 2**32 if chance.random() < 0.05 else total
        return struct.pack("<4sIIII", b"glTF", 2, total, len(text), 0x4E4F534A) + text + rest

    return mutated


def png_chunks(chance: random.Random, content: bytes, others: list[bytes]) -> bytes:
    """A PNG's chunks edited, their checksums made right again."""
    chunks, at = [], 8
    while at + 8 <= len(content):
        length, kind = struct.unpack_from(">I4s", content, at)
        chunks.append([kind, content[at + 8 : at + 8 + length]])
        at += 12 + length
    place, what = chance.randrange(len(chunks)), chance.randrange(6)
    if what == 0:
        del chunks[place]
    elif what == 1:
        chunks.insert(chance.randrange(len(chunks) + 1), list(chunks[place]))
    elif what == 2:
        extra = chance.choice((b"tRNS", b"gAMA", b"iCCP", b"zTXt", b"acTL", b"fcTL", b"eXIf", b"PLTE", b"iTXt"))
        squeezed = b"x\0\0" + zlib.compress(bytes(chance.choice((10, 10**5, 3 * 10**6))))
        chunks.insert(1, [extra, chance.choice((b"", b"\0" * 8, squeezed, b"\xff" * 40))])
    elif what == 3 and chunks[0][0] == b"IHDR":
        field, header = chance.randrange(7), bytearray(chunks[0][1])
        if field < 2:
            header[4 * field : 4 * field + 4] = struct.pack(">I", chance.choice(NUMBERS) % 2**32)
        else:
            header[6 + field] = chance.choice((0, 1, 2, 3, 4, 6, 8, 16, 255))
        chunks[0][1] = bytes(header)
    elif what == 4:
        chunks[place][1] = some_bytes(chance, chunks[place][1], [])
    else:
        for chunk in chunks:
            if chunk[0] == b"IDAT":
                chunk[1] = zlib.compress(some_bytes(chance, zlib.decompress(chunk[1]), []))
    parts = [content[:8]]
    for kind, data in chunks:
        length = chance.choice(NUMBERS) % 2**32 if chance.random() < 0.02 else len(data)
        parts.append(struct.pack(">I4s", length, kind) + data + struct.pack(">I", zlib.crc32(kind + data)))
    return b"".join(parts)


def zip_entries(entry: Mutation) -> Mutation:
    """An entry of a zip edited and the archive made again, checksums right; or its own tables edited."""

    def mutated(chance: random.Random, content: bytes, others: list[bytes]) -> bytes:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = [(info.filename, archive.read(info)) for info in archive.infolist()]
        at, kind = chance.randrange(len(entries)), chance.randrange(8)
        name, data = entries[at]
        if kind < 4:
            entries[at] = name, entry(chance, data, [data for _, data in entries])
        elif kind == 4:
            del entries[at]
        elif kind == 5:
            entries.append((chance.choice((name, "x.npy", "../x.npy", "meta", "meta.npy")), data))
        elif kind == 6:
            entries[at] = name, data[:128] + bytes(chance.choice((10**6, 5 * 10**6)))
        method = zipfile.ZIP_DEFLATED if kind == 6 or chance.random() < 0.2 else zipfile.ZIP_STORED
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w", method) as archive:
            for name, data in entries:
                archive.writestr(zipfile.ZipInfo(name), data, method)
        result = bytearray(made.getvalue())
        if kind == 7:  # flags, method or size in both headers: "encrypted", "unknown compression", a lie
            offset, value = chance.choice(((6, b"\x01\0"), (8, b"\x63\0"), (8, b"\x0c\0"), (22, b"\xff\xff\xff\x7f")))
            for mark, shift in ((b"PK\3\4", 0), (b"PK\1\2", 2)):
                place = result.find(mark)
                result[place + offset + shift : place + offset + shift + len(value)] = value
        return bytes(result)

    return mutated


def npy(chance: random.Random, content: bytes, others: list[bytes]) -> bytes:
    """The header of a .npy edited, its length made right again."""
    if content[:6] != b"\x93NUMPY":
        return json_tree(chance, content, others)
    length = struct.unpack_from("<H", content, 8)[0]
    header, data = content[10 : 10 + length].decode("latin1"), content[10 + length :]
    kind = chance.randrange(5)
    if kind == 0:
        shape = ", ".join(str(chance.choice(NUMBERS)) for _ in range(chance.randint(0, 5)))
        header = re.sub(r"\(.*?\)", f"({shape},)", header)
    elif kind == 1:
        kinds = ("|O", "<f2", ">f8", "<c16", "|b1", "|S4", "<U9", "|V8", "<M8[s]", "<f16", "<i8", "<U99999999", "x")
        header = re.sub(r"'descr': '.*?'", f"'descr': '{chance.choice(kinds)}'", header)
    elif kind == 2:
        header = header.replace("False", chance.choice(("True", "1", "None", "[" * 90 + "]" * 90)))
    elif kind == 3:
        return content[: 10 + length] + some_bytes(chance, data, [])
    else:
        text = words()(chance, header.encode("latin1", "replace"), [])
        header = text.decode("latin1")
    encoded = header.encode("latin1", "replace")[:60_000]
    return content[:8] + struct.pack("<H", len(encoded)) + encoded + data


def npy_or_json(chance: random.Random, content: bytes, others: list[bytes]) -> bytes:
    """An entry of a run's npz: an array, or its meta data, which is JSON in bytes."""
    at = content.find(b"{", 80)
    if content[:6] == b"\x93NUMPY" and b"|u1" in content[:128] and at > 0 and chance.random() < 0.7:
        text = json_tree(chance, content[at:], [])
        head = re.sub(rb"\((\d+),\)", b"(%d,)" % len(text), content[10:at])
        return content[:8] + struct.pack("<H", len(head)) + head + text
    return npy(chance, content, others)
