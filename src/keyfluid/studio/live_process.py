"""A live run in a process of its own: `python -m keyfluid.studio.live_process WORKSPACE SCENE`.

Reads messages of the page as JSON lines, writes answers as `kind, length, content`: J for JSON, B for a frame
(live_frames.py). One frame is on its way at a time: the next is computed meanwhile and sent once the page has seen the
one before. Ends as soon as its input does, whatever it is doing: with the socket, or with a server that was killed.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, BinaryIO

from keyfluid.errors import KeyfluidError
from keyfluid.io.atomic import write_whole
from keyfluid.runs.live import LiveRun
from keyfluid.studio.answers import faults_of
from keyfluid.studio.live_frames import FramePacker
from keyfluid.studio.live_knobs import checked, described
from keyfluid.studio.live_pipe import FRAME, JSON, framed
from keyfluid.studio.scene_changes import read_changes
from keyfluid.studio.scene_files import read_scene
from keyfluid.studio.scene_library import new_scene
from keyfluid.studio.toml_changes import changed_text
from keyfluid.studio.workspace import Workspace


class LiveProcess:
    """A scene that runs, and what the page asks of it."""

    def __init__(self, workspace: Workspace, scene: Path, out: BinaryIO) -> None:
        self.workspace, self.path, self._out = workspace, scene, out
        self.messages: SimpleQueue[dict[str, Any]] = SimpleQueue()
        self.live = LiveRun(scene)
        self.packer = FramePacker(self.live)
        self.changed: dict[str, float | int] = {}
        self.playing = True
        self._seen = self._sent = -1
        self._seconds = 0.0

    def run(self) -> None:
        """Until the process ends."""
        self._ready()
        self._send_frame()
        while True:
            if not self.playing:
                self._say({"type": "paused", "frame": self.live.frame})
            while not self.playing:
                self._take(self.messages.get())
            began = time.perf_counter()
            self._take_waiting()
            if not self._step():
                continue
            self._seconds = time.perf_counter() - began
            frame = self.live.frame
            while (self._seen < self._sent or self._too_early(began)) and self.live.frame == frame:
                self._wait(began)
            if self.live.frame == frame:
                self._send_frame()

    def _step(self) -> bool:
        """One frame; False where the run was paused meanwhile or can't go on, which is said."""
        if self.playing:
            try:
                self.live.step()
            except KeyfluidError as error:
                self.playing = False
                self._say({"type": "error", "message": str(error), "faults": faults_of(error)})
        return self.playing

    def _too_early(self, began: float) -> bool:
        return time.perf_counter() - began < 1.0 / self.live.problem.fps

    def _wait(self, began: float) -> None:
        """For a message, or until it is time for the next frame."""
        left = began + 1.0 / self.live.problem.fps - time.perf_counter()
        try:
            self._take(self.messages.get(timeout=max(left, 0.001) if self._seen >= self._sent else None))
        except Empty:
            return

    def _take_waiting(self) -> None:
        while not self.messages.empty():
            self._take(self.messages.get())

    def _take(self, message: dict[str, Any]) -> None:
        """Do what a message asks; a fault is said, and the run goes on as it was."""
        actions = {
            "set": self._set, "restart": self._restart, "save": self._save, "seen": self._note_seen,
            "pause": self._pause, "play": self._play,
        }  # fmt: skip
        try:
            actions.get(str(message.get("type")), _ignore)(message)
        except KeyfluidError as error:
            self._say({"type": "error", "message": str(error), "faults": faults_of(error)})

    def _set(self, message: dict[str, Any]) -> None:
        keys = checked(self.live.problem, message.get("keys"))
        if keys:
            self.live.set(**keys)
            self.changed.update(keys)
            self._say({"type": "set", "keys": keys, "frame": self.live.frame + 1})

    def _restart(self, message: dict[str, Any]) -> None:
        self.live = LiveRun(self.live.scene)
        self.playing = True
        self._send_frame()

    def _save(self, message: dict[str, Any]) -> None:
        """The scene's text with the sliders' values, in a folder of its own."""
        path = new_scene(self.workspace, str(message.get("name")), self.path)
        changes = read_changes([{"path": f"control.{key}", "value": value} for key, value in self.changed.items()])
        text = changed_text(read_scene(path).text, changes)
        write_whole(path, lambda file: file.write(text.encode()))
        self._say({"type": "saved", "path": self.workspace.name_of(path)})

    def _note_seen(self, message: dict[str, Any]) -> None:
        number = message.get("number")
        if isinstance(number, int):
            self._seen = max(self._seen, min(number, self._sent))

    def _pause(self, message: dict[str, Any]) -> None:
        self.playing = False

    def _play(self, message: dict[str, Any]) -> None:
        self.playing = True

    def _ready(self) -> None:
        problem, scene = self.live.problem, self.live.scene
        self._say(
            {
                "type": "ready", "name": scene.name, "method": problem.method, "dim": problem.grid.dim,
                "cells": problem.grid.cells, "size": problem.grid.size, "fps": problem.fps, "frames": problem.frames,
                "keyframes": sorted({key.frame for key in problem.keyframes}), "fields": self.packer.fields,
                "knobs": described(problem, scene.control),
            }
        )  # fmt: skip

    def _send_frame(self) -> None:
        self._sent += 1
        numbers = {"number": self._sent, "seconds_per_frame": self._seconds}
        self._write(FRAME, self.packer.pack(self.live, numbers))

    def _say(self, content: dict[str, Any]) -> None:
        self._write(JSON, json.dumps(content, default=lambda value: value.tolist()).encode())

    def _write(self, kind: bytes, content: bytes) -> None:
        self._out.write(framed(kind, content))
        self._out.flush()


def _ignore(message: dict[str, Any]) -> None:
    """What no page of ours sends."""


def _listen(source: BinaryIO, messages: SimpleQueue[dict[str, Any]]) -> None:
    """Hand on messages until the server or the socket is gone; then end, in the middle of anything."""
    for line in source:
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(message, dict):
            messages.put(message)
    os._exit(0)


def main(root: str, scene: str) -> None:
    """Run a scene of a workspace; what others print goes to the terminal, not between our messages."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    early: SimpleQueue[dict[str, Any]] = SimpleQueue()
    Thread(target=_listen, args=(sys.stdin.buffer, early), daemon=True).start()
    workspace = Workspace(Path(root))
    try:
        process = LiveProcess(workspace, workspace.scene(scene), out)
        process.messages = early
        process.run()
    except KeyfluidError as error:
        content = json.dumps({"type": "error", "message": str(error), "faults": faults_of(error)}).encode()
        out.write(framed(JSON, content))
        out.flush()
    except BrokenPipeError:
        pass
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
