"""Pictures as keyframes: orientation, what is refused, and smoke that comes to look as painted."""

from __future__ import annotations

import contextlib
import sys

import numpy as np
import pytest
from keyframe_scenes import problem_of
from PIL import Image

import keyfluid
from keyfluid.cli.main import main
from keyfluid.cli.summary import summary
from keyfluid.errors import KeyfluidError
from keyfluid.fields import density
from keyfluid.grid import Grid
from keyfluid.operators.glow import Glow
from keyfluid.scenes.build.pictures import upright, view_of

SCENE = """
name = "ghost"
[domain]
size = [1.0, 0.75, 0.5]
resolution = 16
[time]
frames = 5
fps = 8
[smoke]
initial = {{ shape = "sphere", center = [0.4, 0.35, 0.25], radius = 0.17 }}
[[picture]]
frame = 4
image = "{image}"
view = "{view}"
[output]
vdb = false
video = false
size = 32
[control]
method = "spectral"
cutoff = 4
iterations = 25
"""


def save(path, pixels):
    """pixels[right, up], 0 to 1."""
    Image.fromarray(np.round(255 * pixels.T[::-1]).astype(np.uint8)).save(path)
    return path


def blob(width, height, x, y, radius=0.2):
    across, up = np.meshgrid((np.arange(width) + 0.5) / height, (np.arange(height) + 0.5) / height, indexing="ij")
    return 0.9 * np.exp(-((((across - x) ** 2 + (up - y) ** 2) / radius**2) ** 2))


def test_endless_smoke_is_white_and_near_smoke_hides_far_smoke():
    grid = Grid((4, 4, 8))
    values = np.zeros((4, 4, 8))
    values[1, 2] = 50.0
    for high in (True, False):
        picture = Glow(grid, 2, high, 30.0).picture(density(grid, values))
        assert picture[1, 2] == pytest.approx(1.0)
        assert picture.sum() == picture[1, 2]
    values[1, 2] = [0, 0, 0.3, 0, 0, 0, 3.0, 0]
    (near_last,) = Glow(grid, 2, False, 8.0).forward(density(grid, values))
    (near_first,) = Glow(grid, 2, True, 8.0).forward(density(grid, values))
    assert near_first.array[1, 2, 2] < 0.1 * near_last.array[1, 2, 2]


@pytest.mark.parametrize(
    ("view", "corner"),
    [("+z", (0, 1, 1)), ("-z", (1, 1, 0)), ("+x", (1, 1, 1)), ("-x", (0, 1, 0)), ("+y", (0, 1, 0)), ("-y", (0, 0, 1))],
)
def test_a_mark_in_the_upper_left_is_there(view, corner, tmp_path):
    """`corner` says at which end of each axis the upper left near corner of the view lies."""
    grid = Grid((16, 12, 8), 1 / 16)
    values = np.zeros(grid.cells)
    values[tuple(-1 if end else 0 for end in corner)] = 1.0
    pixels = upright(view, view_of(grid, view, 32 / max(grid.size)).picture(density(grid, values)))
    assert pixels[0, -1] > 0.5
    assert np.count_nonzero(pixels) == 1
    path = save(tmp_path / "seen.png", np.clip(pixels, 0, 1))
    picture = problem_of(SCENE.format(image=path, view=view)).pictures[0]
    again = upright(view, picture.wanted)
    assert again[0, -1] == pytest.approx(pixels[0, -1], abs=0.01)
    assert np.count_nonzero(again) == 1


def test_smoke_comes_to_look_as_painted(tmp_path):
    """As the same smoke would look a little to the right and higher."""
    grid = Grid((16, 12, 8), 1 / 16)
    x, y, z = grid.coordinates((False,) * 3)
    there = ((x - 0.52) ** 2 + (y - 0.43) ** 2 + (z - 0.25) ** 2 < 0.17**2).astype(float)
    image = save(tmp_path / "wanted.png", view_of(grid, "+z", None).picture(density(grid, there)))
    result = keyfluid.run(SCENE.format(image=image, view="+z"), threads=1)
    entries = [entry for entry in result.metrics["history"] if "objective" in entry]
    course = [entry["error"] for entry in entries]
    lowest = min(entries, key=lambda entry: entry["objective"])
    assert course[0] > 0.6
    assert course[-1] < 0.4 * course[0], "eight cells deep, 25 iterations"
    (reached,) = result.metrics["pictures"]
    assert reached["frame"] == 4
    assert reached["relative_error"] == pytest.approx(lowest["error"], rel=1e-4)
    assert f"picture at 4: error {reached['relative_error']:.3f}" in summary(result.metrics)


@pytest.mark.parametrize(
    ("image", "view", "words"),
    [
        (blob(64, 64, 0.5, 0.5), "+z", "crop or pad"),
        (np.pad(np.ones((32, 24)), ((16, 16), (12, 12))), "+z", "darken"),
        (np.zeros((64, 48)), "+z", "no content"),
    ],
)
def test_what_can_not_be_seen_is_refused(image, view, words, tmp_path):
    path = save(tmp_path / "image.png", image)
    with pytest.raises(KeyfluidError, match=words) as error:
        problem_of(SCENE.format(image=path, view=f'{view}"\nextinction = 2.0 #'))
    assert "picture[0].image" in str(error.value)


def test_other_scenes_have_no_pictures(tmp_path):
    path = save(tmp_path / "image.png", blob(64, 48, 0.5, 0.5))
    text = SCENE.format(image=path, view="+z")
    with pytest.raises(KeyfluidError, match="looks at no pictures"):
        problem_of(text.replace("cutoff = 4\niterations = 25", "").replace("spectral", "target"))
    with pytest.raises(KeyfluidError, match="3D"):
        problem_of(text.replace("[1.0, 0.75, 0.5]", "[1.0, 0.75]").replace("sphere", "disk").replace(", 0.25]", "]"))
    with pytest.raises(KeyfluidError, match=r"picture\[0\]\.frame"):
        problem_of(text.replace("frame = 4", "frame = 9"))


def test_a_render_to_paint_over_asks_for_what_is_there(tmp_path, monkeypatch):
    """`keyfluid render --view --extinction`, given back unpainted as a picture of the same extinction."""
    text = SCENE[: SCENE.index("[[picture]]")].format() + SCENE[SCENE.index("[output]") : SCENE.index("[control]")]
    free = keyfluid.run(text, tmp_path / "free", threads=1)
    words = ["render", tmp_path / "free", "--view", "-x", "--frame", "4", "--extinction", "3"]
    monkeypatch.setattr(sys, "argv", ["keyfluid", *map(str, words)])
    with contextlib.suppress(SystemExit):
        main()
    image = tmp_path / "free" / f"{free.problem.scene.name}.1005.view-x.png"
    picture = problem_of(SCENE.format(image=image, view='-x"\nextinction = 3.0 #')).pictures[0]
    seen = picture.view.picture(density(free.problem.grid, free.frames[4].densities["density"]))
    assert seen.max() > 0.4
    np.testing.assert_allclose(picture.wanted, seen, atol=0.5 / 255 + 1e-6)
