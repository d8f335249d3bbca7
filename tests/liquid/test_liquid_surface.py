"""The surface as a mesh, as a VDB level set, and as pictures; the objective."""

from __future__ import annotations

import numpy as np
import pytest
from liquid_cases import disk, square

from keyfluid.fields import Field
from keyfluid.grid import Kind
from keyfluid.objectives.surface import SurfaceKey, SurfaceMatch
from keyfluid.render import Backdrop, View, default_camera
from keyfluid.render.liquid import render_liquid_plane, render_liquid_volume
from keyfluid.shapes.isosurface import isosurface


def ball(cells, spacing):
    x = np.stack(np.meshgrid(*[(np.arange(n) + 0.5) * spacing for n in cells], indexing="ij"))
    return np.sqrt(((x - 0.45) ** 2).sum(0)) - 0.3


def closed(triangles):
    """Every edge belongs to two triangles, once each way."""
    ways = np.concatenate([triangles[:, [a, b]] for a, b in ((0, 1), (1, 2), (2, 0))])
    there = {tuple(edge) for edge in ways.tolist()}
    return len(there) == len(ways) and all((b, a) in there for a, b in there)


def signed_volume(vertices, triangles):
    a, b, c = (vertices[triangles[:, i]] for i in range(3))
    return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6)


@pytest.mark.parametrize("case", ["ball", "pool", "noise"])
def test_meshes_are_closed(case):
    cells, spacing = (15, 13, 14), 1 / 15
    phi = ball(cells, spacing)
    expected = 4 / 3 * np.pi * 0.3**3
    if case == "pool":
        heights = (np.arange(13) + 0.5) * spacing
        phi = np.broadcast_to(heights[None, :, None] - 0.31, cells)
        expected = 0.31 * 14 / 15
    elif case == "noise":
        phi = np.random.default_rng(0).normal(size=cells)
        phi[3, 3, 3] = 0.0
    vertices, triangles = isosurface(phi, spacing)
    assert closed(triangles)
    if case != "noise":
        assert signed_volume(vertices, triangles) == pytest.approx(expected, rel=0.03)
        trimesh = pytest.importorskip("trimesh")
        assert trimesh.Trimesh(vertices, triangles, process=False).is_watertight


def test_no_liquid_has_no_mesh():
    vertices, triangles = isosurface(np.ones((4, 5, 6)), 0.1)
    assert len(vertices) == 0
    assert len(triangles) == 0


def test_pictures_show_the_liquid_where_it_is():
    grid = square(24)
    picture = render_liquid_plane(disk(grid, (0.3, 0.7), 0.15).array, grid.spacing, "#3f8fd0", size=48)
    assert picture.shape == (48, 48, 3)
    blue = picture[..., 2].astype(int) - picture[..., 0]
    assert blue[48 - 34, 14] > 60  # (0.3, 0.7): right of the left side, above the middle
    assert abs(blue[34, 34]) < 40
    cells, spacing = (12, 12, 12), 1 / 12
    view = View(default_camera([1.0, 1.0, 1.0]), (40, 40), backdrop=Backdrop(floor=True))
    deep = render_liquid_volume(ball(cells, spacing), spacing, "#3f8fd0", view)
    blue = deep[..., 2].astype(int) - deep[..., 0]
    assert blue[20, 20] > 40
    assert abs(blue[2, 2]) < 30


def test_the_objective_counts_what_differs():
    """All in the wrong place: near 1 for a narrow gamma; the derivative against differences."""
    grid = square(32)
    here, there = disk(grid, (0.25, 0.3), 0.15), disk(grid, (0.75, 0.7), 0.15)
    match = SurfaceMatch([SurfaceKey(3, there)], 0.05 * grid.spacing)
    value, _ = match.term(3, {"surface": here})
    assert value == pytest.approx(1.0, rel=0.1)
    assert match.errors[0] == pytest.approx(np.sqrt(2), rel=0.05)
    assert match.term(3, {"surface": there})[0] == 0.0
    mask = Field.of(grid, Kind.CENTRES, np.random.default_rng(0).uniform(size=grid.cells))
    match = SurfaceMatch([SurfaceKey(3, there, 0.7, mask)], 2 * grid.spacing)
    value, bars = match.term(3, {"surface": here})
    way = Field.of(grid, Kind.CENTRES, np.random.default_rng(1).normal(size=grid.cells))
    h = 1e-6
    ahead, back = (match.term(3, {"surface": here.add_scaled(s * h, way)})[0] for s in (1, -1))
    assert (ahead - back) / (2 * h) == pytest.approx(bars["surface"].dot(way), rel=1e-6)
