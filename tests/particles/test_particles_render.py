"""Markers as lit smoke."""

from __future__ import annotations

import numpy as np
import pytest

from keyfluid.controllers.particles.streams import Stream, key
from keyfluid.render.camera import Pinhole
from keyfluid.render.lighting import KeyAndSky
from keyfluid.render.markers import MarkerCloud, blended, render_markers, shade_key, shades_of, speed_colours
from keyfluid.render.view import View
from keyfluid.threads import set_threads

CAMERA = Pinhole((0.5, 0.5, 3.0), (0.5, 0.5, 0.5), 28.0)
DOWN = KeyAndSky(direction=(0.0, 1.0, 0.0))
WHITE = np.ones(3, np.float32)


def slab(count=60000, kappa=8.0):
    """A unit box full of markers."""
    where = np.random.default_rng(0).random((3, count)).astype(np.float32)
    return MarkerCloud.of([where], [WHITE], [1.0 / count]), kappa


def test_shadow_is_beers_law():
    """A texel is as large as a marker's cross-section, so light falls as exp(-kappa depth)."""
    cloud, kappa = slab()
    shade = shades_of(cloud, DOWN, "y", kappa, shade_key(0, 1))[0]
    depth = 1 - cloud.position[1]
    middle = np.all(np.abs(cloud.position[[0, 2]] - 0.5) < 0.35, axis=0)
    for low in (0.05, 0.15, 0.3):
        chosen = middle & (np.abs(depth - low) < 0.02)
        assert shade[chosen].mean() == pytest.approx(np.exp(-kappa * low), abs=0.05)


def test_light_comes_from_its_side():
    rng = np.random.default_rng(1)
    ball = rng.normal(size=(3, 20000))
    ball = (0.5 + 0.25 * ball / np.linalg.norm(ball, axis=0) * rng.random(20000) ** (1 / 3)).astype(np.float32)
    cloud = MarkerCloud.of([ball], [WHITE], [0.065 / 20000])
    light = KeyAndSky(direction=(-1.0, 0.2, 0.3))
    shades = shades_of(cloud, light, "y", 40.0, shade_key(0, 0))
    picture = render_markers(cloud, shades, View(CAMERA, (96, 96), light), 40.0)
    inside = picture[30:66].astype(float).mean(axis=(0, 2))
    assert inside[34:42].mean() > 1.15 * inside[54:62].mean()
    assert picture[:8, :8].mean() < 40 < picture[48, 40].mean()


def test_the_nearer_marker_covers():
    position = np.array([[0.5, 0.5], [0.5, 0.5], [0.2, 0.8]], np.float32)
    colours = [np.array([[1, 0, 0], [0, 0, 1]], np.float32)]
    lit = np.ones((2, 2), np.float32)
    for order in ([0, 1], [1, 0]):
        cloud = MarkerCloud(position[:, order], colours[0][order], np.full(2, 1e-3, np.float32))
        pixel = render_markers(cloud, lit, View(CAMERA, (33, 33), DOWN), 1e4)[16, 16].astype(int)
        assert pixel[2] > pixel[0] + 60


def test_blending_over_frames_and_new_markers():
    now, before = np.full((2, 3), 0.7, np.float32), np.full((2, 2), 0.0, np.float32)
    mixed = blended([now, before, before])
    assert np.allclose(mixed[:, :2], 0.7 * 4 / 7)
    assert np.allclose(mixed[:, 2], 0.7)


def test_same_picture_for_any_threads():
    cloud, kappa = slab(5000)
    found = []
    for count in (1, 2):
        set_threads(count)
        shades = shades_of(cloud, KeyAndSky(), "y", kappa, key(0, Stream.SHADOW, 4))
        found.append(render_markers(cloud, shades, View(CAMERA, (48, 40)), kappa))
    assert np.array_equal(*found)


def test_colours_by_speed_rise():
    velocity = np.array([[0.0, 0.5, 3.0], [0, 0, 0], [0, 0, 0]], np.float32)
    light = speed_colours(velocity, 1.0).sum(axis=1)
    assert light[0] < light[1] < light[2]
