r"""The door into statsmodels: families made of a link and a loss, for plain ``sm.GLM``.

A family with the log loss is statsmodels' own Binomial with one of our links. The canonical loss is a
quasi-likelihood whose variance function makes the link canonical,

.. math:: V(\mu) = F'(F^{-1}(\mu)), \qquad \text{for GEV: } V(\mu) = \mu\,(-\ln \mu)^{1+\xi},

equation :eq:`variance-function` of the theory pages, which gives statsmodels' iteration exactly the weights F' and the working response of the canonical fit.
:class:`gevglm.BinaryGLM` solves the same equations faster, with a line search, and with the right covariance by default.

The iteration of ``sm.GLM`` takes full steps, and stops when the deviance does: beyond the shapes of every day it may run away, or stand
still where there is no minimum, and call that converged. The families here start it at the model with a constant only, and warn
(:class:`~gevglm.exceptions.ConvergenceWarning`) if it fails all the same.
"""

from gevglm.families.canonical import Canonical, CanonicalVariance, GEVCanonical, family_of, saturated_loss
from gevglm.families.likelihood import GEVBinomial

__all__ = ["Canonical", "CanonicalVariance", "GEVBinomial", "GEVCanonical", "family_of", "saturated_loss"]
