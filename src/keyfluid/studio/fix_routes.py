"""Fixing a finished run: pictures of its frames to paint over or deform, and the scene that asks for the change.

What opens runs and scenes is imported when it is first asked for: the page is ready before the engine is.
"""

from __future__ import annotations

from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from keyfluid.studio.answers import answer, json_of, text_in, whole_in
from keyfluid.studio.arrays import packed
from keyfluid.studio.state import studio_of


def about(request: Request) -> Response:
    """What can be edited of a run."""
    from keyfluid.studio.editable_run import EditableRun

    run = EditableRun.open(studio_of(request).workspace, request.query_params.get("run", ""))
    return answer(run.about())


def picture(request: Request) -> Response:
    """A frame to paint over: in 2D the domain, in 3D seen from `view`."""
    from keyfluid.studio.editable_run import EditableRun

    values = request.query_params
    run = EditableRun.open(studio_of(request).workspace, values.get("run", ""))
    grey = run.picture(whole_in(values, "frame"), run.field(values.get("field")), values.get("view", "+z"))
    width, height = grey.shape
    content = packed({"width": width, "height": height}, {"grey": grey})
    return Response(content, media_type="application/octet-stream")


async def preview(request: Request) -> Response:
    """A frame before and after it is moved, twisted or bent."""
    wish = await json_of(request)

    def drawn() -> bytes:
        from keyfluid.studio.editable_run import EditableRun
        from keyfluid.studio.edits import deformation

        run = EditableRun.open(studio_of(request).workspace, text_in(wish, "run"))
        change = deformation(wish, run.grid.dim)
        field = run.field(text_in(wish, "field") if wish.get("field") is not None else None)
        pictures = run.changed(
            whole_in(wish, "frame"), field, change.get("move"), change.get("twist", 0.0), change.get("bend", 0.0)
        )
        return packed({}, pictures)

    return Response(await run_in_threadpool(drawn), media_type="application/octet-stream")


async def edit(request: Request) -> Response:
    """Write the scene of an edit."""
    studio, wish = studio_of(request), await json_of(request)

    def written() -> Path:
        from keyfluid.studio.edits import write_edit

        return write_edit(studio.workspace, wish)

    path = await run_in_threadpool(written)
    return answer({"path": studio.workspace.name_of(path)})


ROUTES: list[BaseRoute] = [
    Route("/api/edit", about),
    Route("/api/edit", edit, methods=["POST"]),
    Route("/api/edit/picture", picture),
    Route("/api/edit/preview", preview, methods=["POST"]),
]
