"""Tables in pieces: what holds the data of a model that are never in memory at once."""

from gevglm.sources.base import Source
from gevglm.sources.find import as_source
from gevglm.sources.wide import wide_source

__all__ = ["Source", "as_source", "wide_source"]
