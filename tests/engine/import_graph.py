"""Which module of a package imports which: every import statement, wherever it stands in the file.

    lazy      inside a function: runs late, but is a dependency all the same
    typing    under `if TYPE_CHECKING`: only a type checker reads it, but a reader has to know the other module too
    start     anything else: runs when the module is imported

`from package.room import name` counts as an import of package.room.name where that is a module, and of package.room
where `name` is something defined there. Modules looked up by a name in a string are not seen here; a test keeps
`import_module` to the modules listed there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Import:
    """What one import statement does: two files, as paths below the package's folder, and when it happens."""

    importer: str
    imported: str
    when: str
    line: int

    def __str__(self) -> str:
        return f"{self.importer}:{self.line} imports {self.imported} ({self.when})"


def files_of(root: Path) -> dict[str, str]:
    """Full names of all modules below a package's folder, and their files: {"keyfluid.io": "io/__init__.py", ...}."""
    found = {}
    for path in sorted(root.rglob("*.py")):
        file = path.relative_to(root)
        parts = file.parent.parts if file.name == "__init__.py" else file.with_suffix("").parts
        found[".".join([root.name, *parts])] = file.as_posix()
    return found


def read_imports(root: Path) -> list[Import]:
    """All imports between the modules of the package in folder `root`."""
    files = files_of(root)
    return [
        found
        for name, file in files.items()
        for found in imports_in((root / file).read_text(encoding="utf-8"), name, files)
    ]


def imports_in(source: str, name: str, files: Mapping[str, str]) -> Iterator[Import]:
    """Imports of modules among `files` by the module `name`; `__version__` is a constant and counts as none."""
    package = name if files[name].endswith("__init__.py") else name.rpartition(".")[0]
    for node, when in _statements(ast.parse(source), "start"):
        for target in _targets(node, package, files):
            if target != name:
                yield Import(files[name], files[target], when, node.lineno)


def _statements(node: ast.AST, when: str) -> Iterator[tuple[ast.Import | ast.ImportFrom, str]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child, when
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _statements(child, "lazy")
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            yield from _statements(child, "typing")
        else:
            yield from _statements(child, when)


def _targets(node: ast.Import | ast.ImportFrom, package: str, files: Mapping[str, str]) -> list[str]:
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    else:
        parts = package.split(".")
        above = parts[: len(parts) - node.level + 1] if node.level else []
        base = ".".join([*above, *([node.module] if node.module else [])])
        names = [f"{base}.{alias.name}" for alias in node.names if alias.name != "__version__"]
    top = package.partition(".")[0]
    found = []
    for full in names:
        if full.partition(".")[0] == top:
            while full not in files:
                full = full.rpartition(".")[0]
            found.append(full)
    return list(dict.fromkeys(found))


def find_cycles(edges: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """One cycle of every knot (strongly connected component) of a graph, as a path whose last node is its first."""
    graph = {node: sorted(set(others) - {node}) for node, others in edges.items()}
    left = set(graph)
    found = []
    while left:
        start = min(left)
        knot = _reached(graph, start) & _reached(_reversed(graph), start)
        left -= knot | {start}
        if knot:
            found.append(_shortest_loop(graph, start))
    return found


def _reached(graph: Mapping[str, Iterable[str]], start: str) -> set[str]:
    """Nodes that a path of one or more edges leads to."""
    seen: set[str] = set()
    ahead = list(graph.get(start, ()))
    while ahead:
        node = ahead.pop()
        if node not in seen:
            seen.add(node)
            ahead += graph.get(node, ())
    return seen


def _reversed(graph: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    turned: dict[str, list[str]] = {}
    for node, others in graph.items():
        for other in others:
            turned.setdefault(other, []).append(node)
    return turned


def _shortest_loop(graph: Mapping[str, Iterable[str]], start: str) -> list[str]:
    paths = [[start]]
    seen: set[str] = set()
    for path in paths:
        for other in graph.get(path[-1], ()):
            if other == start:
                return [*path, start]
            if other not in seen:
                seen.add(other)
                paths.append([*path, other])
    raise AssertionError(f"{start} is on no loop")
