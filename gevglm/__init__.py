"""gevglm: regression for binary outcomes when one class is rare."""

from gevglm import bias, calibration, datasets, families, links, losses, sampling
from gevglm._version import __version__
from gevglm.api import fit
from gevglm.comparison import compare, fit_links
from gevglm.inference.penalty_path import penalty_path
from gevglm.inference.separation import Separation, detect_separation
from gevglm.model import BinaryGLM
from gevglm.results import BinaryGLMResults, load

__all__ = [
    "BinaryGLM",
    "BinaryGLMResults",
    "Separation",
    "__version__",
    "bias",
    "calibration",
    "compare",
    "datasets",
    "detect_separation",
    "families",
    "fit",
    "fit_links",
    "links",
    "load",
    "losses",
    "penalty_path",
    "sampling",
]
