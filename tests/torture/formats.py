"""Mutations of formats whose checksums and lengths must stay right to get past the door: glTF, PNG, VDB, zip, npy."""

from __future__ import annotations

import io
import random
import re
import struct
import zipfile
import zlib

from torture.mutate import NUMBERS, REALS, Mutation, json_tree, some_bytes, words


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


def vdb_maps(chance: random.Random, content: bytes, others: list[bytes]) -> bytes:
    """A number of a VDB's transform, or one of the whole numbers (box, origins) about it."""
    data, found = bytearray(content), [place.end() for place in re.finditer(b"Map", content)]
    at = chance.choice(found) + 8 * chance.randrange(15)
    if chance.random() < 0.6:
        data[at : at + 8] = struct.pack("<d", chance.choice(REALS))
    else:
        at += 4 * chance.randrange(60)
        data[at : at + 4] = struct.pack("<I", (chance.choice(NUMBERS) + 8 * chance.randint(-99, 99)) % 2**32)
    return bytes(data[: len(content)])


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
