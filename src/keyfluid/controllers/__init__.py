"""Methods by name, a folder each. A new one adds a line to METHODS, and its settings to scenes/schema/control.py."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from keyfluid.errors import KeyfluidError

if TYPE_CHECKING:
    from keyfluid.controllers.method import Method

METHODS = {
    "none": "keyfluid.controllers.free.controller:Free",
    "guided": "keyfluid.controllers.guided.controller:Guided",
    "particles": "keyfluid.controllers.particles.controller:Particles",
    "adjoint": "keyfluid.controllers.optimised.controller:OptimisedKeyframes",
    "spectral": "keyfluid.controllers.optimised.controller:OptimisedKeyframes",
    "spacetime": "keyfluid.controllers.spacetime.controller:Spacetime",
    "target": "keyfluid.controllers.target.controller:Target",
}
"""`control.method` -> "module:class", imported when it is used."""


def controller_for(method: str) -> Method:
    """The controller of a method, made without arguments."""
    if method not in METHODS:
        raise KeyfluidError(f"control.method: {method!r} is not known; use {', '.join(sorted(METHODS))}")
    module, _, name = METHODS[method].partition(":")
    controller: Method = getattr(import_module(module), name)()
    return controller
