"""gevglm's models as scikit-learn estimators."""

from gevglm.exceptions import GevglmError

try:
    import sklearn as _  # noqa: F401
except ImportError as error:
    raise GevglmError("gevglm.sklearn needs scikit-learn 1.8 or later: pip install 'gevglm[sklearn]'.") from error

from gevglm.sklearn.averaged import AveragedLinksClassifier
from gevglm.sklearn.calibrated import CalibratedClassifier
from gevglm.sklearn.glm import BinaryGLMClassifier

__all__ = ["AveragedLinksClassifier", "BinaryGLMClassifier", "CalibratedClassifier"]
