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
    warm: bool = False
    """Whether kernels are compiled (`warm.py`)."""
    starting: list[Callable[[], None]] = field(default_factory=list)
    ending: list[Callable[[], None]] = field(default_factory=list)
    """Called when the server starts and ends."""
    scenes: SceneFiles = field(init=False)
    home: HomeListing = field(init=False)
    thumbs: Thumbs = field(init=False)

    def __post_init__(self) -> None:
        self.scenes = SceneFiles(self.workspace, self.events)
        self.home = HomeListing(self.workspace)
        self.thumbs = Thumbs(self.workspace, self.events)
        self.starting.append(self.scenes.watcher.start)
        self.ending += [self.scenes.watcher.stop, self.thumbs.close]

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
