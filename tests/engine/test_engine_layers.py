"""Imports only go down the layers (layers.py has the table), methods do not know each other, and nothing is circular.

Imports inside functions and under TYPE_CHECKING count: they are still dependencies. Each rule is also shown failing, on
a small package with the fault planted in it.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from import_graph import files_of, find_cycles, imports_in, read_imports
from layers import LAYERS, between_apart, module_cycles, room_cycles, room_of, upward

import keyfluid

SOURCE = Path(keyfluid.__file__).parent
FILES = files_of(SOURCE)
IMPORTS = read_imports(SOURCE)

BY_NAME = {"__init__.py", "controllers/__init__.py", "cluster/at_work.py"}
"""Files that import modules named in strings: the public names, the methods, and the tasks that a worker is given."""


def planted(folder, **files):
    """Imports of a package of these files, given as `io__run__record="source"`; every folder gets its __init__.py."""
    root = folder / "keyfluid"
    for name, source in files.items():
        path = root.joinpath(*name.split("__")).with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
    for inner in [root, *(path for path in root.rglob("*") if path.is_dir())]:
        (inner / "__init__.py").touch()
    return read_imports(root)


def test_every_file_has_a_layer():
    homeless = [file for file in FILES.values() if room_of(file) is None]
    assert not homeless, "add their folders to LAYERS in tests/engine/layers.py"


def test_no_room_is_listed_twice():
    entries = [entry for layer in LAYERS for entry in layer]
    assert len(entries) == len(set(entries))


def test_imports_go_down():
    assert not [str(found) for found in upward(IMPORTS) if found.importer != "__init__.py"]


def test_importing_keyfluid_imports_nothing_with_it():
    assert not [str(found) for found in IMPORTS if found.importer == "__init__.py" and found.when == "start"]


def test_methods_do_not_import_each_other():
    assert between_apart(IMPORTS) == []


def test_no_module_imports_itself_by_a_detour():
    assert module_cycles(IMPORTS) == []


def test_the_tables_of_scenes_import_no_arrays():
    folder = SOURCE / "scenes" / "schema"
    assert [
        path.name for path in folder.glob("*.py") if re.search(r"^\s*(import|from) numpy", path.read_text(), re.M)
    ] == []


def test_no_room_imports_itself_by_a_detour():
    assert room_cycles(IMPORTS) == []


def test_modules_are_named_in_strings_only_where_it_is_listed():
    using = {
        file
        for file in FILES.values()
        for node in ast.walk(ast.parse((SOURCE / file).read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "__import__"))
    }
    assert using == BY_NAME


# Each rule, seen failing.


@pytest.mark.parametrize(
    ("importer", "source", "when"),
    [
        ("operators/advect.py", "from keyfluid.models.smoke import Smoke", "start"),
        ("operators/advect.py", "def later():\n    from keyfluid.models.smoke import Smoke", "lazy"),
        ("operators/advect.py", "class A:\n    async def later(self):\n        import keyfluid.models.smoke", "lazy"),
        ("operators/advect.py", "if TYPE_CHECKING:\n    from ..models import smoke", "typing"),
        ("operators/advect.py", "try:\n    from ..models.smoke import Smoke\nexcept ImportError:\n    pass", "start"),
        ("grid.py", "from . import models", "start"),
        ("grid.py", "from keyfluid import models", "start"),
        ("scenes/schema/domain.py", "from ..build.obstacles import Obstacles", "start"),
        ("scenes/schema/domain.py", "from keyfluid.scenes.load import load_scene", "start"),
        ("problem/keyframe.py", "def f():\n    from keyfluid.controllers import march", "lazy"),
        ("controllers/march.py", "from keyfluid.controllers.target import goal", "start"),
        ("operators/kernels/advect.py", "def f():\n    from keyfluid.models.smoke import Smoke", "lazy"),
        ("runs/run.py", "def f():\n    import keyfluid", "lazy"),
        ("runs/run.py", "from keyfluid import load_scene", "start"),
    ],
)
def test_an_import_that_goes_up_is_found(tmp_path, importer, source, when):
    others = {
        "models__smoke": "class Smoke: ...",
        "scenes__load": "def load_scene(): ...",
        "scenes__build__obstacles": "class Obstacles: ...",
        "controllers__march": "",
        "controllers__target__goal": "",
    }
    imports = planted(tmp_path, **{**others, importer.removesuffix(".py").replace("/", "__"): source})
    assert [(found.importer, found.when) for found in upward(imports)] == [(importer, when)]


def test_an_import_that_goes_down_or_sideways_is_none(tmp_path):
    imports = planted(
        tmp_path,
        models__smoke="from keyfluid.operators.advect import Advect\nfrom keyfluid import __version__\nimport numpy",
        operators__advect="from keyfluid.operators import base\nfrom ..grid import Grid",
        operators__base="",
        grid="import os.path\nfrom keyfluid.errors import KeyfluidError",
        errors="class KeyfluidError(Exception): ...",
    )
    assert len(imports) == 4
    assert upward(imports) == between_apart(imports) == module_cycles(imports) == room_cycles(imports) == []


def test_methods_that_import_each_other_are_found(tmp_path):
    imports = planted(
        tmp_path,
        controllers__march="",
        controllers__target__goal="from keyfluid.controllers import march",
        controllers__particles__cloud="def f():\n    from keyfluid.controllers.target.goal import Goal",
        controllers__particles__lattice="from keyfluid.controllers.particles.cloud import Cloud",
    )
    assert [str(found) for found in between_apart(imports)] == [
        "controllers/particles/cloud.py:2 imports controllers/target/goal.py (lazy)"
    ]
    assert upward(imports) == []


def test_a_cycle_of_modules_is_found(tmp_path):
    imports = planted(
        tmp_path,
        operators__advect="def f():\n    from keyfluid.operators.cubic import Cubic",
        operators__cubic="from keyfluid.operators.feet import trace",
        operators__feet="if TYPE_CHECKING:\n    from keyfluid.operators.advect import Advect",
        operators__blur="from keyfluid.operators.advect import Advect",
    )
    names = [f"operators/{name}.py" for name in ("advect", "cubic", "feet", "advect")]
    assert module_cycles(imports) == [names]
    assert upward(imports) == room_cycles(imports) == []


def test_a_cycle_of_rooms_is_found_where_no_module_is_on_one(tmp_path):
    imports = planted(
        tmp_path,
        io__atomic="",
        io__budget="from keyfluid.io.vdb.layout import LEAF",
        io__vdb__layout="",
        io__vdb__writer="from keyfluid.io.atomic import write",
    )
    assert module_cycles(imports) == upward(imports) == []
    assert room_cycles(imports) == [["io", "io/vdb", "io"]]


def test_a_folder_without_an_entry_has_no_layer():
    assert room_of("new/thing.py") is None
    assert room_of("io/usd/writer.py") is None
    assert room_of("controllers/anything/plan.py") is not None
    assert room_of("controllers/anything/deeper/plan.py") is None


def test_the_kernels_of_a_room_are_part_of_it():
    assert room_of("render/kernels/raymarch.py") == room_of("render/volume.py")
    assert room_of("controllers/target/kernels/goal.py") == room_of("controllers/target/goal.py")
    assert room_of("kernels/rows.py").name == "kernels"


def test_every_knot_gives_one_cycle():
    assert find_cycles({"a": ["b"], "b": ["c", "a"], "c": ["b"], "d": ["a", "d"], "x": ["y"], "y": ["x"]}) == [
        ["a", "b", "a"],
        ["x", "y", "x"],
    ]


def test_the_reader_sees_every_form_of_import():
    files = {
        f"keyfluid.{name}": name.replace(".", "/") + ".py"
        for name in ("cli.main", "scenes.load", "rollout.plan", "operators.advect", "operators.base", "models.smoke")
    }
    rooms = ("cli", "scenes", "rollout", "operators", "models")
    files |= {"keyfluid": "__init__.py", **{f"keyfluid.{room}": f"{room}/__init__.py" for room in rooms}}
    source = """
import keyfluid.cli.main, os
from keyfluid import scenes, rollout
from ..rollout import plan, Gradient
from . import advect
from keyfluid import __version__
def later():
    from keyfluid.models.smoke import Smoke, Emitter
"""
    assert [found.imported for found in imports_in(source, "keyfluid.operators.base", files)] == [
        "cli/main.py",
        "scenes/__init__.py",
        "rollout/__init__.py",
        "rollout/plan.py",
        "rollout/__init__.py",
        "operators/advect.py",
        "models/smoke.py",
    ]
