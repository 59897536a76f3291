"""Averaging over links: predicted risks without a choice between them."""

from gevglm import modules_of
from gevglm.averaging.average import average_links
from gevglm.averaging.averaged import AveragedLinks

__all__ = ["AveragedLinks", "average_links"]

__getattr__ = modules_of(__name__)
