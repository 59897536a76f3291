"""BinaryGLMResults and its methods: the door for the layers above."""

from gevglm import modules_of
from gevglm.results.binary_results import BinaryGLMResults
from gevglm.results.core import check_alpha
from gevglm.results.saving import load
from gevglm.results.statsmodels_wrapper import BinaryGLMResultsWrapper

__all__ = ["BinaryGLMResults", "BinaryGLMResultsWrapper", "check_alpha", "load"]

__getattr__ = modules_of(__name__)
