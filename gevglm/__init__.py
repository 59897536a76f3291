"""gevglm: regression for binary outcomes when one class is rare."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gevglm import (
        bias,
        calibration,
        datasets,
        families,
        links,
        losses,
        planning,
        plots,
        sampling,
        sklearn,
        weighting,
    )
    from gevglm.api import fit
    from gevglm.averaging import AveragedLinks, average_links
    from gevglm.batches.many import fit_many
    from gevglm.batches.scan import scan
    from gevglm.comparison import compare, fit_links
    from gevglm.conditional.results import ConditionalResults
    from gevglm.data import sources
    from gevglm.data.survey import Survey, survey
    from gevglm.inference.penalty_path import penalty_path
    from gevglm.inference.separation import Separation, detect_separation
    from gevglm.model import BinaryGLM
    from gevglm.model.published import from_coefficients
    from gevglm.panel.results import PanelResults
    from gevglm.results import BinaryGLMResults, load
    from gevglm.results.term_tests import anova

__version__ = "0.1.0"

# loaded when first asked for
_HOMES = {
    "AveragedLinks": "averaging",
    "BinaryGLM": "model",
    "BinaryGLMResults": "results",
    "ConditionalResults": "conditional.results",
    "PanelResults": "panel.results",
    "Separation": "inference.separation",
    "Survey": "data.survey",
    "anova": "results.term_tests",
    "average_links": "averaging",
    "compare": "comparison",
    "detect_separation": "inference.separation",
    "fit": "api",
    "fit_links": "comparison",
    "fit_many": "batches.many",
    "from_coefficients": "model.published",
    "load": "results",
    "penalty_path": "inference.penalty_path",
    "scan": "batches.scan",
    "survey": "data.survey",
}
_MODULES = {
    name: name
    for name in "bias calibration datasets families links losses planning plots sampling sklearn weighting".split()
}
_MODULES |= {"sources": "data.sources", "exceptions": "exceptions"}

__all__ = sorted([*_HOMES, *_MODULES, "__version__"])


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        globals()[name] = getattr(import_module(f"gevglm.{_HOMES[name]}"), name)
    elif name in _MODULES:
        globals()[name] = import_module(f"gevglm.{_MODULES[name]}")
    else:
        return modules_of(__name__)(name)
    return globals()[name]


def __dir__() -> list[str]:
    return __all__


def modules_of(package: str) -> Callable[[str], ModuleType]:
    """Return what a package needs as its ``__getattr__`` so that each of its modules is an attribute before anybody has imported it."""

    def load(name: str) -> ModuleType:
        module = f"{package}.{name}"
        if not name.startswith("_"):
            try:
                return import_module(module)
            except ModuleNotFoundError as error:
                if error.name != module:
                    raise
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return load
