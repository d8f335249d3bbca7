"""Kernels compiled while a person draws: a process of low priority beside the server (`warm_kernels.py`)."""

from __future__ import annotations

import subprocess
import sys
from threading import Thread

from keyfluid.studio.state import Studio


class WarmUp:
    """`start` with the server and `stop` with it; sets `studio.warm` and publishes the event `warm` at the end."""

    def __init__(self, studio: Studio, command: tuple[str, ...] = ("-m", "keyfluid.studio.warm_kernels")) -> None:
        self._studio, self._command = studio, command
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False

    def start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, *self._command], start_new_session=True,  # Ctrl-C is for the server, which ends it
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        Thread(target=self._wait, args=(self._process,), daemon=True).start()

    def stop(self) -> None:
        self._stopped = True
        if self._process is not None:
            self._process.terminate()

    def _wait(self, process: subprocess.Popen[bytes]) -> None:
        """A run compiles what is missing by itself, so the page is not kept waiting after a fault."""
        code = process.wait()
        if self._stopped:
            return
        if code:
            print("keyfluid: kernels were not compiled beforehand; try keyfluid check", file=sys.stderr, flush=True)
        self._studio.warm = True
        self._studio.events.publish("warm")
