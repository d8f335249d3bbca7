"""What a live run's process writes to the server: a kind, the length in four bytes (little-endian), the content."""

from __future__ import annotations

JSON, FRAME = b"J", b"B"


def framed(kind: bytes, content: bytes) -> bytes:
    return kind + len(content).to_bytes(4, "little") + content
