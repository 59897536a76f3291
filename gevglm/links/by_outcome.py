"""Links of rows that were sampled, or are weighted, by their outcome: the link of the population with its odds multiplied."""

from __future__ import annotations

import math
from numbers import Real

from gevglm.exceptions import InvalidOptionError
from gevglm.links.base import BinaryLink
from gevglm.links.odds import ScaledOdds, checked_share, odds


class ByOutcome(ScaledOdds):
    """Base of links whose inner link is that of the population."""

    @property
    def population(self) -> BinaryLink:
        return self.link.population


class Sampled(ByOutcome):
    r"""A link seen through sampling on the outcome: prior correction for any link.

    Fitting with it, to a sample with more (or fewer) events than the population, gives the coefficients of `link` in the population.

    Parameters
    ----------
    link : BinaryLink
        The link F of the population.
    prevalence : float
        Share of events :math:`\tau` in the population.
    sample_mean : float
        Share of events :math:`\bar y` in the sample.

    Notes
    -----
    .. math::

        P(y = 1 \mid x, \text{sampled}) = \frac{r F(v)}{1 - F(v) + r F(v)}, \qquad
        r = \frac{\bar y}{1 - \bar y} \Big/ \frac{\tau}{1 - \tau}.

    Equation :eq:`sampled-link` of the theory pages. With the logit this is the prior correction of King and Zeng (2001), a shift of the intercept
    by ln r.

    Examples
    --------
    >>> from gevglm.links import Probit, Sampled
    >>> link = Sampled(Probit(), prevalence=0.01, sample_mean=0.5)
    >>> link
    Sampled(Probit(), prevalence=0.01, sample_mean=0.5)
    >>> round(float(link.inverse(Probit()(0.01))), 12)
    0.5
    """

    def __init__(self, link: BinaryLink, prevalence: float, sample_mean: float):
        self.prevalence = checked_share("prevalence", prevalence)
        self.sample_mean = checked_share("sample_mean", sample_mean)
        super().__init__(link, odds(self.sample_mean) / odds(self.prevalence))

    @property
    def parameters(self) -> dict[str, float]:
        return {**self.link.parameters, "prevalence": self.prevalence, "sample_mean": self.sample_mean}

    def with_shape(self, shape: float) -> Sampled:
        return Sampled(self.link.with_shape(shape), self.prevalence, self.sample_mean)

    def _arguments(self) -> list[str]:
        return [f"prevalence={self.prevalence:g}", f"sample_mean={self.sample_mean:g}"]


class Weighted(ByOutcome):
    r"""A link seen through class weights: the coefficients of a weighted fit are those of `link` in the population.

    Parameters
    ----------
    link : BinaryLink
        The link F of the population.
    event_weight, other_weight : float
        The weights :math:`w_1` of events and :math:`w_0` of the others, by which the loss of the rows is multiplied.

    Notes
    -----
    Both losses of a link G are smallest, for rows with the probability p of an event and these weights, where
    :math:`G = w_1 p / (w_1 p + w_0 (1 - p))`: the odds of G are those of p times :math:`r = w_1/w_0`. With

    .. math:: G(v) = \frac{w_1 F(v)}{w_0 (1 - F(v)) + w_1 F(v)}

    that is where F = p, for every link. With the logit it is a shift of the intercept by ln r.

    Examples
    --------
    >>> from gevglm.links import Probit, Weighted
    >>> link = Weighted(Probit(), event_weight=9, other_weight=1)
    >>> link
    Weighted(Probit(), event_weight=9, other_weight=1)
    >>> round(float(link.inverse(Probit()(0.1))), 12)
    0.5
    """

    def __init__(self, link: BinaryLink, event_weight: float, other_weight: float):
        for weight in (event_weight, other_weight):
            if not (isinstance(weight, Real) and 0.0 < float(weight) < math.inf):
                raise InvalidOptionError(f"weights of the classes must be positive numbers, got {weight!r}.")
        self.event_weight, self.other_weight = float(event_weight), float(other_weight)
        super().__init__(link, self.event_weight / self.other_weight)

    @property
    def parameters(self) -> dict[str, float]:
        return {**self.link.parameters, "event_weight": self.event_weight, "other_weight": self.other_weight}

    def with_shape(self, shape: float) -> Weighted:
        return Weighted(self.link.with_shape(shape), self.event_weight, self.other_weight)

    def _arguments(self) -> list[str]:
        return [f"event_weight={self.event_weight:g}", f"other_weight={self.other_weight:g}"]
