"""The studio's application called directly, without a network: what a client may send, however odd, and the answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlencode

from starlette.routing import BaseRoute, Mount, Route, WebSocketRoute

from keyfluid.studio.app import all_routes, make_app
from keyfluid.studio.guard import HEADER
from keyfluid.studio.state import Studio
from keyfluid.studio.workspace import Workspace

TOKEN, PORT = "the-token-of-the-tests", 8765
HOST = f"127.0.0.1:{PORT}"
PATIENCE = 20.0
Pairs = Iterable[tuple[str, str]]


@dataclass
class Answer:
    """An answer to a request, or what a socket sent until it was closed (`closed`: the code, None if it was not)."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    content: bytes = b""
    sent: list[Any] = field(default_factory=list)
    accepted: bool = False
    closed: int | None = None
    raised: BaseException | None = None

    @property
    def json(self) -> Any:
        return json.loads(self.content)


class InProcess:
    """A studio on `folder`; requests carry the token, a Host and, for sockets, an Origin unless `headers` says else."""

    def __init__(self, folder: Path, runner: asyncio.Runner) -> None:
        self.studio = Studio(Workspace(folder), TOKEN, PORT)
        self.studio.jobs.open()  # but not started: jobs wait
        self.app = make_app(self.studio)
        self._runner = runner

    def ask(
        self, method: str, target: str, values: Mapping[str, Any] | None = None, body: Any = b"",
        headers: Pairs | None = None,
    ) -> Answer:  # fmt: skip
        """`target` as in the request line; a body that is not bytes goes as JSON, a list of bytes in parts."""
        if values:
            target += "?" + urlencode(values, errors="surrogatepass")
        whole = [body] if isinstance(body, bytes) else body if _are_parts(body) else [json.dumps(body).encode()]
        messages = [{"type": "http.request", "body": part, "more_body": True} for part in whole]
        scope = _scope("http", target, good_headers() if headers is None else headers) | {"method": method}
        return self._runner.run(self._call(scope, [*messages, {"type": "http.request", "body": b""}]))

    def socket(
        self, target: str, messages: Sequence[str | bytes] = (), headers: Pairs | None = None, reads: bool = True
    ) -> Answer:
        """Connect, send, and go. reads: False takes nothing that the server sends after it accepted."""
        scope = _scope("websocket", target, good_headers(socket=True) if headers is None else headers)
        received = [{"type": "websocket.receive", "text" if isinstance(one, str) else "bytes": one} for one in messages]
        begin, end = {"type": "websocket.connect"}, {"type": "websocket.disconnect", "code": 1001}
        return self._runner.run(self._call(scope | {"subprotocols": []}, [begin, *received, end], reads))

    async def _call(self, scope: dict[str, Any], messages: list[dict[str, Any]], reads: bool = True) -> Answer:
        answer, waiting, never = Answer(), iter(messages), asyncio.Event()

        async def receive() -> dict[str, Any]:
            await asyncio.sleep(0)
            if not reads and answer.accepted:
                await never.wait()
            message = next(waiting, None)
            if message is None and scope["type"] == "http":
                await never.wait()
            return message or messages[-1]

        async def send(message: dict[str, Any]) -> None:
            if not reads and answer.accepted:
                await never.wait()
            _note(answer, message)

        try:
            async with asyncio.timeout(PATIENCE):
                await self.app(scope, receive, send)
        except Exception as error:  # Starlette answers 500 and raises, for the log
            answer.raised = error
        return answer


def good_headers(socket: bool = False) -> list[tuple[str, str]]:
    origin = [("origin", f"http://{HOST}")] if socket else []
    return [("host", HOST), (HEADER, TOKEN), *origin]


@contextmanager
def in_process(folder: Path) -> Iterator[InProcess]:
    with asyncio.Runner() as runner:
        studio = InProcess(folder, runner)
        try:
            yield studio
        finally:
            studio.studio.jobs.end()


def addresses(routes: Iterable[BaseRoute] | None = None, before: str = "") -> Iterator[tuple[str, str]]:
    """(method, path) of every route, sockets as ("WS", path); a mount of files as one of its files."""
    for route in all_routes() if routes is None else routes:
        if isinstance(route, Route):
            yield from ((method, before + route.path) for method in sorted(route.methods or ()))
        elif isinstance(route, WebSocketRoute):
            yield "WS", before + route.path
        elif isinstance(route, Mount) and route.routes:
            yield from addresses(route.routes, before + route.path)
        elif isinstance(route, Mount):
            yield from ((method, f"{before}{route.path}/main.js") for method in ("GET", "HEAD"))
        else:
            raise AssertionError(f"the tests do not know this kind of route: {route}")


def _scope(kind: str, target: str, headers: Pairs) -> dict[str, Any]:
    """As uvicorn makes it."""
    raw, _, query = target.partition("?")
    encoded = [(name.lower().encode("latin-1"), value.encode("latin-1", "replace")) for name, value in headers]
    return {
        "type": kind, "asgi": {"version": "3.0", "spec_version": "2.4"}, "http_version": "1.1", "root_path": "",
        "scheme": {"http": "http", "websocket": "ws"}[kind], "server": ("127.0.0.1", PORT),
        "client": ("127.0.0.1", 50_000), "path": unquote(raw), "raw_path": raw.encode("latin-1", "replace"),
        "query_string": query.encode("latin-1", "replace"), "headers": encoded,
    }  # fmt: skip


def _note(answer: Answer, message: dict[str, Any]) -> None:
    kind = message["type"]
    if kind == "http.response.start":
        answer.status = message["status"]
        answer.headers = {name.decode().lower(): value.decode("latin-1") for name, value in message["headers"]}
    elif kind == "http.response.body":
        answer.content += message.get("body", b"")
    elif kind == "websocket.accept":
        answer.accepted = True
    elif kind == "websocket.send":
        answer.sent.append(message.get("text") if message.get("text") is not None else message.get("bytes"))
    elif kind == "websocket.close":
        answer.closed = message.get("code", 1000)


def _are_parts(body: Any) -> bool:
    return isinstance(body, list) and bool(body) and all(isinstance(part, bytes) for part in body)
