"""Target-driven smoke by hand: frames as a run has them, changes from the next frame on, and replays to the bit."""

from __future__ import annotations

import json

import numpy as np
import pytest

import keyfluid

SMOKE = {
    "domain": {"size": [1.0, 1.0], "resolution": 32},
    "time": {"fps": 24.0, "frames": 6, "steps_per_frame": "auto"},
    "smoke": {"initial": [{"shape": "disk", "center": [0.3, 0.4], "radius": 0.2, "mass": "first-key"}]},
    "keyframe": [{"frame": 4, "text": "F", "fit": 0.7}, {"frame": 6, "shape": "box", "size": 0.3}],
    "control": {"method": "target", "turbulence": 0.5},
}
LIQUID = {
    "domain": {"size": [1.0, 1.0], "resolution": 24},
    "time": {"fps": 24.0, "frames": 4, "steps_per_frame": "auto"},
    "liquid": {"initial": [{"shape": "disk", "center": [0.4, 0.4], "radius": 0.2}]},
    "keyframe": [{"frame": 4, "shape": "box", "size": 0.35}],
    "control": {"method": "target"},
}


@pytest.mark.parametrize("scene", [SMOKE, LIQUID], ids=["smoke", "liquid"])
def test_frames_are_those_of_a_run_and_go_on_beyond_the_last(scene):
    result = keyfluid.run(scene, threads=1)
    live = keyfluid.LiveRun(scene)
    name = next(iter(live.problem.densities))
    for frame in result.frames:
        assert np.array_equal(live.density(), frame.densities[name])
        live.step()
    assert live.frame == len(result.frames)
    assert live.density().max() > 0.1
    assert live.picture(32).shape[2] == 3


def test_changes_act_from_the_next_frame_and_are_replayed_to_the_bit():
    live, free = keyfluid.LiveRun(SMOKE), keyfluid.LiveRun(SMOKE)
    for _ in range(5):
        live.step()
        free.step()
        assert np.array_equal(live.density(), free.density()) == (live.frame <= 2)
        if live.frame == 2:
            live.set(strength=4.0, turbulence=2.0, smoothing=0.08)
        if live.frame == 3:
            live.aim({"frame": 6, "shape": "disk", "center": [0.6, 0.6], "radius": 0.2})
        if live.frame == 4:
            live.set(damping=0.5, strength=None)
    again = keyfluid.LiveRun.replay(SMOKE, json.loads(json.dumps(live.changes)), 5)
    assert np.array_equal(live.density(), again.density())
    assert live.velocity().data.tobytes() == again.velocity().data.tobytes()
    assert live.scene.control.strength is None
    assert live.scene.control.damping == 0.5


def test_what_can_not_be_changed_is_said():
    live = keyfluid.LiveRun(SMOKE)
    with pytest.raises(keyfluid.SceneErrors, match=r"control\.damping"):
        live.set(damping=-1.0)
    with pytest.raises(keyfluid.KeyfluidError, match=r"control\.method"):
        live.set(method="none")
    with pytest.raises(keyfluid.KeyfluidError, match="no markers"):
        live.markers()
    assert live.changes == []
    with pytest.raises(keyfluid.KeyfluidError, match="'none' can't run live; use 'particles' or 'target'"):
        keyfluid.LiveRun({**SMOKE, "control": {"method": "none"}})
