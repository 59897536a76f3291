"""Panel data: constants of units (and of periods), estimated exactly and not shown."""

from gevglm import modules_of

__getattr__ = modules_of(__name__)
