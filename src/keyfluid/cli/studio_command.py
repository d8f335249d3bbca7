"""`keyfluid studio`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def studio(
    folder: Annotated[Path, typer.Argument(help="The workspace: a folder for scenes and runs.")] = Path("keyfluid"),
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any that is free.")] = 8765,
    host: Annotated[str, typer.Option(help="Address to listen on; the default is this machine only.")] = "127.0.0.1",
    no_open: Annotated[bool, typer.Option("--no-open", help="Do not open a browser.")] = False,
    allow: Annotated[
        list[Path] | None, typer.Option(metavar="FOLDER", help="Scenes may name files in this folder too.")
    ] = None,
    no_warm: Annotated[bool, typer.Option("--no-warm", help="Do not compile kernels beforehand.")] = False,
    jobs: Annotated[int, typer.Option(min=1, max=64, help="Runs that may compute at the same time.")] = 1,
) -> None:
    """Draw, place and time shapes, run scenes and look at films, in a browser.

    Prints the address of the page, with its token, on one line; Ctrl-C ends the server but not its runs.
    """
    from keyfluid.errors import KeyfluidError

    try:
        import starlette
        import tomlkit
        import uvicorn
        import websockets
    except ModuleNotFoundError as error:
        raise KeyfluidError(f"studio: {error.name} is missing; install it: pip install 'keyfluid[studio]'") from None
    del starlette, tomlkit, uvicorn, websockets
    from keyfluid.studio.server import serve

    serve(folder, port, host, not no_open, allow or (), not no_warm, jobs)
