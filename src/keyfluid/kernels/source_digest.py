"""The sources that a kernel's machine code depends on, as one hash.

A kernel contains, compiled in, the functions it calls and the constants it reads, wherever they are defined. So its
digest covers its own module and, transitively, every module of its own top-level package and of keyfluid that is
imported outside of function bodies:

    import a.b            a/__init__.py and a/b.py: the kernel may read names of both
    import a.b as c       a/b.py
    from a.b import c     a/b/c.py if c is a module, otherwise a/b.py or a/b/__init__.py
    from .b import c      likewise, relative to the importing module's package

An import inside a function cannot reach a kernel, and neither can one made by name at run time (importlib). Both are
left out, and so are other packages: Numba's cache has the versions of Python and of Numba in its index.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

_KEYFLUID = Path(__file__).resolve().parents[1]


class Module(NamedTuple):
    """A module's file, and its dotted name as a tuple that ends in "__init__" for a package."""

    file: Path
    name: tuple[str, ...]
    roots: tuple[Path, ...]
    """Folders of the top-level packages whose modules are followed."""


@cache
def digest(file: Path) -> str:
    """Hash of the module in `file` and of all modules that it depends on."""
    start = _module(file)
    found = {start.file: start}
    waiting = [start]
    while waiting:
        for module in _read(waiting.pop())[1]:
            if module.file not in found:
                found[module.file] = module
                waiting.append(module)
    total = hashlib.sha256()
    for module in sorted(found.values(), key=lambda module: module.name):
        total.update(".".join(module.name).encode() + b"\0" + _read(module)[0])
    return total.hexdigest()[:16]


def _module(file: Path) -> Module:
    """The module in a file: of keyfluid, of another package (its folders hold an __init__.py), or a lone script."""
    file = file.resolve()
    top = _KEYFLUID
    if not file.is_relative_to(_KEYFLUID):
        top = file
        while (top.parent / "__init__.py").is_file():
            top = top.parent
    parts = file.relative_to(top.parent).with_suffix("").parts
    return Module(file, parts, (_KEYFLUID,) if top in (_KEYFLUID, file) else (top, _KEYFLUID))


@cache
def _read(module: Module) -> tuple[bytes, tuple[Module, ...]]:
    """Hash of one module's source, and the modules it imports; each file is read once per process."""
    source = module.file.read_bytes() if module.file.exists() else b""  # a notebook's cell has no file
    return hashlib.sha256(source).digest(), tuple(_imported(module, _tree(source)))


def _tree(source: bytes) -> ast.Module:
    """The module's syntax as far as the word "import" occurs. Parsing all functions would take 50 ms at start-up."""
    last = source.rfind(b"import")
    end = source.find(b"\n\n\n", max(last, 0))
    try:
        return ast.parse(source[: end + 1] if end >= 0 else source)
    except SyntaxError:  # cut in the middle of a string or a bracket
        return ast.parse(source)


def _imported(module: Module, tree: ast.Module) -> Iterator[Module]:
    """The modules that one module imports outside of function bodies."""
    nodes: list[ast.AST] = [tree]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Import):
            for alias in node.names:
                parts = tuple(alias.name.split("."))
                for length in [len(parts)] if alias.asname else range(1, len(parts) + 1):
                    yield from _find(parts[:length], module.roots)
        elif isinstance(node, ast.ImportFrom):
            parts = tuple(node.module.split(".")) if node.module else ()
            if node.level:
                parts = module.name[: -node.level] + parts
            for package in _find(parts, module.roots):
                if package.name[-1] == "__init__":
                    for alias in node.names:
                        yield from _find((*parts, alias.name), module.roots) or [package]
                else:
                    yield package
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.expr):
            nodes.extend(ast.iter_child_nodes(node))


def _find(parts: tuple[str, ...], roots: tuple[Path, ...]) -> list[Module]:
    """The module of that name, if it is a source file of one of the top-level packages."""
    for root in roots:
        if parts and parts[0] == root.name:
            place = root.joinpath(*parts[1:])
            if (place / "__init__.py").is_file():
                return [Module(place / "__init__.py", (*parts, "__init__"), roots)]
            if place.with_name(place.name + ".py").is_file():
                return [Module(place.with_name(place.name + ".py"), parts, roots)]
    return []
