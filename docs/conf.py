"""Sphinx settings: pages are Markdown, and every code cell is executed by the build."""

from gevglm import __version__

project = "gevglm"
author = "the gevglm developers"
release = __version__
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.mathjax", "numpydoc"]
templates_path = ["_templates"]
exclude_patterns = ["_build"]

html_theme = "pydata_sphinx_theme"
html_title = "gevglm"
html_theme_options = {"show_toc_level": 2, "navigation_with_keys": False}
html_sidebars = {"changelog": [], "contributing": []}

myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence"]
myst_heading_anchors = 3
math_eqref_format = "({number})"

nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 600
nb_merge_streams = True

autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
