"""What happens in the studio, as numbered events: a page that was away says which it has seen and gets the rest.

    events.publish("file", path="scenes/word/scene.toml", revision="...")      from any thread

Kinds: `file` (a scene's file changed), `thumb` (a thumbnail is drawn), `job` (a job's state), `progress` (of a job),
`frames` (of a run).
"""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from contextlib import suppress
from itertools import count
from threading import Lock
from typing import Any

from starlette.routing import BaseRoute, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from keyfluid.studio.answers import json_text

KEPT = 20_000
PATIENCE = 30.0
"""Seconds in which a page has to take an event; then its socket is closed, and it may come back for the rest."""
_AT_ONCE = 500


class Events:
    """`session` tells a page that its numbers are those of a server that is gone."""

    def __init__(self) -> None:
        self.session = secrets.token_hex(8)
        self._numbers = count(1)
        self._kept: deque[dict[str, Any]] = deque(maxlen=KEPT)
        self._lock = Lock()
        self._waiting: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = set()

    @property
    def last(self) -> int:
        """The number of the last event; 0 before the first."""
        return self._kept[-1]["n"] if self._kept else 0

    def publish(self, kind: str, **content: Any) -> None:
        with self._lock:
            self._kept.append({"n": next(self._numbers), "type": kind, **content})
            waiting = list(self._waiting)
        for loop, event in waiting:
            with suppress(RuntimeError):  # the loop is closed: the server is ending
                loop.call_soon_threadsafe(event.set)

    def after(self, number: int) -> list[dict[str, Any]] | None:
        """Events after this one, oldest first; None if some of them are forgotten."""
        with self._lock:
            if not self._kept or number >= self._kept[-1]["n"]:
                return []
            first = self._kept[0]["n"]
            if number < first - 1:
                return None
            skip = number - first + 1
            return [self._kept[i] for i in range(skip, min(skip + _AT_ONCE, len(self._kept)))]

    async def follow(self, socket: WebSocket) -> None:
        """Send events until the page goes; it says with `since` and `session` what it has seen."""
        event = asyncio.Event()
        waiting = (asyncio.get_running_loop(), event)
        with self._lock:
            self._waiting.add(waiting)
        gone: asyncio.Task[None] | None = None
        try:
            await socket.accept()
            seen = self._seen(socket)
            gone = asyncio.create_task(_until_gone(socket))
            await _send(socket, {"type": "hello", "session": self.session, "n": seen})
            while not gone.done():
                event.clear()
                news = self.after(seen)
                if news is None:
                    seen = self.last
                    await _send(socket, {"type": "reset", "n": seen})
                for one in news or ():
                    await _send(socket, one)
                    seen = one["n"]
                if not news:
                    wake = asyncio.create_task(event.wait())
                    await asyncio.wait({wake, gone}, return_when=asyncio.FIRST_COMPLETED)
                    wake.cancel()
        except (WebSocketDisconnect, RuntimeError, OSError):  # a TimeoutError is an OSError
            pass
        finally:
            if gone is not None:
                gone.cancel()
            with self._lock:
                self._waiting.discard(waiting)

    def _seen(self, socket: WebSocket) -> int:
        given = socket.query_params.get("since", "")
        ours = socket.query_params.get("session") == self.session
        return (
            min(int(given), self.last)
            if ours and given.isascii() and given.isdecimal() and len(given) < 16
            else self.last
        )


async def _send(socket: WebSocket, content: dict[str, Any]) -> None:
    async with asyncio.timeout(PATIENCE):
        await socket.send_text(json_text(content))


async def _until_gone(socket: WebSocket) -> None:
    """Read and drop what a page sends: it has nothing to say here."""
    try:
        while True:
            message = await socket.receive()
            if message["type"] == "websocket.disconnect":
                return
    except (WebSocketDisconnect, RuntimeError):
        return


async def events(socket: WebSocket) -> None:
    await socket.app.state.studio.events.follow(socket)


ROUTES: list[BaseRoute] = [WebSocketRoute("/api/events", events)]
