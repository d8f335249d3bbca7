# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults that a user can fix: what is wrong and what to do, in one line for the panel."""

from __future__ import annotations


class Fault(Exception):
    """One line for the panel."""


UNSAVED = "The file is not saved; save the .blend first, the scene folder is written beside it"
NO_DOMAIN = "There is no domain; select a box and choose the role Domain"
NO_FLUID = "There is no fluid; give an object the role Start or Source"
BUSY = "keyfluid is running; stop it first"
NOTHING_TO_RESUME = "There is no run to resume; press Run"
NOT_FOUND = "keyfluid was not found; press Install in the preferences, or give its path there"


def two_domains(names: list[str]) -> str:
    return f"There are two domains, {' and '.join(names)}; keep one and clear the role of the other"


def tilted(name: str) -> str:
    return f"{name}: the domain is tilted; clear its rotation about X and Y (up is up)"


def no_volume(name: str) -> str:
    return f"{name}: has no volume; close its holes, or give it thickness with Solidify or Extrude"


def no_mesh(name: str) -> str:
    return f"{name}: is not a mesh, text, curve or image; choose another object"


def outside(name: str) -> str:
    return f"{name}: lies outside the domain; move it in"


def wrong_frame(name: str, frame: int, first: int, last: int) -> str:
    return f"{name}: its keyframe is at frame {frame}; move its marker between {first} and {last}"


def another_version(found: str, expected: str) -> str:
    wrong = f"keyfluid {found} was found and this extension needs {expected}"
    return f"{wrong}; update it, or press Install in the preferences"


def failed(code: int, detail: str) -> str:
    """A process that ended with a code and the last that it printed."""
    line = detail.strip().splitlines()[-1] if detail.strip() else ""
    if line:
        return line.removeprefix("keyfluid: ").removeprefix("error: ")
    if code < 0 or code in (137, 139):
        return "keyfluid was killed, possibly out of memory; lower the resolution and press Resume"
    return f"keyfluid ended with code {code}; see the log beside the run"
