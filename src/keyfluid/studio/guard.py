"""Who may talk to the studio: a middleware around every route and socket.

A page of another site can make a browser send requests to this machine, and by rebinding its own name it can make them
look as if they came from here. So a request needs three things, each compared as a whole: a Host that is listed, an
Origin (where the browser sends one; always, for sockets) that belongs to such a Host, and the token, which only the
address that was printed at the start carries. The token comes once in the address of the page and then in a cookie.

Cookies do not know ports: a page from another port of this machine counts as the same site and its requests carry the
cookie. Browsers say so in Sec-Fetch-Site, and those requests are refused too.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADER = "x-keyfluid-token"
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; media-src 'self' blob:; "
    "connect-src 'self'; font-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self'; trusted-types lit-html; require-trusted-types-for 'script'"
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
_OURS = frozenset(["same-origin", "none"])
"""Sec-Fetch-Site of our own pages, and of an address that a person typed."""


class Guard:
    """hosts: names of this machine, without port; with `port` they are the only values of Host that are answered."""

    def __init__(self, app: ASGIApp, token: str, port: int, hosts: Iterable[str] = LOOPBACK) -> None:
        self._app, self._token = app, token
        self._hosts = frozenset(f"{host}:{port}" if port != 80 else host for host in hosts)  # as browsers write them
        self._origins = frozenset(f"http://{host}" for host in self._hosts)
        self._cookie = f"keyfluid_{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        fault = self._fault(scope)
        if fault is not None:
            await self._refuse(scope, receive, send, fault)
        elif self._tokens_in_address(scope):
            await self._enter(scope, receive, send)
        else:
            await self._app(scope, receive, with_headers(send) if scope["type"] == "http" else send)

    def _fault(self, scope: Scope) -> str | None:
        """Why a request is refused; None if it is not."""
        if scope["type"] not in ("http", "websocket"):
            return "this kind of request is not served"
        headers = Headers(scope=scope)
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            return "this host name is not served"
        if len(origins) > 1 or not self._origins.issuperset(origins):
            return "this origin is not served"
        if scope["type"] == "websocket" and not origins:
            return "a socket needs an origin"
        entering = self._tokens_in_address(scope)
        if scope["type"] == "http" and not entering and not _OURS.issuperset(headers.getlist("sec-fetch-site")):
            return "pages of other sites are not served"
        given = headers.getlist(HEADER) or entering or self._tokens_in_cookies(headers)
        if len(given) != 1 or not secrets.compare_digest(given[0].encode(), self._token.encode()):
            return "open the address that keyfluid studio printed, with its token"
        return None

    def _tokens_in_cookies(self, headers: Headers) -> list[str]:
        """Split by hand: Python's parser drops all cookies if another program's is odd, and cookies are shared."""
        pairs = (pair.partition("=") for line in headers.getlist("cookie") for pair in line.split(";"))
        return [value.strip() for name, _, value in pairs if name.strip() == self._cookie]

    def _tokens_in_address(self, scope: Scope) -> list[str]:
        """Only the first page takes it there, so that no other address ever carries it."""
        if scope["type"] != "http" or scope["path"] != "/" or scope["method"] != "GET":
            return []
        return parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True).get("token", [])

    async def _enter(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Keep the token in a cookie, and show the page under an address without it.

        After a link on another site a browser would not send a strict cookie to where it is redirected, but it does
        after a page of ours.
        """
        linked = not _OURS.issuperset(Headers(scope=scope).getlist("sec-fetch-site"))
        response = Response(headers={"Refresh": "0; url=/"}) if linked else RedirectResponse("/", 303)
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
