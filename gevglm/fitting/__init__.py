"""From a model to its results: the estimate, what is looked at after it, the covariance; also with a shape or penalty to be chosen."""

from gevglm.fitting.constrained import fit_constrained
from gevglm.fitting.dispatch import fit
from gevglm.fitting.estimator import Estimator

__all__ = ["Estimator", "fit", "fit_constrained"]
