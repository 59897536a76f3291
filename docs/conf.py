"""Sphinx settings."""

project = "gevglm"
extensions = ["myst_parser"]
html_theme = "pydata_sphinx_theme"
exclude_patterns = ["_build"]
