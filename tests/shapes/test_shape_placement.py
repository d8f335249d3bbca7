"""Centre, scale, rotation and fit, on shapes that are asymmetric in every axis."""

from __future__ import annotations

import numpy as np
import pytest

from keyfluid.errors import KeyfluidError
from keyfluid.shapes import Ball, Box, DensitySource, Extrusion, Placement, Text
from keyfluid.shapes.placement import rotation_matrix


def ink_box(coverage, spacing):
    """Corners of the box around the ink, to a fraction of a cell by the coverage of its border."""
    corners = []
    for axis in range(coverage.ndim):
        profile = coverage.max(axis=tuple(a for a in range(coverage.ndim) if a != axis))
        inked = np.flatnonzero(profile)
        low = (inked[0] + 1 - profile[inked[0]]) * spacing
        corners.append((low, (inked[-1] + profile[inked[-1]]) * spacing))
    return np.array(corners).T


def stem_and_bars(image):
    """Where an upright F has its stem and its bars, as (stem at low side, bars at high side) of a[x, y]."""
    columns, rows = image.sum(axis=1), image.sum(axis=0)
    return columns.argmax() < image.shape[0] / 2, rows.argmax() > image.shape[1] / 2


def test_letter_f_is_upright():
    coverage = Text("F").rasterize((64, 64), 1 / 64)
    assert stem_and_bars(coverage) == (True, True)


def test_rotation_is_counter_clockwise():
    upright = Text("F").rasterize((64, 64), 1 / 64, Placement(fit=0.6))
    for quarter in (1, 2, 3):
        turned = Text("F").rasterize((64, 64), 1 / 64, Placement(fit=0.6, rotation=90.0 * quarter))
        # a[x, y]: rot90 turns (first axis, second axis) from x towards y, which is counter-clockwise
        assert np.abs(turned - np.rot90(upright, quarter)).max() < 1e-9


def test_small_turn_moves_the_top_to_the_left():
    coverage = Box((0.1, 0.6)).rasterize((64, 64), 1 / 64, Placement(rotation=20.0))
    x = np.arange(64)[:, None]
    top = np.sum(x * coverage[:, 40:]) / coverage[:, 40:].sum()
    assert top < 30


@pytest.mark.parametrize("angles", [(90.0, 0.0, 0.0), (0.0, 90.0, 0.0), (0.0, 0.0, 90.0)])
def test_euler_angles_turn_about_their_axis(angles):
    axis = int(np.argmax(angles))
    first, second = np.eye(3)[(axis + 1) % 3], np.eye(3)[(axis + 2) % 3]
    matrix = rotation_matrix(angles, 3)
    assert np.array_equal(matrix @ first, second)
    assert np.array_equal(matrix @ np.eye(3)[axis], np.eye(3)[axis])


def test_euler_order_is_x_then_y_then_z():
    both = rotation_matrix((90.0, 90.0, 0.0), 3)
    # y -> z by the turn about x, then z -> x by the turn about y
    assert np.array_equal(both @ (0.0, 1.0, 0.0), (1.0, 0.0, 0.0))


@pytest.mark.parametrize(("axis", "up"), [("z", "y"), ("x", "y"), ("y", "y"), ("-y", "z"), ("-z", "y")])
def test_extruded_letter_reads_from_its_axis(axis, up):
    """Look at the body from where the axis points; the picture must be the flat letter, not its mirror."""
    body = Text("F", extrusion=Extrusion(depth=0.25, axis=axis, up=up)).rasterize((32, 32, 32), 1 / 32)
    frame = np.round(Extrusion(axis=axis, up=up).frame()).astype(int)
    assert round(np.linalg.det(frame)) == 1
    order = [int(np.abs(column).argmax()) for column in frame.T]
    seen = body.transpose(order)
    for local, column in enumerate(frame.T):
        if column.sum() < 0:
            seen = np.flip(seen, local)
    assert stem_and_bars(seen.max(axis=2)) == (True, True)
    assert seen.max(axis=2) == pytest.approx(Text("F").rasterize((32, 32), 1 / 32), abs=1e-12)
    assert seen[:, :, 16].sum() * 8 == pytest.approx(body.sum(), rel=1e-12)


