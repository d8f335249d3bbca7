# SPDX-License-Identifier: GPL-3.0-or-later
"""Buttons: Preview, Run, Stop, Resume, Re-solve, Up-res, Show, Write scene, Install. Each returns at once."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import bpy

from . import session
from .core import program
from .core.job import Job
from .core.messages import BUSY, NOTHING_TO_RESUME, Fault
from .core.scene_folder import SceneFolder
from .core.toml_text import toml_text
from .gather import bodies_of, domain_of, film_of, folder_of, frames_of
from .preferences import own_folder, preferences, version
from .show import prepare_domain, show_liquid, show_volume


class Button(bpy.types.Operator):
    """An operator whose faults show in the panel."""

    bl_options = {"REGISTER"}

    def execute(self, context: bpy.types.Context) -> set[str]:
        domain = None
        try:
            domain = domain_of(context.scene)
            self.work(context, domain)
        except Fault as fault:
            return _refused(self, context, domain, str(fault))
        except OSError as error:
            return _refused(self, context, domain, f"{error.filename}: {error.strerror}; check the folder")
        return {"FINISHED"}

    def work(self, context: bpy.types.Context, domain: bpy.types.Object) -> None:
        raise NotImplementedError


def _refused(button: Any, context: bpy.types.Context, domain: bpy.types.Object | None, message: str) -> set[str]:
    """Say it where the user looks: in the panel, and in the report of the operator."""
    domains = [domain] if domain is not None else [i for i in context.scene.objects if i.keyfluid.role == "DOMAIN"]
    for item in domains:
        item.keyfluid_domain.message, item.keyfluid_domain.failed = message, True
    button.report({"WARNING"}, message)
    return {"CANCELLED"}


def write_scene(context: bpy.types.Context, domain: bpy.types.Object) -> SceneFolder:
    """The scene folder of a domain."""
    folder = SceneFolder(folder_of(domain))
    folder.write(film_of(context.scene, domain), bodies_of(context.scene, domain))
    return folder


def launch(domain: bpy.types.Object, name: str, run: Path, words: list[str]) -> None:
    """Start keyfluid with these words, once its version is known."""
    command = str(program.find(preferences().path, own_folder()))
    threads = domain.keyfluid_domain.threads
    last = [command, *words, "--json", *(["--threads", str(threads)] if threads else [])]
    expected = version()
    job = Job(run.parent, name)
    job.start([[command, "--version"], last], [lambda printed: program.require_version(printed, expected)])
    domain.keyfluid_domain.shown = run.name
    session.begin(job, domain, run)


def require_idle() -> None:
    if session.busy():
        raise Fault(BUSY)


class KEYFLUID_OT_run(Button):
    """Write the scene and compute it"""

    bl_idname, bl_label = "keyfluid.run", "Run"
    preview: bpy.props.BoolProperty(name="Preview", description="On a coarser grid")

    def work(self, context: bpy.types.Context, domain: bpy.types.Object) -> None:
        require_idle()
        folder = write_scene(context, domain)
        name = "preview" if self.preview else "run"
        run = folder.path / name
        words = ["run", str(folder.scene_file), "-o", str(run)]
        words += ["--overwrite"] if (run / ".keyfluid").exists() else []
        words += ["--preview", str(domain.keyfluid_domain.preview_resolution)] if self.preview else []
        launch(domain, name, run, words)


class KEYFLUID_OT_stop(bpy.types.Operator):
    """Stop after this step; Resume continues, with the same result as without a stop"""

    bl_idname, bl_label = "keyfluid.stop", "Stop"

    @classmethod
    def poll(cls, _context: bpy.types.Context) -> bool:
        return session.busy()

    def execute(self, _context: bpy.types.Context) -> set[str]:
        assert session.job is not None
        session.job.stop()
        return {"FINISHED"}


class KEYFLUID_OT_resume(Button):
    """Continue the run that was stopped"""

    bl_idname, bl_label = "keyfluid.resume", "Resume"

    def work(self, _context: bpy.types.Context, domain: bpy.types.Object) -> None:
        require_idle()
        name = domain.keyfluid_domain.shown or "run"
        run = folder_of(domain) / name
        if not (run / "scene.toml").is_file():
            raise Fault(NOTHING_TO_RESUME)
        launch(domain, name, run, ["resume", str(run)])


class KEYFLUID_OT_solve_from(Button):
    """Keep the frames up to one and compute the others with the settings as they are now"""

    bl_idname, bl_label = "keyfluid.solve_from", "Re-solve from frame"

    def work(self, context: bpy.types.Context, domain: bpy.types.Object) -> None:
        require_idle()
        settings, frames = domain.keyfluid_domain, frames_of(domain)
        run = folder_of(domain) / "run"
        if not (run / "scene.toml").is_file():
            raise Fault(NOTHING_TO_RESUME)
        if not frames.first <= settings.solve_from < frames.last:
            raise Fault(f"From frame {settings.solve_from}: choose one from {frames.first} to {frames.last - 1}")
        folder = write_scene(context, domain)
        # The run's own scene names its files by absolute paths.
        scene = folder.scene(film_of(context.scene, domain), bodies_of(context.scene, domain))
        (run / "scene.toml").write_text(toml_text(_absolute(scene, folder.path)), encoding="utf-8")
        index = frames.to_run(settings.solve_from)
        launch(domain, "run", run, ["resume", str(run), "--from", str(index), "--accept-changes"])


class KEYFLUID_OT_upres(Button):
    """A finer film of the finished run"""

    bl_idname, bl_label = "keyfluid.upres", "Up-res"

    def work(self, _context: bpy.types.Context, domain: bpy.types.Object) -> None:
        require_idle()
        folder = folder_of(domain)
        run, fine = folder / "run", folder / "upres"
        if _status(run) != "finished":
            raise Fault("There is no finished run to refine; press Run")
        words = ["upres", str(run), "--factor", str(domain.keyfluid_domain.upres_factor), "-o", str(fine)]
        words += ["--overwrite"] if (fine / ".keyfluid").exists() else []
        launch(domain, "upres", fine, words)


class KEYFLUID_OT_show(Button):
    """Put the run of the scene folder into the scene again"""

    bl_idname, bl_label = "keyfluid.show", "Show"

    def work(self, _context: bpy.types.Context, domain: bpy.types.Object) -> None:
        run = folder_of(domain) / (domain.keyfluid_domain.shown or "run")
        if not show_volume(domain, run):
            raise Fault(f"{run}: has no frames to show yet; press Run")
        if domain.keyfluid_domain.fluid == "liquid":
            show_liquid(domain, run)


class KEYFLUID_OT_write(Button):
    """Write the scene folder only: scene.toml and its meshes, which run without Blender"""

    bl_idname, bl_label = "keyfluid.write", "Write scene folder"

    def work(self, context: bpy.types.Context, domain: bpy.types.Object) -> None:
        folder = write_scene(context, domain)
        domain.keyfluid_domain.message, domain.keyfluid_domain.failed = f"written: {folder.scene_file}", False


class KEYFLUID_OT_add_domain(bpy.types.Operator):
    """Make the active object the domain"""

    bl_idname, bl_label, bl_options = "keyfluid.add_domain", "Make it the domain", {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return context.object is not None and context.object.type == "MESH"

    def execute(self, context: bpy.types.Context) -> set[str]:
        item, scene = context.object, context.scene
        item.keyfluid.role = "DOMAIN"
        item.keyfluid_domain.frame_first, item.keyfluid_domain.frame_last = max(scene.frame_start, 0), scene.frame_end
        prepare_domain(item)
        return {"FINISHED"}


class KEYFLUID_OT_install(bpy.types.Operator):
    """Install keyfluid into a folder of its own, beside this extension's settings; uses the network"""

    bl_idname, bl_label = "keyfluid.install", "Install keyfluid"

    def execute(self, _context: bpy.types.Context) -> set[str]:
        if session.busy():
            self.report({"WARNING"}, BUSY)
            return {"CANCELLED"}
        if not getattr(bpy.app, "online_access", True) and not preferences().package:
            self.report({"WARNING"}, "Blender is offline; allow online access in Preferences, System, Network")
            return {"CANCELLED"}
        own = own_folder()
        job = Job(own.parent, "install")
        job.start(program.install_commands(own, version(), preferences().package))
        session.begin(job, None, None)
        return {"FINISHED"}


def _absolute(table: Any, folder: Path) -> Any:
    """A scene with the files that it names by their absolute paths."""
    if isinstance(table, dict):
        return {
            key: os.path.join(folder, value) if key in ("mesh", "npy") else _absolute(value, folder)
            for key, value in table.items()
        }
    return [_absolute(each, folder) for each in table] if isinstance(table, list) else table


def _status(run: Path) -> str:
    try:
        return str(json.loads((run / "result.json").read_text(encoding="utf-8"))["status"])
    except (OSError, ValueError, KeyError):
        return ""


CLASSES = (
    KEYFLUID_OT_run,
    KEYFLUID_OT_stop,
    KEYFLUID_OT_resume,
    KEYFLUID_OT_solve_from,
    KEYFLUID_OT_upres,
    KEYFLUID_OT_show,
    KEYFLUID_OT_write,
    KEYFLUID_OT_add_domain,
    KEYFLUID_OT_install,
)


def register() -> None:
    for each in CLASSES:
        bpy.utils.register_class(each)


def unregister() -> None:
    for each in reversed(CLASSES):
        bpy.utils.unregister_class(each)
