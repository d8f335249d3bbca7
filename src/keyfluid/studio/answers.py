"""What a route answers: JSON, or one error with the faults of a scene; never a traceback."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from keyfluid.errors import KeyfluidError
from keyfluid.errors import faults_of as faults_of

MOST_JSON = 8 << 20
"""Bytes of a JSON body."""


class Refused(KeyfluidError):
    """A request that is not answered; `status` is its HTTP status, `more` what the page needs to go on."""

    def __init__(self, status: int, message: str, **more: Any) -> None:
        super().__init__(message)
        self.status, self.more = status, more


def answer(data: Any, status: int = 200) -> Response:
    """`data` as JSON; numbers that are not finite become null."""
    text = json.dumps(_finite(data), separators=(",", ":"), default=_plain)
    return Response(text, status, media_type="application/json")


def refusal(error: KeyfluidError) -> Response:
    """The answer to a request that failed for a reason the user can fix."""
    status, more = (error.status, error.more) if isinstance(error, Refused) else (422, {})
    return answer({"error": {"message": str(error), "faults": faults_of(error), **more}}, status)


async def body_of(request: Request, most: int = MOST_JSON) -> bytes:
    """The body of a request, refused as soon as it is longer than `most` bytes."""
    data = bytearray()
    async for part in request.stream():
        data += part
        if len(data) > most:
            raise Refused(413, f"the request is longer than {most >> 20} MiB")
    return bytes(data)


async def json_of(request: Request, most: int = MOST_JSON) -> dict[str, Any]:
    """The JSON object that a request carries."""
    try:
        data = json.loads(await body_of(request, most))
    except (ValueError, RecursionError):
        raise Refused(400, "the request is not JSON") from None
    if not isinstance(data, dict):
        raise Refused(400, "the request is not a JSON object")
    return data


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
    return node.tolist() if hasattr(node, "tolist") else str(node)
