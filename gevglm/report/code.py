"""The code that makes the same fit again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gevglm.links import GEV, GEVc
from gevglm.sampling.schemes import ClassWeighting, OutcomeSampling, Weighting

if TYPE_CHECKING:
    from gevglm.results import BinaryGLMResults

WORDS = {GEV: "gev", GEVc: "gevc"}


def code_of(results: BinaryGLMResults) -> str:
    """Return the call of :func:`gevglm.fit` behind results; what was given as an array is a name for the reader to fill in."""
    design, model = results.model.design, results.model
    options = _link(results) | _estimation(results)
    for role, name, array in (
        ("offset", design.offset_name, design.array_offset),
        ("exposure", design.exposure_name, design.array_exposure),
    ):
        if name is not None or array:
            options[role] = repr(name) if name is not None else f"{role}  # an array of the length of the data"
    if model._has_freq_weights and design.trials is None:
        options["freq_weights"] = "freq_weights  # as given"
    if model._has_var_weights and not model.sampling.reweights:
        options["var_weights"] = "var_weights  # as given"
    options |= _sampling(results) | _covariance(results)
    if design.trials is None and results.event not in (1, True, None):
        options["event"] = repr(results.event)
    first = f"{model.formula!r}, data" if design.recipe is not None else "y, X"
    where = "the table" if design.recipe is not None else "the outcome and the design matrix"
    return f"import gevglm\n\n# {where} as it was fitted\n{call(first, options)}\nprint(results.summary())\nresults.report('report.html')"


def call(first: str, options: Mapping[str, str]) -> str:
    """Return the call with its options, one a line."""
    lines = []
    for name, text in options.items():
        value, _, remark = text.partition("  # ")
        lines.append(f"    {name}={value}," + (f"  # {remark}" if remark else ""))
    return "results = gevglm.fit(\n    " + "\n".join([f"{first},", *lines]) + "\n)"


def _link(results: BinaryGLMResults) -> dict[str, str]:
    link = results.link.population
    words = {"link": repr(WORDS.get(type(link), type(link).__name__.lower())), "loss": repr(results.loss.name)}
    if results.xi is not None:
        by_likelihood, searched = results._shape is not None, results.search is not None
        chosen = searched and results.search.table["xi"].nunique() > 1
        words["xi"] = "'ml'" if by_likelihood else "'cv'" if chosen else repr(float(results.xi))
    return words


def _estimation(results: BinaryGLMResults) -> dict[str, str]:
    words = {}
    if results.bias is not None:
        words["bias"] = repr(results.bias.word)
    if results.alpha:
        words["alpha"] = repr(float(results.alpha))
    return words


def _sampling(results: BinaryGLMResults) -> dict[str, str]:
    sampling = results.model.sampling
    if isinstance(sampling, ClassWeighting):
        return {"class_weight": repr({0: sampling.other_weight, 1: sampling.event_weight})}
    if isinstance(sampling, OutcomeSampling):
        words = {"prevalence": repr(sampling.bounds or sampling.prevalence)}
        return words | ({"sampling": "'weight'"} if isinstance(sampling, Weighting) else {})
    return {}


def _covariance(results: BinaryGLMResults) -> dict[str, str]:
    word, options = results._cov_words
    if word in (None, "nonrobust"):
        return {}
    words = {"cov_type": repr(word)}
    if options:
        words["cov_kwds"] = "{" + ", ".join(f"{key!r}: {_shown(value)}" for key, value in options.items()) + "}"
    return words


def _shown(value: Any) -> str:
    simple = isinstance(value, (str, int, float)) or (
        isinstance(value, (list, tuple)) and all(isinstance(v, str) for v in value)
    )
    return repr(value) if simple else "groups"
