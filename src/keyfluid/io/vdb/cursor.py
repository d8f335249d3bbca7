"""A reading position in the bytes of a file that cannot leave them."""

from __future__ import annotations

import struct

from keyfluid.errors import KeyfluidError


class Cursor:
    """Takes values from `data` one after the other; running past the end is a fault of the file."""

    def __init__(self, data: bytes) -> None:
        self.data = memoryview(data)
        self.position = 0

    def take(self, count: int) -> memoryview:
        start = self.position
        if count < 0 or count > len(self.data) - start:
            raise KeyfluidError(
                f"the file is damaged or cut short: byte {start} needs {count} more bytes, "
                f"{len(self.data) - start} are left"
            )
        self.position = start + count
        return self.data[start : start + count]

    def number(self, code: str) -> int:
        """One integer in the notation of `struct`."""
        return int(struct.unpack("<" + code, self.take(struct.calcsize("<" + code)))[0])

    def string(self) -> str:
        return bytes(self.take(self.number("I"))).decode("utf-8", errors="replace")
