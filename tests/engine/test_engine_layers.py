"""Imports only go down. The layers, from what people touch to what everything stands on:

    cli  studio
    runs
    scenes  io  render  shapes  gallery
    controllers
    problem
    objectives  controls  optimise
    verify                        imports rollouts and all below; controllers and the command line may use it
    rollout
    models
    operators
    solvers
    kernels
    grid  fields  boundary  solids  threads  tables  errors

Imports inside functions count: they are still dependencies. A module may import from its own layer.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import keyfluid

SOURCE = Path(keyfluid.__file__).parent
LAYERS = [
    ["errors", "boundary", "grid", "fields", "solids", "threads", "tables"],
    ["kernels"],
    ["solvers"],
    ["operators"],
    ["models"],
    ["rollout"],
    ["verify"],
    ["objectives", "controls", "optimise"],
    ["problem"],
    ["controllers"],
    ["scenes", "io", "render", "shapes", "gallery"],
    ["runs"],
    ["cli", "studio", "__main__"],
]
HEIGHT = {name: height for height, names in enumerate(LAYERS) for name in names}
MODULES = sorted(path.relative_to(SOURCE) for path in SOURCE.rglob("*.py"))


def imports(source, package):
    """Parts of keyfluid (first level) that a module imports, wherever in the file."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = (node.module or "").split(".") if node.module else []
            if node.level:
                base = [*package[: len(package) - node.level + 1], *base]
            names = [base] if len(base) > 1 or base != ["keyfluid"] else [[*base, a.name] for a in node.names]
        else:
            continue
        for parts in names:
            if parts[0] == "keyfluid" and len(parts) > 1:
                yield parts[1]


def part(path):
    return path.parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_imports_go_down(path):
    package = ["keyfluid", *path.parts[:-1]]
    imported = set(imports((SOURCE / path).read_text(), package)) - {"__version__"}
    if path == Path("__init__.py"):
        assert not imported, "importing keyfluid must stay fast: nothing is imported with it"
        return
    upward = {name for name in imported if HEIGHT[name] > HEIGHT[part(path)]}
    assert not upward, f"{path} imports from above: {sorted(upward)}"


def test_every_part_has_a_layer():
    assert {part(path) for path in MODULES} - {"__init__"} <= set(HEIGHT)


def test_the_parser_sees_every_form_of_import():
    source = """
import keyfluid.cli.main
from keyfluid import scenes
from ..rollout import plan
from . import advect
def later():
    from keyfluid.models.smoke import Smoke
"""
    assert list(imports(source, ["keyfluid", "operators"])) == [
        "cli",
        "scenes",
        "rollout",
        "operators",
        "models",
    ]
