r"""Score tests of columns that were left out.

With the design extended to Z = [X, E], the score of E at the fit is
:math:`S = E' s`. Its variance is :math:`C M C'`, :math:`C = [-A_{EX} A_{XX}^{-1}, I]`, with A the expected second derivative and M the
meat of any covariance of :mod:`gevglm.covariance`; :math:`S' (C M C')^{-1} S` is chi-squared.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from gevglm.covariance import Covariance, Fitted
from gevglm.engine import MemoryEngine
from gevglm.losses import Loss
from gevglm.reducers import LossSums


class ScoreTest(NamedTuple):
    """A score test: chi-squared statistic, p-value and degrees of freedom."""

    statistic: float
    pvalue: float
    df: int


def score_test(
    engine: MemoryEngine, loss: Loss, params: NDArray, n_extra: int, covariance: Covariance, nobs: float
) -> ScoreTest:
    """Test the last columns of a design, whose coefficients are zero at `params`.

    Parameters
    ----------
    engine : MemoryEngine
        Rows of the extended design.
    loss : Loss
    params : ndarray
        The fit without the extra columns, and zeros for them.
    n_extra : int
        Number of extra columns, which stand last.
    covariance : Covariance
        Whose meat is the variance of the scores.
    nobs : float
    """
    sums = engine.reduce(LossSums(loss, params, expected=True))
    k = len(params) - n_extra
    projection = np.linalg.solve(sums.hessian[:k, :k], sums.hessian[:k, k:]).T
    contrast = np.hstack([-projection, np.eye(n_extra)])
    meat = covariance.meat(Fitted(engine, loss, params, np.linalg.inv(sums.hessian), nobs))
    score = sums.gradient[k:] - projection @ sums.gradient[:k]
    statistic = float(score @ np.linalg.solve(contrast @ meat @ contrast.T, score))
    return ScoreTest(statistic, float(chi2.sf(statistic, n_extra)), n_extra)
