"""gevglm: regression for binary outcomes when one class is rare."""

from gevglm import calibration, datasets, families, links, losses
from gevglm._version import __version__
from gevglm.api import fit
from gevglm.model import BinaryGLM
from gevglm.results import BinaryGLMResults, load

__all__ = [
    "BinaryGLM",
    "BinaryGLMResults",
    "__version__",
    "calibration",
    "datasets",
    "families",
    "fit",
    "links",
    "load",
    "losses",
]
