"""A wedge by several processes leaves none behind, however it ends, and continues where it was."""

from __future__ import annotations

import json
import signal
import subprocess

import pytest
from cluster_cases import FREE, alive, bits, descendants, keyfluid

import keyfluid as package
from waiting import wait_until

VALUES = "smoke.initial.velocity=[0.1,0.0],[0.2,0.0],[0.3,0.0]"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -9)], ids=["Ctrl-C", "kill -9"])
def test_no_process_is_left(tmp_path, number, code):
    scene, folder = tmp_path / "free.toml", tmp_path / "w"
    scene.write_text(FREE.replace("frames = 3", "frames = 60"))
    words = keyfluid("wedge", scene, VALUES, "-o", folder, "--jobs", 2)
    wedge = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: any(folder.glob("*/frames/0002.npz")), "the third frame")
    below = descendants(wedge.pid)
    assert len(below) == 2
    wedge.send_signal(number)
    _, said = wedge.communicate()
    assert wedge.returncode == code
    assert ("to continue, give the same command again" in said) == (number == signal.SIGINT)
    wait_until(lambda: not any(map(alive, below)), "the end of the workers", 30)
    assert all(entry["status"] == "waiting" for entry in json.loads((folder / "wedge.json").read_text()).values())
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    label = "smoke.initial.velocity=-0.2-0.0-"
    alone = package.run(scene, tmp_path / "alone", overrides=["smoke.initial.velocity=[0.2,0.0]"], threads=1)
    assert bits(folder / label) == bits(alone.folder)
