r"""How rows came into the data: at random, by their outcome, or weighted by it.

A :class:`Sampling` says what that changes: the loss that is minimised, the weights of the rows, the link that turns a linear predictor into
a probability in the population, and what the summary has to say. With the share of events :math:`\tau` in the population and
:math:`\bar y` in the sample, and F the link:

===============  ==========================================  ===========================  ==============================
sampling         fitted probability                          weight of a row              probability in the population
===============  ==========================================  ===========================  ==============================
random           F                                           1                            F
prior            odds of F times r, :class:`links.Sampled`   1                            F
weight           F                                           tau/ybar for events,         F
                                                             (1-tau)/(1-ybar) else
class weights    F                                           w1 for events, w0 else       odds of F times w0/w1
===============  ==========================================  ===========================  ==============================
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from gevglm.engine import Block, Engine, MappedEngine
from gevglm.engine.base import product
from gevglm.exceptions import (
    GevglmWarning,
    IncompatibleOptionsError,
    InvalidDataError,
    InvalidOptionError,
    unknown_option,
    warn,
)
from gevglm.links import BinaryLink, Sampled, ScaledOdds
from gevglm.links.odds import checked_share
from gevglm.losses import Loss

if TYPE_CHECKING:
    from gevglm.data.design import Design

METHODS = ("prior", "weight")
FAR = 5.0  # standard errors that the sample may fall short of the prevalence by chance


class Sampling:
    """Rows that are a random sample: nothing to correct."""

    title = "random"
    default_covariance = "nonrobust"
    reweights = False
    with_likelihood = ""  # what to use instead, where there is none

    @property
    def at_bounds(self) -> tuple[OutcomeSampling, ...]:
        """The same sampling at the ends of the range in which the prevalence is known to lie."""
        return ()

    @property
    def outcome_weights(self) -> tuple[float, float] | None:
        """The weights of events and of the others that make the sample represent the population; None for ones."""
        return None

    def applied_to(self, design: Design, loss: Loss) -> tuple[Design, Loss]:
        """Return the design with its weights and the loss to minimise, for those of the population."""
        return design.reweighted(self.weights), self.loss(loss)

    def loss(self, loss: Loss) -> Loss:
        """Return the loss to minimise, for the loss of the population."""
        return loss

    def weights(self, y: NDArray) -> NDArray | None:
        """Return the weight of each row in the fit; None for ones."""
        return None

    def population_link(self, link: BinaryLink) -> BinaryLink:
        """Return the link of the population, for the fitted link."""
        return link.population

    def population_weights(self, y: NDArray) -> NDArray | None:
        """Return weights that make the rows represent the population; None for ones."""
        return None

    def population_engine(self, engine: Engine) -> Engine | None:
        """Return rows that represent the population, for scores of its probabilities; None if rows do so unchanged."""
        weights = self.population_weights(np.array([0.0, 1.0]))
        if weights is None and not self.reweights:
            return None

        def represent(block: Block) -> Block:
            size = None if weights is None else np.where(block.y > 0, weights[1], weights[0])
            return Block(block.start, block.X, block.y, freq=product(size, block.freq), offset=block.offset)

        return MappedEngine(engine, represent, engine.n_cols)

    def refuse_likelihood(self, what: str) -> None:
        """Refuse what is defined by a likelihood, where rows are weighted by their outcome."""
        if self.reweights:
            raise InvalidOptionError(
                f"{what} is not defined if rows are weighted by their outcome: the weighted likelihood is not a likelihood. Use Wald "
                f"tests and intervals, or {self.with_likelihood}."
            )

    def facts(self) -> list[tuple[str, list[str]]]:
        """Return lines for the top of the summary."""
        return []

    def notes(self) -> list[str]:
        """Return notes for the end of the summary."""
        return []


@dataclass(frozen=True)
class OutcomeSampling(Sampling):
    """Rows sampled by their outcome.

    Attributes
    ----------
    prevalence : float
        Share of events in the population.
    sample_mean : float
        Share of events in the sample.
    bounds : tuple of float or None
        The range in which the prevalence is known to lie; `prevalence` is then its middle, in log odds.
    """

    prevalence: float
    sample_mean: float
    bounds: tuple[float, float] | None = None

    @property
    def event_weight(self) -> float:
        """The weight of an event that makes the sample represent the population."""
        return self.prevalence / self.sample_mean

    @property
    def other_weight(self) -> float:
        """That of a non-event."""
        return (1.0 - self.prevalence) / (1.0 - self.sample_mean)

    @property
    def outcome_weights(self) -> tuple[float, float]:
        return self.event_weight, self.other_weight

    @property
    def at_bounds(self) -> tuple[OutcomeSampling, ...]:
        return tuple(replace(self, prevalence=bound, bounds=None) for bound in self.bounds or ())

    def population_weights(self, y: NDArray) -> NDArray:
        return np.where(y > 0, self.event_weight, self.other_weight)

    def facts(self) -> list[tuple[str, list[str]]]:
        return [("Sampling:", [self.title]), ("Prevalence:", [f"{self.prevalence:.4g}"])]

    def notes(self) -> list[str]:
        where = f"Predictions are probabilities in the population, where {100 * self.prevalence:.3g} % are events"
        notes = [f"{where} (sample: {100 * self.sample_mean:.3g} %); {self._how()}"]
        if self.bounds is not None:
            low, high = (f"{end:.4g}" for end in self.bounds)
            notes.append(
                f"The prevalence is known to lie between {low} and {high}: the coefficients are those in the middle (in log odds), "
                "risk_bounds() gives the range of predicted risks."
            )
        notes.append("Log loss and Brier score are those of the predictions, weighted to the population.")
        return notes

    def _how(self) -> str:
        raise NotImplementedError


@dataclass(frozen=True)
class PriorCorrection(OutcomeSampling):
    r"""Rows sampled by their outcome, fitted by the likelihood of the sample: the sampled link.

    Notes
    -----
    Standard errors take the number of events in the sample for random, as King and Zeng's do. If it is fixed by design and the prevalence
    is known, that of the constant is too large (for the logit its square by :math:`1/n_1 + 1/n_0`); those of slopes are right.
    """

    title = "prior correction"

    def loss(self, loss: Loss) -> Loss:
        if loss.link.population is not loss.link:  # the user wrapped it
            return loss
        return type(loss)(Sampled(loss.link, self.prevalence, self.sample_mean))

    def _how(self) -> str:
        return "the coefficients are those of the population. which='fitted' predicts probabilities in the sample."


@dataclass(frozen=True)
class Weighting(OutcomeSampling):
    """Rows sampled by their outcome, weighted back to the population."""

    title = "weighting"
    default_covariance = "HC0"
    reweights = True
    with_likelihood = "sampling='prior', whose likelihood is one"

    def weights(self, y: NDArray) -> NDArray:
        return self.population_weights(y)

    def _how(self) -> str:
        weights = f"events weigh {self.event_weight:.4g}, other rows {self.other_weight:.4g}"
        return f"{weights}, for which robust standard errors (HC0) are the default."


@dataclass(frozen=True)
class ClassWeighting(Sampling):
    """A random sample whose fit gives classes more or less weight than they have."""

    event_weight: float
    other_weight: float
    title = "class weights"
    default_covariance = "HC0"
    reweights = True
    with_likelihood = "a fit without class_weight"

    @property
    def odds_factor(self) -> float:
        """What turns fitted odds into odds in the population."""
        return self.other_weight / self.event_weight

    def weights(self, y: NDArray) -> NDArray:
        return np.where(y > 0, self.event_weight, self.other_weight)

    def population_link(self, link: BinaryLink) -> BinaryLink:
        return ScaledOdds(link.population, self.odds_factor)

    def facts(self) -> list[tuple[str, list[str]]]:
        weights = f"{self.other_weight:.4g}, {self.event_weight:.4g}"
        return [("Class weights:", [weights]), ("Odds times:", [f"{self.odds_factor:.4g}"])]

    def notes(self) -> list[str]:
        return [
            "The coefficients are those of the weighted classes. Predictions are probabilities in the population: fitted odds times "
            f"{self.odds_factor:.4g}; which='fitted' predicts weighted ones. Robust standard errors (HC0) are the default.",
            "Log loss and Brier score are those of the predictions.",
        ]


class AsFitted(Sampling):
    """Rows seen as they were fitted: the population is that of the link."""

    def population_link(self, link: BinaryLink) -> BinaryLink:
        return link


RANDOM = Sampling()
AS_FITTED = AsFitted()


def sampling_of(prevalence: Any, method: Any, class_weight: Any, design: Design, loss: Loss) -> Sampling:
    """Turn the words of a user into a sampling, or say why they do not fit the data; `loss` is that of the population."""
    if method not in METHODS:
        raise unknown_option("sampling", method, METHODS)
    wrapped = loss.link.population is not loss.link
    if prevalence is None:
        if method == "weight":
            raise IncompatibleOptionsError(
                "sampling='weight' needs prevalence=, the share of events in the population."
            )
        if class_weight is not None and not wrapped:
            return _class_weighting(class_weight, design)
        if class_weight is None:
            return PriorCorrection(loss.link.prevalence, loss.link.sample_mean) if wrapped else RANDOM
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
            "that already bring the sample to the population, with cov_type='HC0'."
        )
    if design.n_non_integer:
        raise InvalidDataError(
            f"prevalence goes with rows that count as they are; {design.n_non_integer} freq_weights are not whole numbers and look like sampling weights."
        )
