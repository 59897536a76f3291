"""Sphinx settings: pages are Markdown, and every code cell is executed by the build."""

import os
import re

from docutils import nodes

import gevglm
from gevglm.exceptions import MissingDatasetError

os.environ["TQDM_DISABLE"] = "1"  # no progress bars in executed pages

project = "gevglm"
author = "the gevglm developers"
release = gevglm.__version__
extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",  # formulas are read without a network
    "sphinx_design",
]
templates_path = ["_templates"]
exclude_patterns = ["_build"]

html_theme = "pydata_sphinx_theme"
html_title = "gevglm"
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "show_prev_next": True,
    "header_links_before_dropdown": 7,
    "navbar_align": "left",
    "secondary_sidebar_items": {"**": ["page-toc"], "index": [], "api": []},
}
# the left menu: the pages of a section; those of the reference are too many, and its headings stand for them
html_sidebars = {"index": [], "api": ["api-sections"], "generated/*": ["api-sections"]}
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

# pages about data that no package carries are shown without output, and say so, where the data cannot be had
NEEDS = {
    "gallery/civil_war": "civil_war_onset",
    "gallery/conflict": "mid",
    "gallery/mammography": "mammography",
    "gallery/national": "nhanes2",
    "gallery/twins": "prt",
}
WITHOUT = "The data of this page, `{name}`, could not be had when it was built: it is shown without output."


def _at_hand(name):
    try:
        gevglm.datasets.load(name)
    except MissingDatasetError as missing:
        print(missing)
        return False
    return True


ABSENT = {page: WITHOUT.format(name=name) for page, name in NEEDS.items() if not _at_hand(name)}
nb_execution_excludepatterns = [f"{page}.md" for page in ABSENT]


def _say_so(app, page, source):
    """Put a note below the title of a page without output."""
    if page in ABSENT:
        source[0] = re.sub(r"^(# .*)$", rf"\1\n\n```{{note}}\n{ABSENT[page]}\n```", source[0], count=1, flags=re.M)


def _sections_of_the_reference(app, page, template, context, doctree):
    """Give the left menu of the reference its headings and their anchors."""
    sections = app.env.tocs["api"][0][1]  # below the title of the page
    links = [next(section.findall(nodes.reference)) for section in sections]
    context["api_sections"] = [(link.astext(), link["anchorname"]) for link in links]


def _describe_pictures(app, doctree):
    """Give pictures that cells draw a text for those who do not see them: the one of the cell, or what drew them."""
    for cell in doctree.findall(lambda node: "cell" in getattr(node, "attributes", {}).get("classes", [])):
        code = next((block.astext() for block in cell.findall(nodes.literal_block)), "")
        for image in cell.findall(nodes.image):
            drawn = code.strip().rpartition("\n")[2].removesuffix(".figure")
            image.setdefault("alt", f"Picture drawn by the code above: {drawn}")


def setup(app):
    app.connect("doctree-read", _describe_pictures)
    app.connect("source-read", _say_so)
    app.connect("html-page-context", _sections_of_the_reference)


autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False

# every reference has to lead somewhere; the names below are those of packages that are not documented here
nitpicky = True
nitpick_ignore_regex = [(r"py:.*", r"(statsmodels|patsy|numpy|scipy|pandas|sklearn)\..*")]
