"""From the words of a user to how the rows came into the data, checked against the data."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit, logit

from gevglm.exceptions import (
    GevglmWarning,
    IncompatibleOptionsError,
    InvalidDataError,
    InvalidOptionError,
    unknown_option,
    warn,
)
from gevglm.links import Sampled
from gevglm.links.odds import checked_share
from gevglm.losses import Loss
from gevglm.sampling.schemes import (
    RANDOM,
    ClassWeighting,
    PriorCorrection,
    Sampling,
    SurveyDesign,
    SurveyWeighting,
    Weighting,
)

if TYPE_CHECKING:
    from gevglm.data.design import Design

METHODS = ("prior", "weight")
FAR = 5.0  # standard errors that the sample may fall short of the prevalence by chance


def sampling_of(prevalence: Any, method: Any, class_weight: Any, design: Design, loss: Loss) -> Sampling:
    """Turn the words of a user into a sampling, or say why they do not fit the data; `loss` is that of the population."""
    if method not in METHODS:
        raise unknown_option("sampling", method, METHODS)
    wrapped = loss.link.population is not loss.link
    if design.population is not None:
        _refuse_beside_sampling_weights(
            {"prevalence": prevalence, "class_weight": class_weight, "link": wrapped or None}
        )
        scheme = SurveyWeighting if design.sample is None else SurveyDesign
        return scheme(design.weight_names.get("sampling_weights", "as given"), design.population)
    if prevalence is None:
        if method == "weight":
            raise IncompatibleOptionsError(
                "sampling='weight' needs prevalence=, the share of events in the population."
            )
        if class_weight is not None and not wrapped:
            return _class_weighting(class_weight, design)
        if class_weight is None:
            drawn = isinstance(loss.link, Sampled)
            return PriorCorrection(loss.link.prevalence, loss.link.sample_mean) if drawn else RANDOM
    if class_weight is not None:
        raise IncompatibleOptionsError(
            "prevalence and class_weight both weight the classes; give prevalence for a sample that was drawn by the outcome, "
            "class_weight for a random sample."
        )
    _refuse_weights_and_counts(design, "prevalence", whole_frequencies=True)
    if wrapped:
        raise IncompatibleOptionsError(
            f"prevalence={prevalence!r} and {loss.link!r} both describe the sampling; leave one out."
        )
    tau, bounds = _checked_prevalence(prevalence)
    mean, n = _sample_mean(design)
    _warn_of_missing_events(tau if bounds is None else bounds[0], mean, n)
    return (PriorCorrection if method == "prior" else Weighting)(tau, mean, bounds)


def _refuse_beside_sampling_weights(options: Mapping[str, Any]) -> None:
    for option, value in options.items():
        if value is not None:
            raise IncompatibleOptionsError(
                f"sampling_weights and {option} both weight the rows to a population; give one of them."
            )


def _checked_prevalence(prevalence: Any) -> tuple[float, tuple[float, float] | None]:
    if isinstance(prevalence, Real):
        return checked_share("prevalence", prevalence), None
    by_group = "; shares by group are not combined here" if isinstance(prevalence, Mapping) else ""
    ends: Any = () if by_group else prevalence
    try:
        low, high = ends
    except (TypeError, ValueError):
        raise InvalidOptionError(
            f"prevalence={prevalence!r} must be the share of events in the population, a number between 0 and 1, or a range (low, high)"
            f"{by_group}."
        ) from None
    low, high = checked_share("the lower prevalence", low), checked_share("the upper prevalence", high)
    if low > high:
        raise InvalidOptionError(
            f"prevalence=({low:g}, {high:g}) is upside down; give (low, high), ({high:g}, {low:g})."
        )
    if low == high:
        return low, None
    return float(expit(0.5 * (logit(low) + logit(high)))), (low, high)


def _sample_mean(design: Design) -> tuple[float, float]:
    return design.n_events / design.n_total, design.n_total


def _warn_of_missing_events(prevalence: float, mean: float, n: float) -> None:
    if prevalence - mean > FAR * np.sqrt(mean * (1.0 - mean) / n):
        warn(
            f"the sample has fewer events ({100 * mean:.3g} %) than prevalence={prevalence:g} says the population has; prevalence is the "
            "share of events in the population, and samples drawn by the outcome usually have more.",
            GevglmWarning,
        )


def _class_weighting(class_weight: Any, design: Design) -> ClassWeighting:
    _refuse_weights_and_counts(design, "class_weight", whole_frequencies=False)
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            raise unknown_option("class_weight", class_weight, ("balanced",))
        mean, _ = _sample_mean(design)
        return ClassWeighting(0.5 / mean, 0.5 / (1.0 - mean))
    if not isinstance(class_weight, Mapping):
        raise InvalidOptionError(f"class_weight={class_weight!r} must be None, 'balanced' or a dict {{0: w0, 1: w1}}.")
    if set(class_weight) != {0, 1}:
        raise InvalidOptionError(
            f"class_weight={dict(class_weight)!r} must have a weight for each of the classes 0 and 1; 1 is the event (here {design.event!r})."
        )
    for level, weight in class_weight.items():
        number = isinstance(weight, Real) and not isinstance(weight, (bool, np.bool_))
        if not (number and np.isfinite(weight) and weight > 0):
            raise InvalidOptionError(f"class_weight[{level!r}]={weight!r} must be a positive number.")
    return ClassWeighting(float(class_weight[1]), float(class_weight[0]))


def _refuse_weights_and_counts(design: Design, option: str, whole_frequencies: bool) -> None:
    if design.trials is not None:
        raise IncompatibleOptionsError(
            f"{option} goes with one outcome per row, not with counts or shares; give rows of 0 and 1 with freq_weights instead."
        )
    if not whole_frequencies:
        return
    if design.var is not None:
        raise IncompatibleOptionsError(
            "prevalence and var_weights both weight the rows; leave var_weights out, or leave prevalence out and give weights "
            "that already bring the sample to the population as sampling_weights."
        )
    if design.n_non_integer:
        raise InvalidDataError(
            f"prevalence goes with rows that count as they are; {design.n_non_integer} freq_weights are not whole numbers and look like sampling weights."
        )
