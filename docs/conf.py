"""Settings of the site. `make docs` builds it into out/site, with warnings as errors."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "_extensions"), str(HERE.parent / "src")]

from keyfluid import __version__  # noqa: E402

project = "keyfluid"
copyright = "keyfluid contributors, Apache-2.0"
release = version = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "mathml", "notebook_pages", "plain_docstrings"]
exclude_patterns = ["_extensions"]

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
html_math_renderer = "mathml"

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
autodoc_type_aliases = {"DTypeLike": "DTypeLike", "Listener": "Listener"}
autodoc_default_options = {"members": True}

html_theme = "furo"
html_title = f"keyfluid {__version__}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
html_theme_options = {"navigation_with_keys": True}
