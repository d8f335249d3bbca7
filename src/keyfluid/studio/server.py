"""`keyfluid studio`: the server's address on one line, the page in the browser, kernels compiled meanwhile."""

from __future__ import annotations

import errno
import os
import secrets
import socket
import sys
import webbrowser
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread, Timer

import uvicorn

from keyfluid.errors import KeyfluidError
from keyfluid.studio.app import make_app
from keyfluid.studio.guard import LOOPBACK
from keyfluid.studio.state import Studio
from keyfluid.studio.warm import WarmUp
from keyfluid.studio.workspace import Workspace

MOST_MESSAGE = 1 << 20
"""Bytes of a message on a socket."""
MOST_CONNECTIONS = 200


def serve(
    folder: Path, port: int, host: str, open_page: bool, outside: Sequence[Path], warm: bool = True, at_once: int = 1
) -> None:
    """Serve until Ctrl-C. port: 0 takes a free one; at_once: jobs that may run at the same time."""
    workspace = Workspace(folder, tuple(outside))
    listening = _listen(host, port)
    port = listening.getsockname()[1]
    studio = Studio(workspace, secrets.token_urlsafe(24), port, host_names(host), at_once=at_once)
    studio.jobs.open()
    studio.starting.append(Thread(target=lambda: studio.stage, daemon=True).start)  # imports the engine meanwhile
    if warm:
        warming = WarmUp(studio)
        studio.starting.append(warming.start)
        studio.ending.append(warming.stop)
    else:
        studio.warm = True
    address = f"http://{studio.hosts[0]}:{port}/?token={studio.token}"
    print(address, flush=True)
    if not set(LOOPBACK).issuperset(studio.hosts):
        print(
            f"keyfluid: --host {host}: whoever has this address can start processes here, and nothing is encrypted",
            file=sys.stderr, flush=True,
        )  # fmt: skip
    if open_page:
        Timer(0.5, webbrowser.open, [address]).start()
    settings = uvicorn.Config(
        make_app(studio), log_level="warning", access_log=False, loop="asyncio", http="h11", ws="websockets-sansio",
        ws_max_size=MOST_MESSAGE, ws_per_message_deflate=False, limit_concurrency=MOST_CONNECTIONS,
        proxy_headers=False, server_header=False, date_header=False, timeout_graceful_shutdown=2,
    )  # fmt: skip
    uvicorn.Server(settings).run([listening])


def host_names(host: str) -> tuple[str, ...]:
    """The values of Host that are answered, the one to print first; as browsers write them, in small letters."""
    bare = host.strip("[]").lower()
    if bare in ("127.0.0.1", "localhost", "::1"):
        return LOOPBACK if bare != "::1" else ("[::1]", "127.0.0.1", "localhost")
    if bare not in ("0.0.0.0", "::"):
        return (f"[{bare}]" if ":" in bare else bare, *LOOPBACK)
    own = socket.gethostname().lower()
    written = sorted(f"[{number}]" if ":" in number else number for number in _own_addresses(own))
    return tuple(dict.fromkeys([own, *written, *LOOPBACK]))


def _own_addresses(name: str) -> set[str]:
    """Those of the name, and the one that other machines see (no packet is sent to find it)."""
    numbers: set[str] = set()
    with suppress(OSError):
        numbers |= {str(found[4][0]).partition("%")[0] for found in socket.getaddrinfo(name, None)}
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        asking.connect(("192.0.2.1", 9))
        numbers.add(str(asking.getsockname()[0]))
    return numbers


def _listen(host: str, port: int) -> socket.socket:
    bare = host.strip("[]")
    listening = socket.socket(socket.AF_INET6 if ":" in bare else socket.AF_INET, socket.SOCK_STREAM)
    if os.name == "posix":  # on Windows it would let another program take the same port
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((bare, port))
        listening.listen(128)  # so that the address works from the moment it is printed
    except OSError as error:
        if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
            raise KeyfluidError(f"--host {host}: is not an address of this machine; the default is 127.0.0.1") from None
        raise KeyfluidError(f"--port {port}: {error.strerror or error}; give another one, or 0 for any") from None
    return listening
