"""The public names with their types. At run time __init__.py imports each when it is first used."""

from keyfluid.errors import KeyfluidError as KeyfluidError
from keyfluid.errors import SceneErrors as SceneErrors
from keyfluid.runs.in_notebooks import NotebookProgress as NotebookProgress
from keyfluid.runs.live import LiveRun as LiveRun
from keyfluid.runs.progress import Progress as Progress
from keyfluid.runs.run import RunResult as RunResult
from keyfluid.runs.run import open_run as open_run
from keyfluid.runs.run import resume as resume
from keyfluid.runs.run import run as run
from keyfluid.runs.upres import upres_scene as upres_scene
from keyfluid.scenes import Scene as Scene
from keyfluid.scenes import dump_scene as dump_scene
from keyfluid.scenes import load_scene as load_scene
from keyfluid.scenes import preview as preview
from keyfluid.scenes import scene_from as scene_from
from keyfluid.scenes.build.problem import build as build
from keyfluid.threads import set_threads as set_threads

__version__: str
