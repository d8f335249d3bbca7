"""A fluid is an object, and nothing asks which one a scene has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import keyfluid
from keyfluid.fluids.liquid.fluid import LiquidFluid
from keyfluid.fluids.smoke.fluid import SmokeFluid

SOURCE = Path(keyfluid.__file__).parent


def test_nothing_asks_whether_there_is_a_liquid():
    asking = re.compile(r"\bliquid is (not )?None|\bas_smoke\b")
    assert [str(p) for p in SOURCE.rglob("*.py") if asking.search(p.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize("fluid", [SmokeFluid, LiquidFluid])
def test_a_fluid_is_frozen_data_with_a_name_of_its_own(fluid):
    own = {} if fluid is SmokeFluid else {"gravity": 9.81, "keep_volume": True, "paper_order": False}
    made = fluid(viscosity=0.5, **own)
    assert made.name in fluid.__module__
    with pytest.raises(AttributeError):
        made.viscosity = 1.0
