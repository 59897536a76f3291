r"""Score tests of linear restrictions, and of columns that were left out.

At a fit under the restriction R b = q, with score s, expected second derivative A and the meat M of any covariance of
:mod:`gevglm.covariance`,

.. math:: (R A^{-1} s)' \, [R A^{-1} M A^{-1} R']^{-1} \, (R A^{-1} s)

is chi-squared with as many degrees of freedom as R has rows. Columns that were left out are the restriction that their coefficients are zero.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from gevglm.covariance import Covariance, Fitted
from gevglm.engine import Engine
from gevglm.estimation.sums import LossSums
from gevglm.losses import Loss


class ScoreTest(NamedTuple):
    """A score test: chi-squared statistic, p-value and degrees of freedom."""

    statistic: float
    pvalue: float
    df: int


def score_test(
    engine: Engine, loss: Loss, params: NDArray, restriction: NDArray, covariance: Covariance, nobs: float
) -> ScoreTest:
    """Test the restriction R, of shape (m, k), under which `params` were estimated; the rows are those of the unrestricted design."""
    sums = engine.reduce(LossSums(loss, params, expected=True))
    bread = np.linalg.inv(sums.hessian)
    meat = covariance.meat(Fitted(engine, loss, params, bread, nobs))
    half = restriction @ bread
    distance = half @ sums.gradient
    statistic = float(distance @ np.linalg.solve(half @ meat @ half.T, distance))
    return ScoreTest(statistic, float(chi2.sf(statistic, len(restriction))), len(restriction))
