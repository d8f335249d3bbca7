"""Routes of the studio: jobs, what they print, and what a run would take."""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from keyfluid.studio.answers import answer, json_of, text_in, whole_in
from keyfluid.studio.job_request import JobRequest
from keyfluid.studio.state import studio_of

_AT_ONCE = 2000


def jobs(request: Request) -> Response:
    return answer({"jobs": studio_of(request).jobs.all()})


async def add(request: Request) -> Response:
    studio, data = studio_of(request), await json_of(request)
    return answer(await run_in_threadpool(lambda: studio.jobs.add(JobRequest.of(studio.workspace, data))))


async def stop(request: Request) -> Response:
    identity = text_in(await json_of(request), "id")
    return answer(await run_in_threadpool(studio_of(request).jobs.stop, identity))


async def remove(request: Request) -> Response:
    identity = text_in(await json_of(request), "id")
    await run_in_threadpool(studio_of(request).jobs.remove, identity)
    return answer({})


def progress(request: Request) -> Response:
    """What a job has printed from `line` on, some of it; `more`: there may be more after the last."""
    values = request.query_params
    events = studio_of(request).jobs.progress(text_in(values, "id"), whole_in(values, "line", 0), _AT_ONCE)
    return answer({"events": events, "more": len(events) == _AT_ONCE})


def plan(request: Request) -> Response:
    """What a run would take; time=1: measured, which takes a while."""
    values = request.query_params
    small, measure = whole_in(values, "preview", 0) == 1, whole_in(values, "time", 0) == 1
    return answer(studio_of(request).plans.of(text_in(values, "path"), small, measure))


ROUTES: list[BaseRoute] = [
    Route("/api/jobs", jobs, methods=["GET"]),
    Route("/api/jobs", add, methods=["POST"]),
    Route("/api/jobs/stop", stop, methods=["POST"]),
    Route("/api/jobs/remove", remove, methods=["POST"]),
    Route("/api/jobs/progress", progress),
    Route("/api/plan", plan),
]
