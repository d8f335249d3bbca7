"""Runs the notebooks in docs/notebooks, and keeps what they print and draw.

    python benchmarks/notebooks.py [NAME ...]      run, and rewrite the files with new outputs

A cell's output is what it prints, then its last expression: a picture if it can be drawn (`_repr_png_`), else its repr.
No Jupyter is needed; in Jupyter they run as they are. tests/docs/test_docs_notebooks.py runs them too.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "notebooks"


def names() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.ipynb"))


def load(name: str) -> dict[str, Any]:
    return json.loads((FOLDER / f"{name}.ipynb").read_text(encoding="utf-8"))


def run(notebook: dict[str, Any], name: str) -> dict[str, Any]:
    """The notebook with new outputs; its cells run in the present folder and share their names."""
    variables: dict[str, Any] = {"__name__": "__main__"}
    cells = []
    count = 0
    for number, cell in enumerate(notebook["cells"]):
        if cell["cell_type"] == "code":
            count += 1
            outputs = _run_cell("".join(cell["source"]), variables, f"{name}.ipynb, cell {number}", count)
            cell = {**cell, "execution_count": count, "outputs": outputs}
        cells.append(cell)
    return {**notebook, "cells": cells}


def _run_cell(source: str, variables: dict[str, Any], where: str, count: int) -> list[dict[str, Any]]:
    tree = ast.parse(source, where)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    value = None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, where, "exec"), variables)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), where, "eval"), variables)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append(
            {"name": "stdout", "output_type": "stream", "text": printed.getvalue().splitlines(keepends=True)}
        )
    if value is not None:
        data: dict[str, Any] = {"text/plain": [_plain(value)]}
        if hasattr(value, "_repr_png_"):
            data["image/png"] = base64.b64encode(value._repr_png_()).decode()
        outputs.append({"data": data, "execution_count": count, "metadata": {}, "output_type": "execute_result"})
    return outputs


def _plain(value: Any) -> str:
    """Its repr, without the address that the default one has."""
    return repr(value).split(" at 0x")[0] + (">" if " at 0x" in repr(value) else "")


def save(name: str, notebook: dict[str, Any]) -> None:
    text = json.dumps(notebook, indent=1, ensure_ascii=False)
    (FOLDER / f"{name}.ipynb").write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    for chosen in sys.argv[1:] or names():
        here = os.getcwd()
        with tempfile.TemporaryDirectory() as away:
            os.chdir(away)
            try:
                save(chosen, run(load(chosen), chosen))
            finally:
                os.chdir(here)
        print(chosen)
