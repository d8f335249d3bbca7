"""What a route answers: JSON, or one error with the faults of a scene; never a traceback."""

from __future__ import annotations

import asyncio
import errno
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from keyfluid.errors import KeyfluidError
from keyfluid.errors import faults_of as faults_of

MOST_JSON = 8 << 20
"""Bytes of a JSON body."""
DEEPEST = 32
"""Levels of lists and objects in it."""
PATIENCE = 30.0
"""Seconds in which the next part of a body has to come."""
_MOST_DIGITS = 18


class Refused(KeyfluidError):
    """A request that is not answered; `status` is its HTTP status, `more` what the page needs to go on."""

    def __init__(self, status: int, message: str, **more: Any) -> None:
        super().__init__(message)
        self.status, self.more = status, more


def answer(data: Any, status: int = 200) -> Response:
    """`data` as JSON."""
    return Response(json_text(data), status, media_type="application/json")


def json_text(data: Any) -> str:
    """`data` as browsers read it: numbers that are not finite become null."""
    return json.dumps(_finite(data), separators=(",", ":"), default=_plain)


def refusal(error: KeyfluidError) -> Response:
    """The answer to a request that failed for a reason the user can fix."""
    status, more = (error.status, error.more) if isinstance(error, Refused) else (422, {})
    return answer({"error": {"message": str(error), "faults": faults_of(error), **more}}, status)


def disk_refusal(error: OSError) -> Response:
    """The answer when a file can't be used; names it without its folder."""
    status = {errno.ENOENT: 404, errno.ENOTDIR: 404, errno.EACCES: 403, errno.EPERM: 403, errno.EEXIST: 409,
              errno.ENOTEMPTY: 409, errno.ELOOP: 403, errno.ENAMETOOLONG: 400, errno.EISDIR: 400}  # fmt: skip
    name = Path(str(error.filename)).name if error.filename else "a file"
    message = f"{name}: {error.strerror or 'can not be used'}"
    return answer({"error": {"message": message, "faults": []}}, status.get(error.errno or 0, 507))


async def body_of(request: Request, most: int = MOST_JSON) -> bytes:
    """The body of a request, refused as soon as it is longer than `most` bytes, stops coming or breaks off."""
    too_long = Refused(413, f"the request is longer than {most >> 20} MiB")
    given = request.headers.get("content-length", "")
    if given.isascii() and given.isdecimal() and (len(given) > _MOST_DIGITS or int(given) > most):
        raise too_long
    data = bytearray()
    try:
        async with asyncio.timeout(PATIENCE) as limit:
            async for part in request.stream():
                data += part
                if len(data) > most:
                    raise too_long
                limit.reschedule(asyncio.get_running_loop().time() + PATIENCE)
    except TimeoutError:
        raise Refused(408, "the rest of the request did not come") from None
    except ClientDisconnect:
        raise Refused(400, "the request broke off") from None
    return bytes(data)


async def json_of(request: Request, most: int = MOST_JSON) -> dict[str, Any]:
    """The JSON object that a request carries."""
    data = json_in(await body_of(request, most))
    if not isinstance(data, dict):
        raise Refused(400, "the request is not a JSON object")
    return data


def json_in(content: bytes | str) -> Any:
    """What a request or a message holds: finite numbers of machine size, whole characters, few levels."""
    try:
        data = json.loads(content, parse_float=_real, parse_int=_whole, parse_constant=_real)
        level = [data]
        for _ in range(DEEPEST):
            inside: list[Any] = []
            for node in level:
                if isinstance(node, str):
                    node.encode()  # half a surrogate pair can't be written to a file
                elif isinstance(node, dict):
                    inside += [*node, *node.values()]
                elif isinstance(node, list):
                    inside += node
            if not (level := inside):
                return data
    except (ValueError, RecursionError):
        raise Refused(400, "the request is not JSON") from None
    raise Refused(400, f"the request has more than {DEEPEST} levels")


def text_in(data: Mapping[str, Any], key: str, default: str | None = None) -> str:
    """A text in a request; raises if it is missing or not text."""
    value = data.get(key, default)
    if not isinstance(value, str):
        raise Refused(400, f"{key}: give a text")
    return value


def whole_in(data: Mapping[str, Any], key: str, default: int | None = None) -> int:
    """A whole number in a request, as JSON or in the query."""
    value = data.get(key, default)
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 10:
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise Refused(400, f"{key}: give a whole number")
    return value


def _finite(node: Any) -> Any:
    if isinstance(node, float):
        return node if math.isfinite(node) else None
    if isinstance(node, Mapping):
        return {str(key): _finite(value) for key, value in node.items()}
    if isinstance(node, list | tuple):
        return [_finite(value) for value in node]
    return node


def _plain(node: Any) -> Any:
    return _finite(node.tolist()) if hasattr(node, "tolist") else str(node)


def _real(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def _whole(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise ValueError(text)
    return int(text)
