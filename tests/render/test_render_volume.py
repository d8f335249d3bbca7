"""The ray march against exact values, and its directions against the axes."""

from __future__ import annotations

import numba
import numpy as np
import pytest

from keyfluid.errors import KeyfluidError
from keyfluid.render import Backdrop, ColouredField, KeyAndSky, Pinhole, View, default_camera, orbit, render_volume
from keyfluid.render.colour import to_bytes
from keyfluid.render.lighting import LitVolume, transmittance_to
from keyfluid.shapes import Ball

PLAIN = Backdrop("#000000", "#000000")


def blob(shape: tuple[int, int, int], centre: tuple[float, float, float], radius: float) -> np.ndarray:
    x, y, z = np.indices(shape) + 0.5
    return np.float32(np.sqrt((x - centre[0]) ** 2 + (y - centre[1]) ** 2 + (z - centre[2]) ** 2) < radius)


def brightest(image: np.ndarray) -> tuple[float, float]:
    """Centroid (row, column) of the light, as fractions of the picture."""
    weight = image.astype(float).sum(axis=2)
    rows, columns = np.indices(weight.shape) + 0.5
    total = weight.sum()
    return (rows * weight).sum() / total / weight.shape[0], (columns * weight).sum() / total / weight.shape[1]


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_uniform_slab_lets_through_exp_minus_sigma_length(axis: int) -> None:
    sigma, spacing, shape = 1.7, 0.1, (9, 12, 21)
    volume = LitVolume([ColouredField(np.full(shape, 0.8))], spacing, KeyAndSky(), (5.0, 5.0, 5.0), extinction=sigma)
    origin = np.array([0.43, 0.52, 0.91])
    origin[axis] = -2.0
    direction = np.zeros(3)
    direction[axis] = 1.0
    left = volume.march(origin[None], direction[None])[0][0, 3]
    assert left == pytest.approx(np.exp(-0.8 * sigma * shape[axis] * spacing), abs=1e-5)


def test_an_oblique_ray_sees_its_own_length() -> None:
    volume = LitVolume([ColouredField(np.ones((16, 16, 16)))], 1 / 16, KeyAndSky(), (3.0, 3.0, 3.0), extinction=2.0)
    direction = np.array([1.0, 0.5, 0.25])
    direction /= np.linalg.norm(direction)
    origin = np.array([0.0, 0.2, 0.3]) - 2 * direction
    left = volume.march(origin[None], direction[None])[0][0, 3]
    assert left == pytest.approx(np.exp(-2.0 / direction[0]), abs=1e-5)


def test_a_linear_density_is_integrated() -> None:
    n, sigma = 32, 3.0
    ramp = np.broadcast_to(((np.arange(n) + 0.5) / n)[:, None, None], (n, n, n))
    volume = LitVolume([ColouredField(ramp)], 1 / n, KeyAndSky(), (3.0, 3.0, 3.0), extinction=sigma)
    left = volume.march(np.array([[-1.0, 0.51, 0.47]]), np.array([[1.0, 0.0, 0.0]]))[0][0, 3]
    assert left == pytest.approx(np.exp(-sigma / 2), abs=1e-4)


def test_light_swept_through_uniform_smoke_is_exact_along_an_axis() -> None:
    extinction = np.full((6, 7, 8), 0.3, np.float32)
    light = transmittance_to(np.array([0.0, 1.0, 0.0]), extinction, np.zeros_like(extinction))
    depth = 7 - (np.arange(7) + 0.5)
    assert np.allclose(light, np.exp(-0.3 * depth)[None, :, None], atol=1e-6)


@pytest.mark.parametrize("direction", [(-0.6, 0.7, 0.3), (0.9, 0.2, -0.4), (0.1, -0.3, -0.8)])
def test_shadow_falls_away_from_the_light(direction: tuple[float, float, float]) -> None:
    to_light = np.array(direction) / np.linalg.norm(direction)
    block = blob((33, 33, 33), (16.5, 16.5, 16.5), 5.0)
    light = transmittance_to(to_light, block, np.zeros_like(block))
    lit = tuple(np.floor(16.5 + 10 * to_light).astype(int))
    dark = tuple(np.floor(16.5 - 10 * to_light).astype(int))
    assert light[lit] == pytest.approx(1.0, abs=1e-5)
    assert light[dark] < 0.01


def test_empty_volume_is_the_background_exactly() -> None:
    size = (40, 30)
    backdrop = Backdrop("#102030", "#405060")
    empty = [ColouredField(np.zeros((8, 9, 10)))]
    image = render_volume(empty, 0.1, View(default_camera((0.8, 0.9, 1.0)), size, backdrop=backdrop))
    assert image.shape == (30, 40, 3)
    assert np.array_equal(image, to_bytes(backdrop.picture(*size)))


