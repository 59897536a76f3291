"""Many fits at once: many outcomes or weightings of one design, and one test per column."""

from gevglm import modules_of

__getattr__ = modules_of(__name__)
