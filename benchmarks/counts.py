"""Counts that say how hard the code is to live in: facts written twice, types given up, problems built again.

    python benchmarks/counts.py [--list]      --list also prints where

Static counts are read from the source; the last two come from small runs, in a minute:

    builds      calls of the function `build` in scenes/ during `keyfluid run` of a spectral scene on 128 x 128 cells
                with one iteration, and for how many different grids
    hops        see density_hops.py
"""

from __future__ import annotations

import ast
import sys
import tempfile
import tokenize
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from types import FrameType
from typing import Any

import density_hops
import keyfluid
from keyfluid.cli.main import app

SOURCE = Path(keyfluid.__file__).parent
MOST_PARAMETERS = 7
COMPILED = ("kernel", "row_function", "njit", "intrinsic")
"""What decorators of Numba functions contain: these take arrays one by one."""
SCENE = """
name = "counted"
[domain]
size = [1.0, 1.0]
resolution = 128
[time]
frames = 8
[smoke]
initial = { shape = "disk", center = [0.4, 0.5], mass = "first-key" }
[[keyframe]]
frame = 8
text = "F"
[control]
method = "spectral"
iterations = 1
[output]
vdb = false
video = false
"""

Found = list[str]


def nodes(kind: type, *folders: str) -> Iterator[tuple[str, Any]]:
    """("file:line", node) of every node of a kind, in the whole source or in some folders of it."""
    for path in sorted(SOURCE.rglob("*.py")):
        file = path.relative_to(SOURCE).as_posix()
        if folders and file.split("/")[0] not in folders:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, kind):
                yield f"{file}:{getattr(node, 'lineno', 0)}", node


def repeated_classes() -> Found:
    """Names of classes that are defined in more than one place."""
    places = defaultdict(list)
    for where, node in nodes(ast.ClassDef):
        places[node.name].append(where)
    return [f"{name}: {', '.join(found)}" for name, found in sorted(places.items()) if len(found) > 1]


def untyped() -> Found:
    """`Any` in controllers and problem, imports aside."""
    return [where for where, node in nodes(ast.Name, "controllers", "problem") if node.id == "Any"]


def asks_for_liquid() -> Found:
    """`liquid is None`, `scene.liquid is not None` and the like."""
    return [
        where
        for where, node in nodes(ast.Compare)
        if isinstance(node.ops[0], ast.Is | ast.IsNot)
        and ast.unparse(node.left).split(".")[-1] == "liquid"
        and ast.unparse(node.comparators[0]) == "None"
    ]


def asks_controllers() -> Found:
    """`hasattr` and `getattr` with a default, on what is called a controller."""
    return [
        where
        for where, node in nodes(ast.Call)
        if (name := ast.unparse(node.func)) in ("hasattr", "getattr")
        and len(node.args) == (2 if name == "hasattr" else 3)
        and ast.unparse(node.args[0]).split(".")[-1] == "controller"
    ]


def long_signatures() -> Found:
    """Functions with more than 7 parameters (self and cls aside) that are not compiled by Numba."""
    found = []
    for where, node in nodes(ast.FunctionDef):
        if where.startswith("kernels/") or any(
            word in ast.unparse(decorator) for decorator in node.decorator_list for word in COMPILED
        ):
            continue
        given = node.args
        names = [a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs) if a.arg not in ("self", "cls")]
        if len(names) > MOST_PARAMETERS:
            found.append(f"{where} {node.name} ({len(names)})")
    return found


def lines() -> int:
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCE.rglob("*.py"))


def lines_of_code() -> int:
    """Lines that hold code, imports, docstrings and comments aside."""
    total = 0
    for path in SOURCE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        aside: set[int] = set()
        for node in ast.walk(ast.parse(text)):
            words = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            if words or isinstance(node, ast.Import | ast.ImportFrom):
                aside.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        code: set[int] = set()
        for token in tokenize.generate_tokens(StringIO(text).readline):
            if token.string.strip() and token.type != tokenize.COMMENT:
                code.update(range(token.start[0], token.end[0] + 1))
        total += len(code - aside)
    return total


def builds() -> Counter[str]:
    """Cells of the grids for which `keyfluid run` built a problem, and how often."""
    seen: Counter[str] = Counter()
    scenes = str(SOURCE / "scenes")

    def watch(frame: FrameType, event: str, value: Any) -> None:
        code = frame.f_code
        if event == "return" and code.co_qualname == "build" and code.co_filename.startswith(scenes):
            seen["not built" if value is None else " x ".join(map(str, value.grid.cells))] += 1

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scene.toml"
        path.write_text(SCENE, encoding="utf-8")
        sys.setprofile(watch)
        try:
            with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
                app(args=["run", str(path), "-o", str(Path(folder) / "run"), "--threads", "1"], standalone_mode=False)
        finally:
            sys.setprofile(None)
    return seen


STATIC: dict[str, Callable[[], Found]] = {
    "class names defined more than once": repeated_classes,
    "`Any` in controllers and problem": untyped,
    "`liquid is None`, `liquid is not None`": asks_for_liquid,
    "`hasattr`, `getattr` with a default, on controllers": asks_controllers,
    "functions with more than 7 parameters, kernels aside": long_signatures,
}


def main(listed: bool) -> None:
    for name, count in STATIC.items():
        found = count()
        files = len({where.split(":")[0] for where in found})
        print(f"{len(found):6d}  {name}" + (f", in {files} files" if count is not repeated_classes else ""))
        if listed:
            print(*(f"        {line}" for line in found), sep="\n")
    built = builds()
    print(f"{sum(built.values()):6d}  builds of the problem in one 128 x 128 run, on {len(built)} grids")
    if listed:
        print(*(f"        {cells}: {n}" for cells, n in built.items()), sep="\n")
    hops = density_hops.hops()
    way = sum(form not in density_hops.OFF_THE_WAY for form in hops.values())
    print(f"{way:6d}  hops of a density from TOML to frame, and {len(hops) - way} in checks and copies of the scene")
    if listed:
        print(*(f"        {form:6s} {hop}" for hop, form in hops.items()), sep="\n")
    print(f"{lines():6d}  lines of src, {lines_of_code()} of them code beyond imports and docstrings")


if __name__ == "__main__":
    main("--list" in sys.argv[1:])
