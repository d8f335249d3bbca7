"""`keyfluid studio`: the server's address on one line, the page in the browser, kernels compiled meanwhile."""

from __future__ import annotations

import secrets
import socket
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from threading import Timer

import uvicorn

from keyfluid.errors import KeyfluidError
from keyfluid.studio.app import make_app
from keyfluid.studio.guard import LOOPBACK
from keyfluid.studio.state import Studio
from keyfluid.studio.workspace import Workspace

MOST_MESSAGE = 1 << 20
"""Bytes of a message on a socket."""


def serve(folder: Path, port: int, host: str, open_page: bool, outside: Sequence[Path], at_once: int = 1) -> None:
    """Serve until Ctrl-C. port: 0 takes a free one; at_once: jobs that may run at the same time."""
    listening = _listen(host, port)
    port = listening.getsockname()[1]
    hosts = LOOPBACK if host in LOOPBACK else (*LOOPBACK, host, socket.gethostname())
    studio = Studio(Workspace(folder, tuple(outside)), secrets.token_urlsafe(24), port, hosts, at_once=at_once)
    studio.jobs.open()
    app = make_app(studio)
    shown = "127.0.0.1" if host in ("0.0.0.0", "127.0.0.1", "localhost") else host
    address = f"http://{shown}:{port}/?token={studio.token}"
    print(address, flush=True)
    if open_page:
        Timer(0.5, webbrowser.open, [address]).start()
    settings = uvicorn.Config(
        app, log_level="warning", access_log=False, ws="websockets-sansio", ws_max_size=MOST_MESSAGE,
        server_header=False, date_header=False, timeout_graceful_shutdown=2,
    )  # fmt: skip
    uvicorn.Server(settings).run([listening])


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host.strip("[]"), port))
        listening.listen(128)  # so that the address works from the moment it is printed
    except OSError as error:
        raise KeyfluidError(f"--port {port}: {error.strerror or error}; give another one, or 0 for any") from None
    return listening