def test_turned_body_keeps_its_volume_and_place():
    text = Text("F", extrusion=Extrusion(depth=0.2))
    straight = text.rasterize((40, 40, 40), 1 / 40, Placement(fit=0.6))
    size = ink_box(straight, 1 / 40)
    turned = text.rasterize((40, 40, 40), 1 / 40, Placement(fit=0.6, rotation=(0.0, 90.0, 0.0)))
    # a quarter turn about y takes z to x and x to -z
    assert np.abs(turned - straight[::-1].transpose(2, 1, 0)).max() < 1e-9
    slanted = text.rasterize((40, 40, 40), 1 / 40, Placement(fit=0.6, rotation=(1e-4, 1e-4, 0.0)))
    assert np.abs(slanted - straight).max() < 0.3
    assert slanted.sum() == pytest.approx(straight.sum(), rel=3e-3)
    assert ink_box(slanted, 1 / 40) == pytest.approx(size, abs=0.01)


def test_fit_uses_the_tightest_axis():
    box = ink_box(Text("F").rasterize((128, 64), 1 / 64, Placement(fit=0.5, center=(0.7, 0.4))), 1 / 64)
    assert box[1] - box[0] == pytest.approx([0.5 * 1039 / 1493, 0.5], abs=0.001)
    assert box.mean(axis=0) == pytest.approx([0.7, 0.4], abs=0.01)
    wide = ink_box(Text("FLOW").rasterize((64, 128), 1 / 64, Placement(fit=0.5)), 1 / 64)
    assert wide[1, 0] - wide[0, 0] == pytest.approx(0.5, abs=0.01)


def test_fit_sees_the_turned_shape():
    lower, upper = Box((0.4, 0.1)).bounds((100, 50), 0.01, Placement(fit=0.8, rotation=90.0))
    assert upper - lower == pytest.approx([0.1, 0.4])
    lower, upper = Ball(0.1).bounds((50, 50), 0.02, Placement(fit=0.5, rotation=33.0))
    assert upper - lower == pytest.approx([0.5, 0.5])


def test_scale_multiplies():
    once = Ball(0.1).rasterize((64, 64), 1 / 64)
    twice = Ball(0.1).rasterize((64, 64), 1 / 64, Placement(scale=2.0))
    assert twice.sum() == pytest.approx(4 * once.sum(), rel=2e-3)


def test_shapes_far_outside_or_huge_cost_nothing():
    assert Ball(0.1).rasterize((16, 16), 1 / 16, Placement(center=(5.0, 5.0))).max() == 0
    assert Text("F").rasterize((16, 16), 1 / 16, Placement(center=(50.0, 0.5))).max() == 0
    assert Text("I").rasterize((16, 16), 1 / 16, Placement(scale=1e6)).min() == pytest.approx(1)
    turned = Text("I").rasterize((8, 8, 8), 1 / 8, Placement(scale=1e6, rotation=(10.0, 10.0, 0.0)))
    assert turned.min() == pytest.approx(1)


def test_sources_share_the_protocol():
    assert isinstance(Ball(), DensitySource)
    assert isinstance(Text("F"), DensitySource)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"scale": 0.0}, "scale"),
        ({"scale": float("inf")}, "scale"),
        ({"fit": -1.0}, "fit"),
        ({"center": (0.1, float("nan"))}, "center"),
        ({"center": (0.1, 0.2, 0.3)}, "center"),
        ({"rotation": (1.0, 2.0, 3.0)}, "rotation"),
    ],
)
def test_bad_placements(options, text):
    with pytest.raises(KeyfluidError, match=text):
        Ball().rasterize((8, 8), 0.125, Placement(**options))
