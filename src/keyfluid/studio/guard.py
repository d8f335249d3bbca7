"""Who may talk to the studio: a middleware around every route and socket.

A page of another site can make a browser send requests to this machine, and by rebinding its own name it can make them
look as if they came from here. So a request needs three things, each compared as a whole: a Host that is listed, an
Origin (where the browser sends one; always, for sockets) that belongs to such a Host, and the token, which only the
address that was printed at the start carries. The token comes once in the address of the page and then in a cookie.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADER = "x-keyfluid-token"
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; media-src 'self' blob:; "
    "connect-src 'self'; font-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""On every answer, unless the route says otherwise."""


class Guard:
    """hosts: names of this machine, without port; with `port` they are the only values of Host that are answered."""

    def __init__(self, app: ASGIApp, token: str, port: int, hosts: Iterable[str] = LOOPBACK) -> None:
        self._app, self._token = app, token
        self._hosts = frozenset(f"{host}:{port}" for host in hosts)
        self._origins = frozenset(f"http://{host}" for host in self._hosts)
        self._cookie = f"keyfluid_{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        fault = self._fault(scope)
        if fault is not None:
            await self._refuse(scope, receive, send, fault)
        elif scope["type"] == "http" and self._token_in_address(scope) is not None:
            await self._enter(scope, receive, send)
        else:
            await self._app(scope, receive, with_headers(send) if scope["type"] == "http" else send)

    def _fault(self, scope: Scope) -> str | None:
        """Why a request is refused; None if it is not."""
        headers = Headers(scope=scope)
        if headers.getlist("host") not in [[host] for host in self._hosts]:
            return "this host name is not served"
        origins = headers.getlist("origin")
        if origins != [] and (len(origins) != 1 or origins[0] not in self._origins):
            return "this origin is not served"
        if scope["type"] == "websocket" and not origins:
            return "a socket needs an origin"
        if scope["type"] not in ("http", "websocket"):
            return "this kind of request is not served"
        given = headers.get(HEADER) or self._token_in_cookie(headers) or self._token_in_address(scope)
        if given is None or not secrets.compare_digest(given.encode(), self._token.encode()):
            return "open the address that keyfluid studio printed, with its token"
        return None

    def _token_in_cookie(self, headers: Headers) -> str | None:
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(self._cookie)
        except CookieError:
            return None
        return cookie.value if cookie is not None else None

    def _token_in_address(self, scope: Scope) -> str | None:
        """Only the first page takes it there, so that no other address ever carries it."""
        if scope["type"] != "http" or scope["path"] != "/" or scope["method"] != "GET":
            return None
        found = parse_qs(scope["query_string"].decode("latin-1")).get("token")
        return found[0] if found else None

    async def _enter(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Keep the token in a cookie, and show the page under an address without it."""
        response = RedirectResponse("/", 303)
        response.set_cookie(self._cookie, self._token, httponly=True, samesite="strict", path="/")
        await response(scope, receive, with_headers(send))

    async def _refuse(self, scope: Scope, receive: Receive, send: Send, fault: str) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 4403, "reason": fault})
            return
        response: Response = PlainTextResponse(f"keyfluid studio: {fault}\n", 403)
        await response(scope, receive, with_headers(send))


def with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return sending
