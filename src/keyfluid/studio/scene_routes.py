"""Routes of scenes: the home page's lists, thumbnails, texts and changes, the inspector's schema."""

from __future__ import annotations

import base64

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Route

from keyfluid.studio import scene_library
from keyfluid.studio.answers import Refused, answer, json_of, text_in
from keyfluid.studio.scene_changes import read_changes
from keyfluid.studio.schema_tables import inspector_tables
from keyfluid.studio.state import studio_of

_EMPTY = base64.b64decode("R0lGODlhAQABAIAAAAAAAAAAACH5BAEAAAAALAAAAAABAAEAAAICRAEAOw==")
"""A picture of one clear pixel, until there is a thumbnail."""


def home(request: Request) -> Response:
    return answer(studio_of(request).home.home())


def thumb(request: Request) -> Response:
    values = request.query_params
    if ("path" in values) == ("gallery" in values):
        raise Refused(400, "thumb: give path or gallery")
    file = studio_of(request).thumbs.find(values.get("path"), values.get("gallery"))
    if file is None:
        return Response(_EMPTY, 202, media_type="image/gif")
    return FileResponse(file, media_type="image/webp", headers={"Cache-Control": "private, no-cache"})


async def scene(request: Request) -> Response:
    files, path = studio_of(request).scenes, text_in(request.query_params, "path")
    if request.method != "PUT":
        return answer(await run_in_threadpool(files.opened, path))
    body = await json_of(request)
    return answer(await run_in_threadpool(files.saved, path, text_in(body, "revision"), text_in(body, "text")))


async def change(request: Request) -> Response:
    body, files = await json_of(request), studio_of(request).scenes
    path, revision, changes = text_in(body, "path"), text_in(body, "revision"), read_changes(body.get("changes"))
    return answer(await run_in_threadpool(files.changed, path, revision, changes))


async def check(request: Request) -> Response:
    body, files = await json_of(request), studio_of(request).scenes
    changes = read_changes(body.get("changes", []))
    return answer(await run_in_threadpool(files.checked, text_in(body, "path"), text_in(body, "text"), changes))


async def new(request: Request) -> Response:
    body, workspace = await json_of(request), studio_of(request).workspace
    name = text_in(body, "name")
    source = scene_library.source_of(workspace, body)
    path = await run_in_threadpool(scene_library.new_scene, workspace, name, source)
    return answer({"path": workspace.name_of(path)})


async def rename(request: Request) -> Response:
    body, workspace = await json_of(request), studio_of(request).workspace
    item = scene_library.find_item(workspace, text_in(body, "path"))
    path = scene_library.renamed(workspace, item, text_in(body, "name"))
    return answer({"path": workspace.name_of(path)})


async def duplicate(request: Request) -> Response:
    body, workspace = await json_of(request), studio_of(request).workspace
    item = scene_library.find_item(workspace, text_in(body, "path"))
    path = await run_in_threadpool(scene_library.duplicated, workspace, item, text_in(body, "name"))
    return answer({"path": workspace.name_of(path)})


async def delete(request: Request) -> Response:
    body, workspace = await json_of(request), studio_of(request).workspace
    item = scene_library.find_item(workspace, text_in(body, "path"))
    await run_in_threadpool(workspace.discard, item)
    return answer({})


def schema(request: Request) -> Response:
    return answer(inspector_tables())


ROUTES: list[BaseRoute] = [
    Route("/api/home", home),
    Route("/api/thumb", thumb),
    Route("/api/scene", scene, methods=["GET", "PUT"]),
    Route("/api/scene/change", change, methods=["POST"]),
    Route("/api/scene/check", check, methods=["POST"]),
    Route("/api/scene/new", new, methods=["POST"]),
    Route("/api/item/rename", rename, methods=["POST"]),
    Route("/api/item/duplicate", duplicate, methods=["POST"]),
    Route("/api/item/delete", delete, methods=["POST"]),
    Route("/api/schema", schema),
]
