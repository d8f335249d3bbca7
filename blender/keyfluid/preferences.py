# SPDX-License-Identifier: GPL-3.0-or-later
"""Where keyfluid is, and a button that installs it."""

from __future__ import annotations

import tomllib
from pathlib import Path

import bpy

from . import session
from .core import program
from .core.messages import Fault


class KeyfluidPreferences(bpy.types.AddonPreferences):
    """Empty paths: keyfluid is looked for."""

    bl_idname = __package__

    path: bpy.props.StringProperty(
        name="keyfluid", subtype="FILE_PATH", description="The program, or the environment it is installed in"
    )
    package: bpy.props.StringProperty(
        name="Package", subtype="FILE_PATH", description="A wheel to install instead of the published one"
    )

    def draw(self, _context: bpy.types.Context) -> None:
        layout = self.layout
        layout.prop(self, "path")
        try:
            layout.label(text=f"found: {program.find(self.path, own_folder())}", icon="CHECKMARK")
        except Fault as fault:
            layout.label(text=str(fault), icon="ERROR")
        layout.separator()
        layout.prop(self, "package")
        layout.operator("keyfluid.install", icon="IMPORT")
        if session.job is not None and session.job.name == "install":
            layout.label(text=session.job.message, icon="ERROR" if session.job.state == "failed" else "INFO")


def preferences() -> KeyfluidPreferences:
    return bpy.context.preferences.addons[__package__].preferences


def own_folder() -> Path:
    """The environment that the button installs into; Blender keeps it when the extension is updated."""
    return Path(bpy.utils.extension_path_user(__package__, path="", create=True)) / "environment"


def version() -> str:
    """Of this extension, which is that of the keyfluid it was made with."""
    with (Path(__file__).parent / "blender_manifest.toml").open("rb") as file:
        return str(tomllib.load(file)["version"])


def register() -> None:
    bpy.utils.register_class(KeyfluidPreferences)


def unregister() -> None:
    bpy.utils.unregister_class(KeyfluidPreferences)