# Where a blob near one end of an axis shows up, for the default view: x to the right, up at the top.
@pytest.mark.parametrize(
    ("up", "centre", "row", "column"),
    [
        ("y", (0.8, 0.5, 0.5), 0.5, 0.7),
        ("y", (0.2, 0.5, 0.5), 0.5, 0.3),
        ("y", (0.5, 0.85, 0.5), 0.2, 0.5),
        ("z", (0.5, 0.5, 0.85), 0.2, 0.5),
        ("z", (0.8, 0.5, 0.2), 0.75, 0.7),
        ("y", (0.2, 0.8, 0.2), 0.25, 0.45),
    ],
)
def test_orientation(up: str, centre: tuple[float, float, float], row: float, column: float) -> None:
    n = 24
    smoke = [ColouredField(blob((n, n, n), tuple(c * n for c in centre), 2.5))]
    image = render_volume(smoke, 1 / n, View(default_camera((1, 1, 1), up), (64, 64), backdrop=PLAIN, up=up))
    assert brightest(image) == pytest.approx((row, column), abs=0.12)


def test_a_blob_lands_where_the_pinhole_puts_it() -> None:
    """Camera 4 m in front of z = 0.5 looking along -z: a point (x, y) shows at (x - 0.5) / (2 * 4 tan 15)."""
    n = 32
    camera = Pinhole((0.5, 0.5, 4.5), (0.5, 0.5, 0.5), 30.0)
    smoke = [ColouredField(blob((n, n, n), (25.0, 20.0, 16.0), 3.0))]
    row, column = brightest(render_volume(smoke, 1 / n, View(camera, (128, 128), backdrop=PLAIN)))
    height = 8 * np.tan(np.radians(15))
    assert column == pytest.approx(0.5 + (25 / 32 - 0.5) / height, abs=0.01)
    assert row == pytest.approx(0.5 - (20 / 32 - 0.5) / height, abs=0.01)


def test_the_lit_side_is_brighter() -> None:
    n = 24
    smoke = [ColouredField(blob((n, n, n), (12, 12, 12), 8.0))]
    camera = Pinhole((0.5, 0.5, 4.0), (0.5, 0.5, 0.5), 20.0)
    light = KeyAndSky(direction=(-1.0, 0.0, 0.0), forward=0.0)
    image = render_volume(smoke, 1 / n, View(camera, (64, 64), light, PLAIN)).astype(float)
    assert image[24:40, 18:26].mean() > 1.5 * image[24:40, 38:46].mean()


def test_two_fields_keep_their_colours() -> None:
    n = 24
    fields = [
        ColouredField(blob((n, n, n), (6, 12, 12), 4.0), "#ff0000"),
        ColouredField(blob((n, n, n), (18, 12, 12), 4.0), "#0000ff"),
    ]
    camera = Pinhole((0.5, 0.5, 4.0), (0.5, 0.5, 0.5), 20.0)
    image = render_volume(fields, 1 / n, View(camera, (64, 64), backdrop=PLAIN))
    left, right = image[:, :32].reshape(-1, 3).max(axis=0), image[:, 32:].reshape(-1, 3).max(axis=0)
    assert left[0] > 120
    assert right[2] > 120
    assert left[2] == right[0] == left[1] == right[1] == 0


def test_solids_hide_smoke_and_take_its_shadow() -> None:
    n = 32
    x, _, z = (np.indices((n, n, n)) + 0.5) / n
    wall = (np.abs(z - 0.7) - 0.06).astype(np.float32)  # a wall in front, in metres
    camera = Pinhole((0.5, 0.5, 4.0), (0.5, 0.5, 0.5), 20.0)
    view = View(camera, (48, 48), KeyAndSky(direction=(0.0, 1.0, 1.0)), PLAIN)
    red = ColouredField(blob((n, n, n), (16, 16, 8), 5.0), "#ff0000")
    bare = render_volume([ColouredField(0 * x)], 1 / n, view, wall)
    hidden = render_volume([red], 1 / n, view, wall)
    assert np.abs(bare[12:36, 12:36].astype(int) - hidden[12:36, 12:36]).max() <= 2
    over = ColouredField(blob((n, n, n), (16, 28, 29), 3.0), "#ffffff")
    shaded = render_volume([over], 1 / n, view, wall)
    # Light falls at 45 degrees: from y = 28, z = 29 to y = 23.3 on the wall, row 14 of 48.
    assert shaded[13:16, 22:26].mean() < 0.8 * bare[13:16, 22:26].mean()
    mask = render_volume([ColouredField(0 * x)], 1 / n, view, wall < 0)
    assert np.abs(mask[12:36, 12:36].astype(int) - bare[12:36, 12:36]).mean() < 4


