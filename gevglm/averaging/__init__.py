"""Averaging over links: predicted risks without a choice between them."""

from gevglm.averaging.average import average_links
from gevglm.averaging.averaged import AveragedLinks

__all__ = ["AveragedLinks", "average_links"]
