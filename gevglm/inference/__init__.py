"""Profiles, tests, separation, shapes and penalties: what is asked after or around a fit."""

from gevglm import modules_of

__getattr__ = modules_of(__name__)
