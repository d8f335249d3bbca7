"""Routes of the stage: bodies as the engine rasterises them, and files beside a scene."""

from __future__ import annotations

from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from keyfluid.studio.answers import answer, body_of, json_of, text_in
from keyfluid.studio.state import Studio, studio_of
from keyfluid.studio.uploads import MOST_UPLOAD, picture, store


async def stage(request: Request) -> Response:
    data = await json_of(request)
    content = await run_in_threadpool(_stage, studio_of(request), data)
    return Response(content, media_type="application/octet-stream")


def _stage(studio: Studio, data: dict[str, Any]) -> bytes:
    from keyfluid.studio.stage_answers import stage_answer

    return stage_answer(studio, data)


async def upload(request: Request) -> Response:
    studio, values = studio_of(request), request.query_params
    scene = studio.workspace.scene(text_in(values, "scene"))
    name, replace = text_in(values, "name"), values.get("replace") == "1"
    content = await body_of(request, MOST_UPLOAD)
    return answer(await run_in_threadpool(store, scene, name, content, replace))


def show(request: Request) -> Response:
    studio, values = studio_of(request), request.query_params
    scene = studio.workspace.scene(text_in(values, "scene"))
    folder = studio.workspace.name_of(scene.parent) if scene.parent != studio.workspace.root else ""
    path = studio.workspace.inside(f"{folder}/{text_in(values, 'name')}".lstrip("/"))
    content, kind = picture(path)
    return Response(content, media_type=kind)


ROUTES: list[BaseRoute] = [
    Route("/api/stage", stage, methods=["POST"]),
    Route("/api/file", upload, methods=["PUT"]),
    Route("/api/file", show, methods=["GET"]),
]
