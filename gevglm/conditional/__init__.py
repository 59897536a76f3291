"""Conditional likelihood of matched sets, whose constants it does not need."""

from gevglm import modules_of

__getattr__ = modules_of(__name__)
