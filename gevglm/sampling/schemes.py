r"""How rows came into the data: at random, by their outcome, or weighted by it or to a population.

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
class weights    odds of F times w1/w0,                      w1 for events, w0 else       F
                 :class:`links.Weighted`
sampling         F                                           as given                     F
weights
===============  ==========================================  ===========================  ==============================
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gevglm.exceptions import (
    IncompatibleOptionsError,
    InvalidOptionError,
)
from gevglm.links import BinaryLink, Sampled, Weighted
from gevglm.losses import Loss

if TYPE_CHECKING:
    from gevglm.data.design import Design


class Sampling:
    """Rows that are a random sample: nothing to correct."""

    title = "random"
    default_covariance = "nonrobust"
    reweights = False
    weighted_by = ""  # what rows are weighted by in the fit, where what is maximised is no likelihood
    with_likelihood = ""  # what to use instead, where there is none
    population: float | None = None  # its size, where it is known
    covariates_sampled = False  # whether rows averaged over are a sample whose randomness is in standard errors

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

    def refuse_likelihood(self, what: str) -> None:
        """Refuse what is defined by a likelihood, where rows are weighted by their outcome or to a population."""
        if self.reweights:
            raise InvalidOptionError(
                f"{what} is not defined if rows are weighted by {self.weighted_by}: the weighted likelihood is not a likelihood. Use Wald "
                f"tests and intervals, or {self.with_likelihood}."
            )

    def remark(self) -> str:
        """Return what risks at one prevalence have to say where it is known as a range; nothing elsewhere."""
        return ""

    def refuse_covariance(self, assumes_model: bool) -> None:
        """Refuse a covariance that the sampling does not allow; `assumes_model` if it is the inverse of the information."""

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

    def remark(self) -> str:
        if self.bounds is None:
            return ""
        low, high = self.bounds
        return (
            f"at a prevalence of {self.prevalence:.4g}, the middle (in log odds) of {low:.4g} to {high:.4g}; risk_bounds() and risk_change() "
            "have the range"
        )

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
    weighted_by = "their outcome"
    with_likelihood = "sampling='prior', whose likelihood is one"

    def weights(self, y: NDArray) -> NDArray:
        return self.population_weights(y)

    def _how(self) -> str:
        weights = f"events weigh {self.event_weight:.4g}, other rows {self.other_weight:.4g}"
        return f"{weights}, for which robust standard errors (HC0) are the default."


@dataclass(frozen=True)
class ClassWeighting(Sampling):
    """A random sample whose fit gives classes more or less weight than they have: the weighted link."""

    event_weight: float
    other_weight: float
    title = "class weights"
    default_covariance = "HC0"
    reweights = True
    weighted_by = "their outcome"
    with_likelihood = "a fit without class_weight"

    def loss(self, loss: Loss) -> Loss:
        return type(loss)(Weighted(loss.link, self.event_weight, self.other_weight))

    def weights(self, y: NDArray) -> NDArray:
        return np.where(y > 0, self.event_weight, self.other_weight)

    def facts(self) -> list[tuple[str, list[str]]]:
        weights = f"{self.other_weight:.4g}, {self.event_weight:.4g}"
        return [
            ("Class weights:", [weights]),
            ("Weighted odds:", [f"{self.event_weight / self.other_weight:.4g} times"]),
        ]

    def notes(self) -> list[str]:
        return [
            "Coefficients and predictions are those of the population; which='fitted' predicts probabilities in the weighted classes, "
            f"whose odds are {self.event_weight / self.other_weight:.4g} times as large. Robust standard errors (HC0) are the default.",
            "Log loss and Brier score are those of the predictions.",
        ]


@dataclass(frozen=True)
class SurveyWeighting(Sampling):
    """Rows that stand for members of a population, by sampling weights."""

    name: str  # of the column of weights
    population: float  # the sum of the weights
    title = "sampling weights"
    default_covariance = "linearized"
    reweights = True
    weighted_by = "sampling weights"
    with_likelihood = "a fit without sampling_weights"
    covariates_sampled = True

    def refuse_covariance(self, assumes_model: bool) -> None:
        if assumes_model:
            raise IncompatibleOptionsError(
                "cov_type='nonrobust' takes sampling_weights for numbers of observations, so that standard errors shrink as the weights "
                "grow; leave cov_type out for linearised ones, or give 'cluster'."
            )

    def facts(self) -> list[tuple[str, list[str]]]:
        return [("Sampling weights:", [self.name]), ("Population:", [f"{self.population:,.0f}"])]

    def notes(self) -> list[str]:
        return [
            f"Sampling weights ({self.name}): the rows stand for a population of {self.population:,.0f}, over which risks, effects, scores "
            "and calibration are averaged. The weighted likelihood is not a likelihood: tests and intervals are Wald's."
        ]


@dataclass(frozen=True)
class SurveyDesign(SurveyWeighting):
    """Rows of a sample whose strata and units, or replicate weights, are known."""

    title = "survey design"
    default_covariance = "survey"
    with_likelihood = "a fit without design"


class AsFitted(Sampling):
    """Rows seen as they were fitted: the population is that of the link."""

    def population_link(self, link: BinaryLink) -> BinaryLink:
        return link


RANDOM = Sampling()
AS_FITTED = AsFitted()
