"""The solver, on sums over rows."""

from gevglm import modules_of

__getattr__ = modules_of(__name__)
