"""The one list of links every property runs for, each beside its distribution function in mpmath.

A new link is tested by adding a line to ``CASES``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import mpmath as mp
import numpy as np
import pytest
from hypothesis import strategies as st

from gevglm.links import (
    GEV,
    BinaryLink,
    Cauchit,
    CLogLog,
    GEVc,
    Identity,
    Log,
    LogC,
    Logit,
    LogLog,
    Probit,
    Sampled,
    Weighted,
)

DIGITS = 40
EPS = float(np.finfo(float).eps)
FIELDS = ("cdf", "sf", "pdf", "dpdf", "dlogpdf", "d2logpdf", "log_cdf", "log_sf", "reverse_hazard", "hazard")
SHAPES = (-1.5, -1.0, -0.2567, -1e-9, 0.0, 1e-9, 0.3, 1.0, 1.5)


@dataclass(frozen=True)
class Case:
    """A link and its two tails, ``tails(v) = (F, 1 - F)``, for mpf v inside the support."""

    link: BinaryLink
    tails: Callable

    def exact(self, v: float, order: int):
        """The tails F and 1 - F at v, and the derivatives of F up to an order, taken from the smaller tail."""
        with mp.workdps(DIGITS):
            v = mp.mpf(v)
            lower, upper = self.tails(v)
            tail, sign = (0, 1) if lower < upper else (1, -1)
            unit = max(1, abs(v))
            _, *derivatives = mp.diffs(lambda s: self.tails(v + s * unit)[tail], 0, order)
            return lower, upper, *(sign * d / unit ** (j + 1) for j, d in enumerate(derivatives))


def gev_tails(xi: float):
    def tails(v):
        t = (1 + xi * v) ** (-1 / mp.mpf(xi)) if xi else mp.exp(-v)
        return mp.exp(-t), -mp.expm1(-t)

    return tails


def mirrored(tails):
    return lambda v: tails(-v)[::-1]


def logistic_tails(v):
    return 1 / (1 + mp.exp(-v)), 1 / (1 + mp.exp(v))


def normal_tails(v):
    return mp.erfc(-v / mp.sqrt(2)) / 2, mp.erfc(v / mp.sqrt(2)) / 2


def cauchy_tails(v):
    return mp.atan2(1, -v) / mp.pi, mp.atan2(1, v) / mp.pi


def exponential_tails(v):
    return mp.exp(v), -mp.expm1(v)


def uniform_tails(v):
    return v, 1 - v


def sampled(case: Case, prevalence: float, sample_mean: float) -> Case:
    """The case seen through sampling on the outcome."""
    odds = [mp.mpf(share) / (1 - mp.mpf(share)) for share in (sample_mean, prevalence)]
    return Case(Sampled(case.link, prevalence, sample_mean), multiplied(case.tails, odds[0] / odds[1]))


def weighted(case: Case, event_weight: float, other_weight: float) -> Case:
    """The case seen through class weights."""
    factor = mp.mpf(event_weight) / mp.mpf(other_weight)
    return Case(Weighted(case.link, event_weight, other_weight), multiplied(case.tails, factor))


def multiplied(tails, factor):
    """The tails with their odds multiplied."""

    def of_weighted(v):
        lower, upper = tails(v)
        events = factor * lower
        return events / (upper + events), upper / (upper + events)

    return of_weighted


CASES = [
    *(Case(GEV(xi), gev_tails(xi)) for xi in SHAPES),
    *(Case(GEVc(xi), mirrored(gev_tails(xi))) for xi in SHAPES),
    Case(LogLog(), gev_tails(0.0)),
    Case(CLogLog(), mirrored(gev_tails(0.0))),
    Case(Logit(), logistic_tails),
    Case(Probit(), normal_tails),
    Case(Cauchit(), cauchy_tails),
    Case(Log(), exponential_tails),
    Case(LogC(), mirrored(exponential_tails)),
    Case(Identity(), uniform_tails),
    sampled(Case(GEV(0.3), gev_tails(0.3)), 0.01, 0.3),
    sampled(Case(GEV(-0.2567), gev_tails(-0.2567)), 0.02, 0.5),
    sampled(Case(GEVc(1.5), mirrored(gev_tails(1.5))), 0.001, 0.5),
    sampled(Case(LogLog(), gev_tails(0.0)), 0.3, 0.2),
    sampled(Case(CLogLog(), mirrored(gev_tails(0.0))), 0.05, 0.5),
    sampled(Case(Logit(), logistic_tails), 0.003, 0.4),
    weighted(Case(GEV(0.5), gev_tails(0.5)), 20.0, 1.0),
    weighted(Case(Probit(), normal_tails), 0.5, 3.0),
    sampled(Case(Probit(), normal_tails), 0.01, 0.5),
    sampled(Case(Cauchit(), cauchy_tails), 0.05, 0.3),
    sampled(Case(Log(), exponential_tails), 0.01, 0.3),
]
ALL_LINKS = [case.link for case in CASES]
BOUNDED_LINKS = [link for link in ALL_LINKS if 1e-4 <= abs(link.parameters.get("xi", 0.0))]

each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: repr(case.link))
each_link = pytest.mark.parametrize("link", ALL_LINKS, ids=repr)
each_bounded_link = pytest.mark.parametrize("link", BOUNDED_LINKS, ids=repr)


def at(link: BinaryLink, *v: float):
    """The point of a link at some v, overflow in far tails allowed."""
    with np.errstate(all="ignore"):
        point = link.at(np.array(v, dtype=float))
        for name in (*FIELDS, "dcdf_dshape"):
            getattr(point, name, None)
    return point


def inside(link: BinaryLink, v: float) -> bool:
    lower, upper = link.support
    return lower < v < upper


lower_probabilities = st.floats(0.3, 140).map(lambda e: 10.0**-e)
upper_probabilities = st.floats(0.3, 14).map(lambda e: 1.0 - 10.0**-e)
probabilities = lower_probabilities | upper_probabilities | st.floats(0.001, 0.999)


@cache
def predictors(link: BinaryLink, reach: float = 40.0):
    """Values of v inside the support: in both tails, near the end of the support, near zero."""
    lower, upper = max(link.support[0], -reach), min(link.support[1], reach)
    spread = st.floats(0.0, 1.0).map(lambda share: lower + share * (upper - lower))
    tails = probabilities.map(lambda p: float(link(p)))
    return (spread | tails | st.floats(-0.6, 0.6)).filter(lambda v: inside(link, v))
