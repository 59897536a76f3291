r"""Score tests of linear restrictions, and of columns that were left out.

At a fit under the restriction R b = q, with score s, expected second derivative A and the meat M of any covariance of
:mod:`gevglm.covariance`,

.. math:: (R A^{-1} s)' \, [R A^{-1} M A^{-1} R']^{-1} \, (R A^{-1} s)

is chi-squared with as many degrees of freedom as R has rows. Columns that were left out are the restriction that their coefficients are zero.
An estimated shape of the link is one more coefficient, whose equation is that of :mod:`gevglm.inference.shape_equations`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from gevglm.covariance import Covariance, Fitted
from gevglm.engine import Engine
from gevglm.engine.cholesky import inverse
from gevglm.engine.linalg import dense
from gevglm.estimation.sums import LossSums
from gevglm.inference.shape_equations import StackedEquations, refuse_leverages
from gevglm.losses import Loss


class ScoreTest(NamedTuple):
    """A score test: chi-squared statistic, p-value and degrees of freedom."""

    statistic: float
    pvalue: float
    df: int


def score_test(
    engine: Engine,
    loss: Loss,
    params: NDArray,
    restriction: NDArray,
    covariance: Covariance,
    nobs: float,
    *,
    with_shape: bool = False,
) -> ScoreTest:
    """Test the restriction R, of shape (m, k), under which `params` were estimated; the rows are those of the unrestricted design.

    `with_shape` says that the shape of the link was estimated together with them.
    """
    if with_shape:
        refuse_leverages(covariance)
        equations = StackedEquations.at(engine, loss, params)
        scores, bread = equations.scores, equations.bread
        model_based = loss.is_likelihood and covariance.assumes_model
        meat = inverse(bread) if model_based else equations.meat(covariance, nobs)
        restriction = np.hstack([restriction, np.zeros((len(restriction), 1))])
    else:
        sums = engine.reduce(LossSums(loss, params, expected=True))
        scores, bread = sums.gradient, inverse(dense(sums.hessian))
        meat = covariance.meat(Fitted(engine, loss, params, bread, nobs))
    half = restriction @ bread
    distance = half @ scores
    statistic = float(distance @ np.linalg.solve(half @ meat @ half.T, distance))
    return ScoreTest(statistic, float(chi2.sf(statistic, len(restriction))), len(restriction))
