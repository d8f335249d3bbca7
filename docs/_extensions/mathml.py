"""Formulas as MathML, which browsers draw themselves: no script, no fonts, no network.

docutils brings the translation from LaTeX, so this needs no package beside Sphinx. A formula that it can't translate is
a warning, and the site is built with warnings as errors.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)


def _write(translator: Any, node: nodes.Element, block: bool) -> None:
    try:
        formula = tex2mathml(node.astext(), as_block=block)
    except MathError as error:
        logger.warning("formula: %s", error, location=node)
        formula = ""
    translator.body.append(f'<div class="math">{formula}</div>\n' if block else formula)
    raise nodes.SkipNode


def _inline(translator: Any, node: nodes.Element) -> None:
    _write(translator, node, block=False)


def _display(translator: Any, node: nodes.Element) -> None:
    _write(translator, node, block=True)


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_html_math_renderer("mathml", inline_renderers=(_inline, None), block_renderers=(_display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
