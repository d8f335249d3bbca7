"""What the routes of the studio share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from starlette.requests import HTTPConnection

from keyfluid.studio.events import Events
from keyfluid.studio.guard import LOOPBACK
from keyfluid.studio.home_listing import HomeListing
from keyfluid.studio.jobs import Jobs
from keyfluid.studio.open_runs import OpenRuns
from keyfluid.studio.plans import Plans
from keyfluid.studio.run_frames import FrameAnswers
from keyfluid.studio.scene_files import SceneFiles
from keyfluid.studio.thumbs import Thumbs
from keyfluid.studio.workspace import Workspace

if TYPE_CHECKING:
    from keyfluid.studio.stage import StageDrawer


@dataclass
class Studio:
    """What the routes share (`request.app.state.studio`)."""

    workspace: Workspace
    token: str
    port: int
    hosts: tuple[str, ...] = LOOPBACK
    events: Events = field(default_factory=Events)
    runs: OpenRuns = field(default_factory=OpenRuns)
    frames: FrameAnswers = field(default_factory=FrameAnswers)
    warm: bool = False
    """Whether kernels are compiled (`warm.py`)."""
    live: int = 0
    """Live runs that pages have open."""
    starting: list[Callable[[], None]] = field(default_factory=list)
    ending: list[Callable[[], None]] = field(default_factory=list)
    """Called when the server starts and ends."""
    at_once: int = 1
    """Jobs that may run at the same time."""
    scenes: SceneFiles = field(init=False)
    home: HomeListing = field(init=False)
    thumbs: Thumbs = field(init=False)
    jobs: Jobs = field(init=False)
    plans: Plans = field(init=False)

    def __post_init__(self) -> None:
        self.scenes = SceneFiles(self.workspace, self.events)
        self.home = HomeListing(self.workspace)
        self.thumbs = Thumbs(self.workspace, self.events)
        self.jobs = Jobs(self.workspace, self.events, self.at_once)
        self.plans = Plans(self.workspace)
        self.starting += [self.scenes.watcher.start, self.jobs.start]
        self.ending += [self.scenes.watcher.stop, self.thumbs.close, self.jobs.end, self.plans.end]

    @cached_property
    def stage(self) -> StageDrawer:
        """Draws scenes; made when it is first asked for, as the engine takes seconds to import."""
        from keyfluid.studio.stage import StageDrawer

        return StageDrawer()


def studio_of(request: HTTPConnection) -> Studio:
    """The studio that a request or a socket belongs to."""
    studio = request.app.state.studio
    assert isinstance(studio, Studio)
    return studio
