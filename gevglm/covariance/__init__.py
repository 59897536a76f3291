r"""Covariances of the coefficients: one bread, many meats.

Every covariance here is :math:`A^{-1} M A^{-1}` with A the expected second derivative of the loss (as R's sandwich has it);
the classes differ in the meat M only. Row i with frequency f, variance weight a and n trials contributes f copies of the
score :math:`a n\,\ell'_i x_i`.

The outcome is Bernoulli whatever the loss: for the canonical loss the model-based meat is
:math:`\sum f a n\,\mu(1-\mu)\,x x'` (variance weights divide the variance of an outcome), and :math:`A^{-1}` alone, which would assume that the variance is F', is never reported (equation :eq:`sandwich` of the theory pages).
"""

from gevglm.covariance.autocorrelation import HAC
from gevglm.covariance.base import Covariance, Fitted
from gevglm.covariance.clusters import Cluster
from gevglm.covariance.degrees import Degrees, Given, Satterthwaite, reference
from gevglm.covariance.rows import HC, Linearized, Nonrobust
from gevglm.covariance.words import COV_ALIASES, COV_TYPES, covariance_of

__all__ = [
    "COV_ALIASES",
    "COV_TYPES",
    "HAC",
    "HC",
    "Cluster",
    "Covariance",
    "Degrees",
    "Fitted",
    "Given",
    "Linearized",
    "Nonrobust",
    "Satterthwaite",
    "covariance_of",
    "reference",
]