def test_floor_is_darker_in_the_shadow() -> None:
    n = 16
    smoke = [ColouredField(blob((n, n, n), (8, 8, 8), 5.0))]
    camera = Pinhole((0.5, 3.0, 0.5001), (0.5, 0.0, 0.5), 50.0)
    light = KeyAndSky(direction=(-1.0, 1.0, 0.0))
    image = render_volume(smoke, 1 / n, View(camera, (64, 64), light, Backdrop(floor=True))).astype(float)
    # The ball's shadow falls half a metre towards +x: the picture is 2.8 m wide.
    shadow = image[30:34, 42:45].mean()
    mirrored = image[30:34, 19:22].mean()
    assert shadow < 0.75 * mirrored


def test_same_bits_for_any_number_of_threads() -> None:
    n = 20
    density = np.random.default_rng(3).random((n, n + 3, n - 5)).astype(np.float32)
    wall = np.zeros(density.shape, bool)
    wall[4:9, 2:6, 3:8] = True
    camera = default_camera(density.shape)
    before = numba.get_num_threads()
    pictures = []
    try:
        for threads in sorted({1, min(2, numba.config.NUMBA_NUM_THREADS)}):
            numba.set_num_threads(threads)
            view = View(camera, (70, 61), backdrop=Backdrop(floor=True))
            pictures.append(render_volume([ColouredField(density)], 1.0, view, wall))
    finally:
        numba.set_num_threads(before)
    assert np.array_equal(pictures[0], pictures[-1])
    assert pictures[0].std() > 10


def test_default_camera_frames_long_domains_and_orbit_returns() -> None:
    size = (1.0, 3.0, 0.5)
    camera = default_camera(size, aspect=1.5)
    right, top, forward = camera.basis("y")
    corners = np.array(np.meshgrid(*[(0.1 * s, 0.9 * s) for s in size])).reshape(3, 8).T - camera.position
    depth = corners @ forward
    slope = np.tan(np.radians(camera.fov_degrees / 2))
    reach = np.maximum(np.abs(corners @ top), np.abs(corners @ right) / 1.5) / depth / slope
    assert 0.8 < reach.max() < 1.0
    quarter = orbit(Pinhole((0.0, 1.0, 2.0), (0.0, 0.0, 0.0)), 90.0)
    assert quarter.position == pytest.approx((2.0, 1.0, 0.0))
    assert orbit(camera, 360.0).position == pytest.approx(camera.position)


def test_centre_ray_goes_to_look_at() -> None:
    camera = Pinhole((3.0, 2.0, 1.0), (0.5, 0.25, 0.5), 40.0)
    _, directions = View(camera, (64, 48), up="z").rays(np.array([32.0]), np.array([24.0]))
    aim = np.subtract(camera.look_at, camera.position)
    assert np.allclose(directions[0], aim / np.linalg.norm(aim))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"camera": Pinhole((1, 1, 1), (1, 1, 1))}, "same point"),
        ({"camera": Pinhole((1, 1, 4), (1, 1, 1), 0.0)}, "fov"),
        ({"light": KeyAndSky(direction=(0.0, 0.0, 0.0))}, "direction"),
        ({"up": "x"}, "domain.up: 'x'"),
        ({"spacing": 0.0}, "spacing"),
        ({"size": (0, 10)}, "empty"),
        ({"solid": np.zeros((2, 2, 2), bool)}, "solids have shape"),
        ({"fields": []}, "at least one field"),
        ({"fields": [ColouredField(np.zeros((4, 4)))]}, "3 axes"),
    ],
)
def test_faults_are_reported_in_words(change: dict, message: str) -> None:
    view: dict = {"camera": default_camera((1, 1, 1)), "size": (8, 8)}
    volume: dict = {"fields": [ColouredField(np.zeros((4, 4, 4)))], "spacing": 0.25}
    view |= {name: value for name, value in change.items() if name in View.__dataclass_fields__}
    volume |= {name: value for name, value in change.items() if name not in view}
    with pytest.raises(KeyfluidError, match=message):
        render_volume(**volume, view=View(**view))


def test_a_ball_has_no_rings() -> None:
    """Brightness across the ball, less the polynomial that follows it: 0.2 bytes, 1.3 without the softening."""
    ball = Ball(0.3).rasterize((32, 32, 32), 1 / 32)
    camera = default_camera((1.0, 1.0, 1.0), "y", 28.0, 1.0)
    image = render_volume([ColouredField(ball)], 1 / 32, View(camera, (256, 256), KeyAndSky(), PLAIN))
    light = image.astype(float).mean(axis=2)
    middle = np.round([np.average(np.arange(256), weights=light.sum(axis=axis)) for axis in (1, 0)]).astype(int)
    strip = light[middle[0] - 4 : middle[0] + 5, middle[1] - 30 : middle[1] + 31].mean(axis=0)
    places = np.arange(len(strip))
    assert strip.min() > 40
    assert (strip - np.polyval(np.polyfit(places, strip, 6), places)).std() < 0.5
