"""The site. Its sources are the pages as they lie in the repository, so that their links hold here and there alike."""

import hashlib
import logging
import os
import sys
from pathlib import Path
from typing import Any

import inbounds

ROOT = Path(__file__).parents[1]
BUILD = ROOT / "build"
sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "inbounds"
author = "the inbounds authors"
project_copyright = "the inbounds authors, Apache-2.0"
version = release = inbounds.__version__
language = "en-GB"

extensions = ["myst_nb", "sphinx.ext.autodoc", "numpydoc", "anchors", "bars", "blocks", "contents", "mathml"]
root_doc = "docs/index"
include_patterns = ["docs/**.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"]
exclude_patterns = [".*", "bench", "build", "dist", "examples", "src", "tests"]
nitpicky = True
highlight_language = "text"
smartquotes = False

# Links to headings as code hosts have them; formulas between dollars.
myst_heading_anchors = 3
myst_enable_extensions = ["dollarmath"]
myst_update_mathjax = False

# Types are said in the section of parameters, in words; a class lists what it has itself.
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_class_signature = "separated"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

# Pages with code cells are run anew whenever they or the library change, and an error in one is an error of the build.
_source = sorted((ROOT / "src").rglob("*.py"))
_digest = hashlib.sha256(b"".join(path.read_bytes() for path in _source)).hexdigest()[:16]
nb_execution_mode = "cache"
nb_execution_cache_path = str(BUILD / "pages" / _digest)
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_execution_timeout = 180
nb_merge_streams = True
logging.getLogger("traitlets").setLevel(logging.WARNING)
# Charts become pictures: no page loads a script from elsewhere. Kernels say nothing but errors.
_profile = BUILD / "ipython" / "profile_default"
(_profile / "startup").mkdir(parents=True, exist_ok=True)
(_profile / "startup" / "charts.py").write_text('import altair\n\naltair.renderers.enable("svg")\n', "utf-8")
(_profile / "ipython_kernel_config.py").write_text("c.IPKernelApp.log_level = 40\n", "utf-8")
os.environ["IPYTHONDIR"] = str(BUILD / "ipython")

html_theme = "furo"
html_title = f"inbounds {release}"
html_math_renderer = "mathml"
html_copy_source = False
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_theme_options = {"navigation_with_keys": True, "top_of_page_buttons": []}


def _door(app: Any, error: Exception | None) -> None:
    """The site's first page is docs/index.html; its folder's own sends there."""
    if error is None:
        page = f"{root_doc}.html"
        head = f'<meta charset="utf-8"><meta http-equiv="refresh" content="0; url={page}"><title>{project}</title>'
        text = f'<!doctype html><html lang="en"><head>{head}</head><body><a href="{page}">{project}</a></body></html>'
        (Path(app.outdir) / "index.html").write_text(f"{text}\n", "utf-8")


def setup(app: Any) -> None:
    app.connect("build-finished", _door)
