"""A wedge by several processes leaves none behind, however it ends, and continues where it was."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess

import pytest
from cluster_cases import FREE, alive, bits, descendants, keyfluid

import keyfluid as package
from keyfluid.cli.wedge import Order
from keyfluid.cli.wedge_drawn import Look
from keyfluid.cli.wedge_task import Variant, variant_state, worker
from keyfluid.scenes import load_scene
from waiting import wait_until

VALUES = "smoke.initial.velocity=[0.1,0.0],[0.2,0.0],[0.3,0.0]"


ENDS = {"Ctrl-C": (signal.SIGINT, 130), "terminated": (signal.SIGTERM, 130), "kill -9": (signal.SIGKILL, -9)}


@pytest.mark.parametrize(("number", "code"), ENDS.values(), ids=list(ENDS))
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
    assert ("to continue, give the same command again" in said) == (number != signal.SIGKILL)
    wait_until(lambda: not any(map(alive, below)), "the end of the workers", 30)
    assert all(entry["status"] == "waiting" for entry in json.loads((folder / "wedge.json").read_text()).values())
    if number == signal.SIGTERM:
        return
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    label = "smoke.initial.velocity=-0.2-0.0-"
    alone = package.run(scene, tmp_path / "alone", overrides=["smoke.initial.velocity=[0.2,0.0]"], threads=1)
    assert bits(folder / label) == bits(alone.folder)


UPRES = """
name = "finer"
[domain]
resolution = 16
[time]
frames = 2
[smoke]
initial = { shape = "disk", center = [0.4, 0.5], radius = 0.2 }
[[keyframe]]
frame = 2
shape = "disk"
center = [0.5, 0.5]
radius = 0.2
[control]
method = "spectral"
iterations = 1
[upres]
factor = 2
[output]
vdb = false
video = false
size = 32
"""


def test_a_variant_with_upres_is_done_when_its_film_is(tmp_path):
    folder, scene = tmp_path / "w" / "v", load_scene(UPRES)
    task = Variant(scene, str(folder), 1, False, Look(None, Order(), 100_000))
    drawn = worker()(task, lambda: False)
    assert drawn.place == "v/upres"
    assert variant_state(folder, scene) == "finished"
    whole = bits(folder / "upres")
    shutil.rmtree(folder / "upres")
    assert variant_state(folder, scene) == "unfinished"
    assert worker()(task, lambda: False).score == drawn.score
    assert bits(folder / "upres") == whole != {}
