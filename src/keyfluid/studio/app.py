"""The studio as an ASGI application: its routes, behind the guard."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from keyfluid.errors import KeyfluidError
from keyfluid.studio import (
    events,
    fix_routes,
    hello_routes,
    job_routes,
    live_routes,
    run_routes,
    scene_routes,
    stage_routes,
)  # fmt: skip
from keyfluid.studio.answers import answer, disk_refusal, refusal
from keyfluid.studio.guard import HEADERS, Guard
from keyfluid.studio.state import Studio

STATIC = Path(__file__).parent / "static"


def make_app(studio: Studio) -> Starlette:
    """The application, guarded; `studio` is in its state."""

    @asynccontextmanager
    async def life(app: Starlette) -> AsyncIterator[None]:
        for start in studio.starting:
            start()
        yield
        for end in studio.ending:
            end()

    app = Starlette(
        routes=all_routes(),
        middleware=[Middleware(Guard, token=studio.token, port=studio.port, hosts=studio.hosts)],
        exception_handlers={KeyfluidError: _refused, OSError: _disk, MemoryError: _memory, Exception: _unforeseen},
        lifespan=life,
    )
    app.router.redirect_slashes = False
    app.state.studio = studio
    return app


def all_routes() -> list[BaseRoute]:
    return [
        Route("/", _page),
        *events.ROUTES,
        *hello_routes.ROUTES,
        *scene_routes.ROUTES,
        *stage_routes.ROUTES,
        *job_routes.ROUTES,
        *run_routes.ROUTES,
        *live_routes.ROUTES,
        *fix_routes.ROUTES,
        Mount("/static", StaticFiles(directory=STATIC)),
    ]


def _page(request: Request) -> Response:
    return FileResponse(STATIC / "index.html")


def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, KeyfluidError)
    return refusal(error)


def _disk(request: Request, error: Exception) -> Response:
    assert isinstance(error, OSError)
    return disk_refusal(error)


def _memory(request: Request, error: Exception) -> Response:
    return answer({"error": {"message": "there is not enough memory for this", "faults": []}}, 507)


def _unforeseen(request: Request, error: Exception) -> Response:
    """A fault of ours: the page says so, and the terminal has the rest. Answered outside of the guard."""
    text = "something went wrong in the studio; its terminal says more"
    response = answer({"error": {"message": text, "faults": []}}, 500)
    response.headers.update(HEADERS)
    return response
