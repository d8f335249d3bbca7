"""Notebooks as pages of the site: text as it is, code with what it printed and drew when it was last run.

`python benchmarks/notebooks.py` runs them; nothing is executed here.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from docutils import nodes
from myst_parser.parsers.sphinx_ import MystParser
from sphinx.application import Sphinx


def markdown(notebook: dict[str, Any], stem: str, pictures: Path) -> str:
    """The notebook as a MyST page; its pictures are written to a folder."""
    parts = []
    for number, cell in enumerate(notebook["cells"]):
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        for output in cell["outputs"]:
            if "text" in output:
                parts.append(f"```text\n{''.join(output['text']).rstrip()}\n```")
            elif "image/png" in output["data"]:
                pictures.mkdir(parents=True, exist_ok=True)
                file = pictures / f"{stem}_{number}.png"
                file.write_bytes(base64.b64decode("".join(output["data"]["image/png"])))
                parts.append(f"![output](/{pictures.name}/{file.name})")
            else:
                parts.append(f"```text\n{''.join(output['data']['text/plain']).rstrip()}\n```")
    return "\n\n".join(parts) + "\n"


class NotebookParser(MystParser):
    """Reads .ipynb files."""

    supported = ("ipynb",)

    def parse(self, inputstring: str, document: nodes.document) -> None:
        source = Path(document["source"])
        super().parse(markdown(json.loads(inputstring), source.stem, source.parents[1] / "_notebooks"), document)


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_source_suffix(".ipynb", "ipynb")
    app.add_source_parser(NotebookParser)
    return {"parallel_read_safe": True}
