"""Sphinx settings: pages are Markdown, and every code cell is executed by the build."""

import os
from pathlib import Path

from gevglm import __version__

os.environ["TQDM_DISABLE"] = "1"  # no progress bars in executed pages

project = "gevglm"
author = "the gevglm developers"
release = __version__
extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",  # formulas are read without a network
]
templates_path = ["_templates"]
exclude_patterns = ["_build"]

html_theme = "pydata_sphinx_theme"
html_title = "gevglm"
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "show_prev_next": True,
    "header_links_before_dropdown": 4,
    "secondary_sidebar_items": ["page-toc"],
}
html_sidebars = {"*": []}  # pages without others below them
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["wide.css"]

myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "substitution"]
myst_heading_anchors = 3

# equations are numbered by page of the theory, so that docstrings can cite them: (2.5) is the fifth of its second page
numfig = True
math_numfig = True
math_eqref_format = "({number})"

nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 600
nb_output_stderr = "remove"  # warnings that matter are told in the text, and progress bars are not for paper

# pages about data that no package carries are shown without output where the data are absent
SHARED = Path(__file__).parents[2] / "shared" / "data"
NEEDS = {"gallery/conflict": "rare/mid.tab", "gallery/mammography": "rare/mammography.csv"}
absent = [page for page, file in NEEDS.items() if not (SHARED / file).exists()]
nb_execution_excludepatterns = [f"{page}.md" for page in absent]
for page in absent:
    tags.add(f"without_{Path(page).name}")  # noqa: F821
    print(f"{page}: ../shared/data/{NEEDS[page]} is not there; the page is built without output")

autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False

# every reference has to lead somewhere; the names below are those of packages that are not documented here
nitpicky = True
nitpick_ignore_regex = [(r"py:.*", r"(statsmodels|patsy|numpy|scipy|pandas|sklearn)\..*")]
