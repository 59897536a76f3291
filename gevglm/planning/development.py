"""The size of a study that develops a prediction model: Riley's criteria."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from scipy.optimize import brentq
from scipy.special import logit
from scipy.stats import norm

from gevglm.exceptions import IncompatibleOptionsError, InvalidOptionError, whole_number
from gevglm.planning.sizes import StudySize, Z, share, study_size

MOST_PARAMETERS = 30  # for which the formula of the prediction error was made
MAPE = (-0.508, 0.259, 0.504, -0.544)  # van Smeden et al. (2019): constant, log prevalence, log parameters, log n


def sample_size(
    *,
    prevalence: float,
    parameters: int,
    auc: float | None = None,
    r2: float | None = None,
    nagelkerke: float | None = None,
    shrinkage: float = 0.9,
    r2_difference: float = 0.05,
    margin: float = 0.05,
    mape: float | None = 0.05,
    n: int | None = None,
) -> StudySize:
    r"""Observations needed to develop a prediction model of a binary outcome.

    Four criteria, for P parameters, prevalence :math:`\phi` and an expected :math:`R^2` of Cox and Snell: a uniform shrinkage S,

    .. math:: n = \frac{P}{(S - 1)\, \ln(1 - R^2 / S)};

    the same with :math:`S = R^2 / (R^2 + \delta \max R^2)`, so that Nagelkerke's R-squared is optimistic by at most :math:`\delta`; the overall risk within a
    margin m, :math:`n = (1.96/m)^2 \phi (1 - \phi)`; and a mean absolute error of predicted risks,
    :math:`\ln \mathrm{MAPE} = -0.508 + 0.259 \ln\phi + 0.504 \ln P - 0.544 \ln n`.

    Parameters
    ----------
    prevalence : float
        Share of events.
    parameters : int
        Coefficients that are considered, the constant not counted; those of dummies, splines and interactions are.
    auc, r2, nagelkerke : float
        What the model is expected to reach, one of them: area under the ROC curve, R-squared of Cox and Snell, or of Nagelkerke. An AUC becomes an R-squared as if
        the linear predictor were normal in events and others, with the same variance.
    shrinkage, r2_difference, margin : float
        Targets of the first three criteria.
    mape : float or None
        Target of the fourth, which holds for up to 30 parameters; None leaves it out.
    n : int, optional
        A size that is given: the table then says what is to be expected of it.

    Returns
    -------
    StudySize

    References
    ----------
    Riley et al. (2019), Statistics in Medicine 38, 1276-1296; Riley et al. (2020), BMJ 368, m441; van Smeden et al. (2019), Statistical Methods in
    Medical Research 28, 2455-2474.

    Examples
    --------
    >>> from gevglm.planning import sample_size
    >>> sample_size(prevalence=0.05, parameters=30, r2=0.05)
    <StudySize: 5,249 observations with 263 events>
    """
    phi, k = share("prevalence", prevalence), whole_number("parameters", parameters, 1)
    largest = -np.expm1(2.0 * (phi * np.log(phi) + (1.0 - phi) * np.log1p(-phi)))
    r2 = _cox_snell(phi, largest, auc, r2, nagelkerke)
    target = share("shrinkage", shrinkage)
    if target <= r2:
        raise InvalidOptionError(f"shrinkage={target:g} must be above the R-squared of Cox and Snell, {r2:.4g}.")
    difference, width = share("r2_difference", r2_difference), share("margin", margin)
    shrunken = _Shrinkage(k, r2)
    criteria = {
        "shrinkage": (target, shrunken.size_for(target), shrunken.expected),
        "optimism of R2": (
            difference,
            shrunken.size_for(r2 / (r2 + difference * largest)),
            lambda size: r2 * (1.0 / shrunken.expected(size) - 1.0) / largest,
        ),
        "overall risk": (
            width,
            (Z / width) ** 2 * phi * (1.0 - phi),
            lambda size: Z * np.sqrt(phi * (1.0 - phi) / size),
        ),
    }
    notes: tuple[str, ...] = ()
    if mape is not None and k > MOST_PARAMETERS:
        notes = (
            f"The error of predicted risks is left out: its formula holds for up to {MOST_PARAMETERS} parameters.",
        )
    elif mape is not None:
        criteria["error of risks"] = _error_of_risks(phi, k, share("mape", mape))
    facts = {
        "Prevalence": f"{phi:.4g}",
        "Parameters": str(k),
        "R2 of Cox and Snell": f"{r2:.4g}",
        "R2 of Nagelkerke": f"{r2 / largest:.4g}",
    }
    found = study_size("Size of a study to develop a model", criteria, phi, n, facts, notes)
    facts["Events per parameter"] = f"{found.n * phi / k:.3g}"
    if n is not None:
        supported = int(np.floor(found.n * (target - 1.0) * np.log1p(-r2 / target)))
        facts["Parameters that it supports"] = str(supported)
    return found


class _Shrinkage:
    """The uniform shrinkage to be expected of k parameters and an R-squared, by the size of the study, and the other way round."""

    def __init__(self, k: int, r2: float):
        self.k, self.r2 = k, r2
        grid = r2 + (1.0 - r2) * np.linspace(1e-9, 0.5, 2001)
        sizes = self.size_for(grid)
        self._least, self._lowest = float(sizes.min()), float(grid[np.argmin(sizes)])

    def size_for(self, shrinkage: Any) -> Any:
        """Return the size at which a shrinkage is to be expected."""
        return self.k / ((shrinkage - 1.0) * np.log1p(-self.r2 / shrinkage))

    def expected(self, size: float) -> float:
        """Return the shrinkage at a size; missing where it has no solution."""
        if size <= self._least:
            return np.nan
        return float(brentq(lambda s: self.size_for(s) - size, self._lowest, 1.0 - 1e-12))


def _error_of_risks(phi: float, k: int, target: float) -> tuple[float, float, Any]:
    """Return the criterion of the mean absolute error of predicted risks: target, size, and the error at a size."""
    a, b, c, d = MAPE
    fixed = a + b * np.log(min(phi, 1.0 - phi)) + c * np.log(k)
    return target, np.exp((np.log(target) - fixed) / d), lambda size: np.exp(fixed + d * np.log(size))


def _cox_snell(phi: float, largest: float, auc: float | None, r2: float | None, nagelkerke: float | None) -> float:
    given = [word for word, value in (("auc", auc), ("r2", r2), ("nagelkerke", nagelkerke)) if value is not None]
    if len(given) != 1:
        raise IncompatibleOptionsError(f"give one of auc=, r2= and nagelkerke=, got {', '.join(given) or 'none'}.")
    if auc is not None:
        return r2_of_auc(share("auc", auc, 0.5), phi)
    if nagelkerke is not None:
        return largest * share("nagelkerke", nagelkerke)
    found = share("r2", r2)
    if found >= largest:
        raise InvalidOptionError(
            f"r2={found:g} is above {largest:.4g}, the largest R-squared of Cox and Snell with prevalence {phi:g}; is it Nagelkerke's?"
        )
    return found


def r2_of_auc(auc: float, prevalence: float) -> float:
    r"""Return the R-squared of Cox and Snell of a calibrated model whose linear predictor is normal in events and others, with the same variance.

    With :math:`\delta = \sqrt 2\, \Phi^{-1}(\mathrm{AUC})` between their means, the log-odds of a value x are :math:`\mathrm{logit}\,\phi + \delta x - \delta^2/2`.
    """
    delta = np.sqrt(2.0) * norm.ppf(auc)
    nodes, weights = hermegauss(100)
    weights = weights / weights.sum()
    at = logit(prevalence) + delta * nodes
    events, others = np.logaddexp(0.0, -(at + delta**2 / 2.0)), np.logaddexp(0.0, at - delta**2 / 2.0)
    llf = -weights @ (prevalence * events + (1.0 - prevalence) * others)
    null = prevalence * np.log(prevalence) + (1.0 - prevalence) * np.log1p(-prevalence)
    return float(-np.expm1(-2.0 * (llf - null)))
