"""The canonical loss of a link in plain ``sm.GLM``: a quasi-likelihood."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from statsmodels.genmod.families import Binomial
from statsmodels.genmod.families.links import CDFLink, Logit

from gevglm import losses
from gevglm.families.watched import Watched, announce_standard_errors
from gevglm.links import GEV
from gevglm.links.base import BinaryLink


class CanonicalVariance:
    r"""The variance function :math:`V(\mu) = F'(F^{-1}(\mu))` for which a link is canonical."""

    def __init__(self, link: BinaryLink):
        self.link = link

    def __call__(self, mu: ArrayLike) -> NDArray:
        return 1.0 / self.link.deriv(mu)

    def deriv(self, mu: ArrayLike) -> NDArray:
        r"""Return :math:`V'(\mu) = F''/F'`."""
        return -self.link.deriv2(mu) / self.link.deriv(mu) ** 2


class Canonical(Watched):
    r"""Canonical loss of a link in plain ``sm.GLM``; fit it with ``cov_type="HC0"``.

    The default standard errors of ``sm.GLM`` assume Var(y) = V(mu), which a 0/1 outcome does not have (but for the logit), and are
    1.02 to 4 times too large, depending on the link and on how rare events are; the first such fit of a process warns of it.
    :class:`gevglm.BinaryGLM` gets them right by default.

    Parameters
    ----------
    link : BinaryLink
        Any link of :mod:`gevglm.links`.

    Notes
    -----
    ``llf`` is minus the canonical loss, a quasi-log-likelihood: its differences between nested models of the same link are meaningful,
    its AIC is not. The deviance is twice the loss above that of the saturated model; where the integral behind the loss
    diverges (xi >= 1, cauchit) the saturated loss of y = 0 or 1 does not exist and the deviance is relative to the loss at v = 0.

    Warns
    -----
    GevglmWarning
        Of default standard errors, once.
    ConvergenceWarning
        If the iteration of ``sm.GLM`` has not found the minimum.
    """

    links = [Logit, CDFLink]

    def __init__(self, link: BinaryLink):
        super().__init__(losses.Canonical(link))
        self.variance = CanonicalVariance(link)

    def loglike_obs(self, endog, mu, var_weights=1.0, scale=1.0):
        """Return minus the canonical loss of each row, times its trials and weight."""
        return -self.n * var_weights * self.loss.value(endog, self.link(mu)) / scale

    def _resid_dev(self, endog, mu):
        endog = np.asarray(endog, dtype=float)
        return 2.0 * self.n * (self.loss.value(endog, self.link(mu)) - saturated_loss(self.loss, endog))

    def _announce(self) -> None:
        if not self.link.canonical_is_log:
            announce_standard_errors()

    def resid_anscombe(self, endog, mu, var_weights=1.0, scale=1.0):
        """Return the deviance residuals, the normalising transform of a quasi-likelihood."""
        return self.resid_dev(endog, mu, var_weights=var_weights, scale=scale)


class GEVCanonical(Canonical):
    r"""GEV-canonical regression (Agarwal et al. 2014) in plain ``sm.GLM``; fit it with ``cov_type="HC0"``.

    Parameters
    ----------
    xi : float
        Shape of the link; see :class:`gevglm.links.GEV`.

    Examples
    --------
    >>> import numpy as np, statsmodels.api as sm, gevglm
    >>> x = np.linspace(-1, 1, 40)
    >>> y = (np.arange(40) % 5 == 0).astype(float)
    >>> res = sm.GLM(y, sm.add_constant(x), family=gevglm.families.GEVCanonical(0.5)).fit(cov_type="HC0")
    >>> bool(np.allclose(res.fittedvalues.sum(), y.sum()))
    True
    """

    def __init__(self, xi: float):
        super().__init__(GEV(xi))
        self.xi = self.link.xi


def family_of(loss: losses.Loss) -> Binomial:
    """Return a fresh statsmodels family for a loss (statsmodels' families remember the data of a model)."""
    return Binomial(link=loss.link) if loss.is_likelihood else Canonical(loss.link)


def saturated_loss(loss: losses.Loss, y: NDArray) -> NDArray:
    r"""The loss of predicting each outcome by itself, :math:`\ell(y, F^{-1}(y))`; zero for y = 0 and 1."""
    y = np.asarray(y, dtype=float)
    value = np.zeros_like(y)
    between = (y > 0) & (y < 1)
    value[between] = loss.value(y[between], loss.link(y[between]))
    return value
