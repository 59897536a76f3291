"""Tables in pieces: what holds the data of a model that are never in memory at once."""

from gevglm.data.sources.base import Source
from gevglm.data.sources.find import as_source, wide_source

__all__ = ["Source", "as_source", "wide_source"]
