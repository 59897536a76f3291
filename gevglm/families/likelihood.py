"""Maximum likelihood with a GEV link in plain ``sm.GLM``."""

from __future__ import annotations

from gevglm.families.watched import Watched
from gevglm.links import GEV
from gevglm.losses import Log


class GEVBinomial(Watched):
    r"""Binomial family with a GEV link: maximum likelihood ('GEV-log') at a fixed shape.

    Parameters
    ----------
    xi : float
        Shape of the link; see :class:`gevglm.links.GEV`.

    Warns
    -----
    ConvergenceWarning
        If the iteration of ``sm.GLM`` has not found a maximum, which it may call converged; frequent for xi > 0.8 and near -1.

    Examples
    --------
    >>> import numpy as np, statsmodels.api as sm, gevglm
    >>> x = np.linspace(-1, 1, 40)
    >>> y = (np.arange(40) % 5 == 0).astype(float)
    >>> res = sm.GLM(y, sm.add_constant(x), family=gevglm.families.GEVBinomial(0.2)).fit()
    >>> bool(res.converged)
    True
    """

    def __init__(self, xi: float):
        super().__init__(Log(GEV(xi)))
        self.xi = self.link.xi
