"""Class weights learned from the data, and their peers, as scikit-learn meta-estimators."""

from gevglm.exceptions import GevglmError

try:
    import sklearn as _  # noqa: F401
except ImportError as error:
    raise GevglmError("gevglm.weighting needs scikit-learn 1.8 or later: pip install 'gevglm[sklearn]'.") from error

from gevglm.weighting.adaptive import AdaClassWeight, RatioWeight
from gevglm.weighting.boosting import AdaBoost, DiffBoost
from gevglm.weighting.costs import CSB1, CSB2, AdaC1, AdaC2, AdaC3, AdaCost
from gevglm.weighting.of_fits import AdaptedClassWeight, adapt_class_weight

__all__ = ["CSB1", "CSB2", "AdaBoost", "AdaC1", "AdaC2", "AdaC3", "AdaClassWeight", "AdaCost",
           "AdaptedClassWeight", "DiffBoost", "RatioWeight", "adapt_class_weight"]  # fmt: skip
