"""Where each route of the studio takes a name: a new route needs a line here, with values that it could serve."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

SCENE, RUN = "scenes/word/scene.toml", "runs/word"
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d494844520000000200000002080000000057dd52f8"
    "0000000c49444154789c6360f80f8400060001ff93d1e4890000000049454e44ae426082"
)


CHANGES = [
    {"path": "smoke.initial[0].center", "value": [0.5, 0.5]},
    {"path": "keyframe", "insert": {"frame": 2, "shape": "disk"}, "at": 0},
    {"path": "output.size", "remove": True},
]


@dataclass(frozen=True)
class Takes:
    """What a route takes: `query` and `body` that it could serve, and which of their keys name files or things."""

    names: tuple[str, ...] = ()
    query: dict[str, Any] = field(default_factory=dict)
    body: Any = None


NOTHING = Takes()
TABLE: dict[tuple[str, str], Takes] = {
    ("GET", "/"): NOTHING,
    ("GET", "/api/hello"): NOTHING,
    ("WS", "/api/events"): Takes(("since", "session"), {"since": 0, "session": ""}),
    ("GET", "/api/home"): NOTHING,
    ("GET", "/api/thumb"): Takes(("path", "gallery"), {"path": SCENE}),
    ("GET", "/api/scene"): Takes(("path",), {"path": SCENE}),
    ("PUT", "/api/scene"): Takes(("path", "revision"), {"path": SCENE}, {"revision": "", "text": ""}),
    ("POST", "/api/scene/change"): Takes(
        ("path", "revision"), {}, {"path": SCENE, "revision": "", "changes": CHANGES}
    ),
    ("POST", "/api/scene/check"): Takes(("path",), {}, {"path": SCENE, "text": "", "changes": CHANGES}),
    ("POST", "/api/scene/new"): Takes(("name", "gallery", "template", "scene"), {}, {"name": "new"}),
    ("POST", "/api/item/rename"): Takes(("path", "name"), {}, {"path": "scenes/other/scene.toml", "name": "other"}),
    ("POST", "/api/item/duplicate"): Takes(("path", "name"), {}, {"path": SCENE, "name": "copy"}),
    ("POST", "/api/item/delete"): Takes(("path",), {}, {"path": "scenes/nothing/scene.toml"}),
    ("GET", "/api/schema"): NOTHING,
    ("POST", "/api/stage"): Takes(
        ("path", "bodies"), {}, {"path": SCENE, "bodies": ["keyframe[9]"], "changes": CHANGES}
    ),
    ("PUT", "/api/file"): Takes(("scene", "name"), {"scene": SCENE, "name": "a.png"}, PNG),
    ("GET", "/api/file"): Takes(("scene", "name"), {"scene": SCENE, "name": "a.png"}),
    ("POST", "/api/jobs"): Takes(
        ("scene", "run", "name", "kind", "set", "wedge"), {},
        {"kind": "run", "scene": SCENE, "set": ["smoke.buoyancy=1"], "wedge": ["smoke.buoyancy=1,2"], "name": "job"},
    ),
    ("GET", "/api/jobs"): NOTHING,
    ("GET", "/api/jobs/progress"): Takes(("id", "line"), {"id": "nothing", "line": 0}),
    ("POST", "/api/jobs/stop"): Takes(("id",), {}, {"id": "nothing"}),
    ("POST", "/api/jobs/remove"): Takes(("id",), {}, {"id": "nothing"}),
    ("GET", "/api/plan"): Takes(("path",), {"path": SCENE, "preview": 1}),
    ("GET", "/api/runs"): NOTHING,
    ("GET", "/api/run"): Takes(("path",), {"path": RUN}),
    ("GET", "/api/frame"): Takes(("path", "what", "field"), {"path": RUN, "frame": 0, "what": "density"}),
    ("GET", "/api/run/file"): Takes(("path", "name"), {"path": RUN, "name": "report.html"}),
    ("GET", "/api/wedge"): Takes(("path",), {"path": RUN}),
    ("GET", "/api/edit"): Takes(("run",), {"run": RUN}),
    ("GET", "/api/edit/picture"): Takes(("run", "field", "view", "frame"), {"run": RUN, "frame": 1}),
    ("POST", "/api/edit/preview"): Takes(("run", "field"), {}, {"run": RUN, "frame": 1, "move": [0.1, 0.0]}),
    ("POST", "/api/edit"): Takes(
        ("run", "name", "field", "view", "png"), {},
        {"run": RUN, "frame": 1, "first": 0, "last": 2, "png": "", "move": [0.1, 0.0], "twist": 10, "bend": 5},
    ),
    ("WS", "/api/live"): Takes(("scene",), {"scene": "scenes/nothing/scene.toml"}),
}  # fmt: skip
