"""Routes of the studio: runs, their frames and files, wedges."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Route

from keyfluid.io.run.layout import REPORT
from keyfluid.studio.answers import Refused, answer, text_in, whole_in
from keyfluid.studio.run_frames import Request as FrameRequest
from keyfluid.studio.run_words import FILES, about, flat_numbers
from keyfluid.studio.runs_listing import is_finished, result_of, revision_of, run_line, run_lines
from keyfluid.studio.state import studio_of

_FOR_A_DAY = {"Cache-Control": "private, max-age=86400"}
_REPORT = {
    "Content-Security-Policy": "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; img-src data: blob:; media-src data:"
}
"""A report brings its own scripts: it runs apart, without the page's cookie and without a way out."""


def runs(request: Request) -> Response:
    return answer({"runs": run_lines(studio_of(request).workspace)})


def run(request: Request) -> Response:
    studio = studio_of(request)
    name = text_in(request.query_params, "path")
    line = run_line(studio.workspace, studio.workspace.run(name))
    if line["kind"] == "wedge":
        raise Refused(409, f"{name}: is a wedge of runs", kind="wedge")
    opened = studio.runs.get(studio.workspace, name)
    return answer({"line": line, **about(opened), "revision": opened.revision})


def frame(request: Request) -> Response:
    studio, query = studio_of(request), request.query_params
    opened = studio.runs.get(studio.workspace, text_in(query, "path"))
    size, fine = whole_in(query, "size", 0), whole_in(query, "fine", 0) > 0
    asked = FrameRequest(whole_in(query, "frame"), query.get("field"), size, fine)
    content = studio.frames.get(opened, text_in(query, "what", "density"), asked)
    lasting = "revision" in query and is_finished(opened.folder.path)
    return Response(content, media_type="application/octet-stream", headers=_FOR_A_DAY if lasting else None)


def run_file(request: Request) -> Response:
    studio, query = studio_of(request), request.query_params
    run_name, name = text_in(query, "path"), text_in(query, "name")
    studio.workspace.run(run_name)
    if name not in FILES:
        raise Refused(404, f"{name[:40]}: is not a file that a run shows")
    path = studio.workspace.inside(f"{run_name}/{name}")
    return FileResponse(path, headers=_REPORT if name == REPORT else None)


def wedge(request: Request) -> Response:
    """A wedge and the runs inside, each with every number that it can be sorted by."""
    studio = studio_of(request)
    line = run_line(studio.workspace, studio.workspace.run(text_in(request.query_params, "path")))
    if line["kind"] != "wedge":
        raise Refused(404, f"{line['path']}: is one run, not a wedge")
    inside = [studio.workspace.run(name) for name in line["runs"]]
    found = [
        {"line": run_line(studio.workspace, path), "numbers": flat_numbers(result_of(path)),
         "values": path.name.split("+"), "revision": revision_of(path)}
        for path in inside
    ]  # fmt: skip
    return answer({"line": line, "runs": found})


ROUTES: list[BaseRoute] = [
    Route("/api/runs", runs),
    Route("/api/run", run),
    Route("/api/frame", frame),
    Route("/api/run/file", run_file),
    Route("/api/wedge", wedge),
]
