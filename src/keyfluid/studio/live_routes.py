"""The socket of a live run: messages and frames between a page and a process of its own (live_process.py)."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.routing import BaseRoute, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from keyfluid.errors import KeyfluidError
from keyfluid.studio.answers import Refused, faults_of
from keyfluid.studio.live_pipe import FRAME
from keyfluid.studio.state import Studio, studio_of

MOST_LIVE = 4
"""Live runs at a time: each uses all cores."""
MOST_MESSAGE = 1 << 16
_PATIENCE = 2.0
"""Seconds that a process has to end by itself."""


async def live(socket: WebSocket) -> None:
    """Until the page goes, or the run ends."""
    studio = studio_of(socket)
    await socket.accept()
    try:
        if studio.live >= MOST_LIVE:
            raise Refused(429, f"{MOST_LIVE} live runs are open already; close one")
        scene = await run_in_threadpool(_scene, studio, socket.query_params.get("scene", ""))
    except KeyfluidError as error:
        await _refuse(socket, error)
        return
    studio.live += 1
    try:
        await _relay(socket, studio.workspace.root, studio.workspace.name_of(scene))
    finally:
        studio.live -= 1


def _scene(studio: Studio, name: str) -> Path:
    """The scene's file; raises if it is not one, has faults or names files that the studio may not read."""
    from keyfluid.scenes import load_scene
    from keyfluid.scenes.schema.faults import raise_any
    from keyfluid.studio.outside import outside_faults

    path = studio.workspace.scene(name)
    raise_any(outside_faults(load_scene(path), studio.workspace))
    return path


async def _refuse(socket: WebSocket, error: KeyfluidError) -> None:
    try:
        await socket.send_json({"type": "error", "message": str(error), "faults": faults_of(error), "ended": True})
        await socket.close(1000)
    except (WebSocketDisconnect, RuntimeError, OSError):
        pass


async def _relay(socket: WebSocket, root: Path, scene: str) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "keyfluid.studio.live_process", str(root), scene,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    tasks = {
        asyncio.create_task(_to_process(socket, process.stdin)),
        asyncio.create_task(_to_page(process.stdout, socket)),
    }
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await _end(process)


async def _to_process(socket: WebSocket, process: asyncio.StreamWriter) -> None:
    """What the page says, as lines of JSON; ends when it goes."""
    while True:
        message = await socket.receive()
        if message["type"] == "websocket.disconnect":
            return
        content = _read(message.get("text"))
        if content is not None:
            process.write(json.dumps(content).encode() + b"\n")
            await process.drain()


def _read(text: Any) -> dict[str, Any] | None:
    """A message of the page; None if it is not one."""
    if not isinstance(text, str) or len(text) > MOST_MESSAGE:
        return None
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


async def _to_page(process: asyncio.StreamReader, socket: WebSocket) -> None:
    """What the process says, until it ends."""
    try:
        while True:
            head = await process.readexactly(5)
            content = await process.readexactly(int.from_bytes(head[1:], "little"))
            if head[:1] == FRAME:
                await socket.send_bytes(content)
            else:
                await socket.send_text(content.decode())
    except asyncio.IncompleteReadError:
        await _refuse(socket, KeyfluidError("the live run has ended; press Restart to begin again"))


async def _end(process: asyncio.subprocess.Process) -> None:
    """Its input ends, so it does; one that hangs is killed."""
    assert process.stdin is not None
    process.stdin.close()
    try:
        await asyncio.wait_for(process.wait(), _PATIENCE)
    except TimeoutError:
        process.kill()
        await process.wait()


ROUTES: list[BaseRoute] = [WebSocketRoute("/api/live", live)]
