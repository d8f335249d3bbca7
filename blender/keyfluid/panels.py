# SPDX-License-Identifier: GPL-3.0-or-later
"""Panels of the Physics tab, and the status bar."""

from __future__ import annotations

import bpy

from . import session
from .core.job import words


class Panel:
    bl_space_type, bl_region_type, bl_context = "PROPERTIES", "WINDOW", "physics"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return context.object is not None


class DomainPanel(Panel):
    bl_parent_id = "KEYFLUID_PT_main"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return context.object is not None and context.object.keyfluid.role == "DOMAIN"


class KEYFLUID_PT_main(Panel, bpy.types.Panel):
    bl_label = "keyfluid"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: bpy.types.Context) -> None:
        layout, item = self.layout, context.object
        layout.use_property_split = True
        own = item.keyfluid
        if own.role == "NONE":
            layout.operator("keyfluid.add_domain", icon="MESH_CUBE")
        layout.prop(own, "role")
        for name in _SHOWN.get(own.role, ()):
            layout.prop(own, name)
        if own.role == "SOURCE" and own.use_range:
            layout.prop(own, "range_first")
            layout.prop(own, "range_last")
        if own.role == "KEYFRAME" and own.animated:
            layout.prop(own, "until")
        if own.role == "KEYFRAME" and item.type in ("FONT", "CURVE", "EMPTY"):
            layout.prop(own, "thickness")
        if own.role == "DOMAIN":
            _draw_run(layout, item)


_SHOWN = {
    "START": ("density", "velocity", "temperature", "fit_first_key"),
    "SOURCE": ("density", "velocity", "temperature", "use_range"),
    "KEYFRAME": ("frame", "hold", "weight", "keep_size", "animated"),
}


def _draw_run(layout: bpy.types.UILayout, item: bpy.types.Object) -> None:
    settings, job = item.keyfluid_domain, session.job
    row = layout.row(align=True)
    row.enabled = not session.busy()
    row.operator("keyfluid.run", text="Preview", icon="HIDE_OFF").preview = True
    row.operator("keyfluid.run", text="Run", icon="PLAY").preview = False
    row = layout.row(align=True)
    row.operator("keyfluid.stop", icon="PAUSE")
    row.operator("keyfluid.resume", icon="FILE_REFRESH")
    if job is not None and job.active and job.fraction is not None:
        left = f", {words(job.seconds_left)} left" if job.seconds_left is not None else ""
        layout.progress(factor=job.fraction, text=job.message + left)
    if settings.message:
        for number, part in enumerate(settings.message.split("; ")):
            layout.label(text=part, icon=("ERROR" if settings.failed else "INFO") if number == 0 else "BLANK1")
    for score in settings.scores:
        where = f"keyframe {score.frame}" if score.frame >= 0 else "next keyframe"
        overlap = f", overlap {score.overlap:.2f}" if score.frame >= 0 else ""
        layout.label(text=f"{where}: error {score.error:.3f}{overlap}", icon="KEYFRAME")


class KEYFLUID_PT_fluid(DomainPanel, bpy.types.Panel):
    bl_label = "Fluid"

    def draw(self, context: bpy.types.Context) -> None:
        layout, settings = self.layout, context.object.keyfluid_domain
        layout.use_property_split = True
        layout.prop(settings, "fluid", expand=True)
        for name in ("resolution", "preview_resolution", "frame_first", "frame_last", "steps", "boundary"):
            layout.prop(settings, name)
        own = ("buoyancy", "vorticity", "dissipation") if settings.fluid == "smoke" else ("gravity", "viscosity")
        for name in own:
            layout.prop(settings, name)


class KEYFLUID_PT_method(DomainPanel, bpy.types.Panel):
    bl_label = "Method"

    def draw(self, context: bpy.types.Context) -> None:
        layout, settings = self.layout, context.object.keyfluid_domain
        layout.use_property_split = True
        layout.prop(settings, "method")
        if settings.method == "target":
            for name in ("strength", "damping", "gathering"):
                layout.prop(settings, name)
        elif settings.method in ("spectral", "adjoint", "spacetime"):
            layout.prop(settings, "iterations")


class KEYFLUID_PT_more(DomainPanel, bpy.types.Panel):
    bl_label = "More"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: bpy.types.Context) -> None:
        layout, settings = self.layout, context.object.keyfluid_domain
        layout.use_property_split = True
        row = layout.row(align=True)
        row.prop(settings, "solve_from")
        row.operator("keyfluid.solve_from", text="", icon="FRAME_NEXT")
        row = layout.row(align=True)
        row.prop(settings, "upres_factor")
        row.operator("keyfluid.upres", text="", icon="MOD_SUBSURF")
        for name in ("threads", "motion_blur", "video", "folder"):
            layout.prop(settings, name)
        layout.operator("keyfluid.write", icon="FILE_FOLDER")
        layout.operator("keyfluid.show", icon="OUTLINER_OB_VOLUME")


def draw_status(header: bpy.types.Header, _context: bpy.types.Context) -> None:
    """At the end of the status bar, while a job is at work."""
    job = session.job
    if job is not None and job.active:
        header.layout.progress(factor=job.fraction or 0.0, text=job.status())


CLASSES = (KEYFLUID_PT_main, KEYFLUID_PT_fluid, KEYFLUID_PT_method, KEYFLUID_PT_more)


def register() -> None:
    for each in CLASSES:
        bpy.utils.register_class(each)
    bpy.types.STATUSBAR_HT_header.append(draw_status)


def unregister() -> None:
    bpy.types.STATUSBAR_HT_header.remove(draw_status)
    for each in reversed(CLASSES):
        bpy.utils.unregister_class(each)
