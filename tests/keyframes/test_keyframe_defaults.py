"""What descriptions of keys say about defaults is what the fluids' SearchDefaults have."""

from __future__ import annotations

import pytest

from keyfluid.controllers.optimised.settings import AdjointSettings, SearchNumbers
from keyfluid.scenes import load_scene
from keyfluid.scenes.build.problem import build

SCENE = """
[domain]
size = {size}
resolution = 32
[time]
frames = 2
[{fluid}]
initial = {{ shape = "{shape}", center = {center}, radius = 0.2 }}
[[keyframe]]
frame = 2
shape = "{shape}"
center = {center}
radius = 0.2
[control]
method = "adjoint"
"""


def said(key: str) -> str:
    return str(AdjointSettings.model_fields[key].description)


def numbers(fluid: str, dim: int) -> SearchNumbers:
    shape = "disk" if dim == 2 else "sphere"
    scene = load_scene(SCENE.format(size=[2.0] * dim, fluid=fluid, shape=shape, center=[1.0] * dim))
    return SearchNumbers.of(build(scene))


@pytest.mark.parametrize("dim", [2, 3])
def test_defaults_of_smoke(dim):
    found, length = numbers("smoke", dim), 2.0
    assert f"default {found.iterations}, of" in said("iterations")
    assert f"{found.tau:g}".replace("e-05", "e-5") + f" in {dim}D" in said("tau")
    assert f"{found.shear:g} in {dim}D" in said("shear")
    assert length / found.spacing == {2: 32, 3: 8}[dim]
    assert f"L/{length / found.spacing:g} in {dim}D" in said("spacing")
    assert str([width / length for width in found.blur]).replace("0.0]", "0] L") in said("blur")
    assert f'"{found.time}" (default)' in said("time")


def test_defaults_of_liquids():
    found, cell = numbers("liquid", 2), 2.0 / 32
    assert f"of a liquid {found.iterations} " in said("iterations")
    assert said("tau").endswith(f"of a liquid {found.tau:g}")
    assert f"{found.shear:g} for liquids" in said("shear")
    assert f"of a liquid {found.spacing / cell:g} cells" in said("spacing")
    assert "default {:g}, {:g} and {:g} cells".format(*(width / cell for width in found.blur)) in said("blur")
    assert said("time").endswith(f'of a liquid "{found.time}"')
    assert found.coarse == 0
    assert said("coarse").endswith('of a liquid one by "spectral", else none')
    assert f"default 0, of a liquid {found.ahead}" in said("ahead")
