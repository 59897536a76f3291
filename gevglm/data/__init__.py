"""From a formula and a table to a design."""

from gevglm import modules_of

__getattr__ = modules_of(__name__)
