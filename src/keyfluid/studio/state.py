"""What the routes of the studio share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from starlette.requests import HTTPConnection

from keyfluid.studio.events import Events
from keyfluid.studio.guard import LOOPBACK
from keyfluid.studio.open_runs import OpenRuns
from keyfluid.studio.run_frames import FrameAnswers
from keyfluid.studio.workspace import Workspace


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
    starting: list[Callable[[], None]] = field(default_factory=list)
    ending: list[Callable[[], None]] = field(default_factory=list)
    """Called when the server starts and ends."""


def studio_of(request: HTTPConnection) -> Studio:
    """The studio that a request or a socket belongs to."""
    studio = request.app.state.studio
    assert isinstance(studio, Studio)
    return studio
