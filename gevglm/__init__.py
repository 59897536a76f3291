"""gevglm: regression for binary outcomes when one class is rare."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gevglm import bias, calibration, datasets, families, links, losses, plots, sampling, sklearn, weighting
    from gevglm.api import fit
    from gevglm.comparison import compare, fit_links
    from gevglm.data import sources
    from gevglm.inference.penalty_path import penalty_path
    from gevglm.inference.separation import Separation, detect_separation
    from gevglm.model import BinaryGLM
    from gevglm.results import BinaryGLMResults, load

__version__ = "0.1.0"

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
    "plots",
    "sampling",
    "sklearn",
    "sources",
    "weighting",
]

_HOMES = {
    "BinaryGLM": "gevglm.model",
    "BinaryGLMResults": "gevglm.results",
    "Separation": "gevglm.inference.separation",
    "compare": "gevglm.comparison",
    "detect_separation": "gevglm.inference.separation",
    "fit": "gevglm.api",
    "fit_links": "gevglm.comparison",
    "load": "gevglm.results",
    "penalty_path": "gevglm.inference.penalty_path",
}


def __getattr__(name: str) -> Any:
    """Load what is asked for when it is first asked for."""
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    elif name == "sources":
        value = import_module("gevglm.data.sources")
    elif name in __all__ or name == "exceptions":
        value = import_module(f"{__name__}.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
