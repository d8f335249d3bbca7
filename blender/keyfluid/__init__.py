# SPDX-License-Identifier: GPL-3.0-or-later
"""keyfluid in Blender: keyframes, sources and obstacles from objects; keyfluid computes in a process of its own."""

from __future__ import annotations

from . import operators, panels, preferences, properties, session

_PARTS = (properties, preferences, operators, panels, session)


def register() -> None:
    for part in _PARTS:
        part.register()


def unregister() -> None:
    for part in reversed(_PARTS):
        part.unregister()
