"""Risks, contrasts, curves and margins."""

from gevglm import modules_of

__getattr__ = modules_of(__name__)
