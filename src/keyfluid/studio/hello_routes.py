"""The greeting: what the page knows before it asks for anything, and whether kernels are compiled."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from keyfluid import __version__
from keyfluid.studio.answers import answer
from keyfluid.studio.state import studio_of


def hello(request: Request) -> Response:
    studio = studio_of(request)
    return answer(
        {
            "version": __version__,
            "workspace": studio.workspace.root.name,
            "session": studio.events.session,
            "event": studio.events.last,
            "warm": studio.warm,
        }
    )


ROUTES: list[BaseRoute] = [Route("/api/hello", hello)]
