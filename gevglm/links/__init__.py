"""Links: the inverses of distribution functions, usable here and in statsmodels."""

from gevglm.links.base import BinaryLink, Point
from gevglm.links.by_outcome import Sampled, Weighted
from gevglm.links.gev import GEV, CLogLog, GEVc, LogLog
from gevglm.links.odds import ScaledOdds
from gevglm.links.risk import Identity, Log, LogC
from gevglm.links.standard import Cauchit, Logit, Probit

__all__ = [
    "GEV",
    "BinaryLink",
    "CLogLog",
    "Cauchit",
    "GEVc",
    "Identity",
    "Log",
    "LogC",
    "LogLog",
    "Logit",
    "Point",
    "Probit",
    "Sampled",
    "ScaledOdds",
    "Weighted",
]
