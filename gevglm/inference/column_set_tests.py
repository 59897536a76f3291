r"""Tests that the coefficients of some columns are zero, within models that may lack others: by likelihood ratio, Wald and score.

With the columns R gone from the model, the columns T are tested by

.. math:: LR(T \cup R) - LR(R), \qquad W(T \cup R) - W(R), \quad W(S) = b_S' V_{SS}^{-1} b_S,

where LR(S) is the likelihood ratio of the hypothesis that the coefficients of S are zero; or by the score of T at the estimates without T and R.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gevglm.covariance import Covariance
from gevglm.engine.factored_matrix import distance, restricted
from gevglm.estimation.estimate import Problem
from gevglm.exceptions import InvalidDataError
from gevglm.inference.profile import Likelihood
from gevglm.inference.score_test import score_test


@dataclass(frozen=True)
class Hypothesis:
    """Columns whose coefficients are tested to be zero, and columns that the models lack on both sides."""

    tested: tuple[int, ...]
    gone: tuple[int, ...] = ()

    @property
    def all(self) -> tuple[int, ...]:
        """The columns that the smaller model lacks."""
        return tuple(sorted({*self.tested, *self.gone}))


def likelihood_ratios(likelihood: Likelihood, hypotheses: Sequence[Hypothesis]) -> NDArray:
    """Return the likelihood-ratio statistics of hypotheses; the restricted maxima are found together."""
    sets = list(dict.fromkeys(columns for each in hypotheses for columns in (each.all, each.gone) if columns))
    ratios = {(): 0.0} | dict(zip(sets, likelihood.ratios([list(columns) for columns in sets]), strict=True))
    return np.array([max(ratios[each.all] - ratios[each.gone], 0.0) for each in hypotheses])


def wald_statistics(params: NDArray, covariance: Any, hypotheses: Sequence[Hypothesis]) -> NDArray:
    """Return Wald's chi-squared statistics of hypotheses."""

    def statistic(columns: tuple[int, ...]) -> float:
        places = list(columns)
        found = distance(restricted(covariance, np.array(places)), params[places])
        if found is None:
            raise InvalidDataError(
                f"there is no Wald test of {len(places)} coefficients at once: their robust covariance has a lower rank, as with fewer "
                "clusters than coefficients. Test fewer of them, or use cov_type='nonrobust'."
            )
        return found

    return np.array([statistic(each.all) - (statistic(each.gone) if each.gone else 0.0) for each in hypotheses])


def wald_restriction(covariance: NDArray, hypothesis: Hypothesis) -> NDArray:
    r"""Return the restriction whose Wald test that of a hypothesis is, one row for each column that is tested.

    It is :math:`b_T - V_{TR} V_{RR}^{-1} b_R = 0`, with R the columns that are gone.
    """
    identity, tested, gone = np.eye(len(covariance)), list(hypothesis.tested), list(hypothesis.gone)
    if not gone:
        return identity[tested]
    slopes = np.linalg.solve(covariance[np.ix_(gone, gone)], covariance[np.ix_(gone, tested)])
    return identity[tested] - slopes.T @ identity[gone]


def score_statistics(
    problem: Problem, covariance: Covariance, nobs: float, hypotheses: Sequence[Hypothesis]
) -> NDArray:
    """Return score statistics of hypotheses, each at the estimates without its columns."""
    return np.array([_score(problem, covariance, nobs, each) for each in hypotheses])


def _score(problem: Problem, covariance: Covariance, nobs: float, hypothesis: Hypothesis) -> float:
    larger = problem.holding(list(hypothesis.gone), np.zeros(len(hypothesis.gone)))
    there = np.delete(np.arange(problem.engine.n_cols), hypothesis.gone)
    places = np.flatnonzero(np.isin(there, hypothesis.tested))
    kept = np.delete(np.arange(len(there)), places)
    params = np.zeros(len(there))
    if len(kept):
        params[kept] = larger.holding(places.tolist(), np.zeros(len(places))).estimate().params
    return score_test(larger.engine, larger.loss, params, np.eye(len(there))[places], covariance, nobs).statistic
