"""A fluid is an object: nothing asks which one a scene has, and the page for authors lists all its members."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import keyfluid
from keyfluid.fluids.liquid.fluid import LiquidFluid
from keyfluid.fluids.smoke.fluid import SmokeFluid
from keyfluid.problem import Fluid

SOURCE = Path(keyfluid.__file__).parent
PAGE = (SOURCE.parent.parent / "docs" / "methods.md").read_text(encoding="utf-8")


def test_nothing_asks_whether_there_is_a_liquid():
    asking = re.compile(r"\bliquid is (not )?None|\bas_smoke\b")
    assert [str(p) for p in SOURCE.rglob("*.py") if asking.search(p.read_text(encoding="utf-8"))] == []


def test_the_page_has_every_member_of_a_fluid():
    section = PAGE.split("## A new fluid")[1].split("\n## ")[0]
    names = {name for name in (*vars(Fluid), *Fluid.__annotations__) if not name.startswith("_")}
    assert len(names) > 12
    assert [name for name in sorted(names) if not re.search(rf"`{name}[`(]", section)] == []


@pytest.mark.parametrize("fluid", [SmokeFluid, LiquidFluid])
def test_a_fluid_is_frozen_data_with_a_name_of_its_own(fluid):
    own = {} if fluid is SmokeFluid else {"gravity": 9.81, "keep_volume": True, "paper_order": False}
    made = fluid(viscosity=0.5, **own)
    assert made.name in fluid.__module__
    with pytest.raises(AttributeError):
        made.viscosity = 1.0
