"""keyfluid: directs smoke and liquid into shapes.

    import keyfluid
    scene = keyfluid.load_scene("word.toml", ["domain.resolution=64"])
    result = keyfluid.run(scene, "out/word", progress=print)
    result.metrics["keyframes"], result.frames[40].densities["density"]

Names are imported when they are first used, so that importing keyfluid takes no time.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_WHERE = {
    "KeyfluidError": "errors",
    "LiveRun": "runs.live",
    "NotebookProgress": "runs.in_notebooks",
    "Progress": "runs.progress",
    "RunResult": "runs.run",
    "Scene": "scenes",
    "SceneErrors": "errors",
    "build": "scenes.build.problem",
    "dump_scene": "scenes",
    "load_scene": "scenes",
    "open_run": "runs.run",
    "preview": "scenes",
    "resume": "runs.run",
    "run": "runs.run",
    "scene_from": "scenes",
    "set_threads": "threads",
    "upres_scene": "runs.upres",
}
__all__ = ["__version__", *_WHERE]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'keyfluid' has no attribute {name!r}")
    return getattr(import_module(f"keyfluid.{_WHERE[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
