"""BinaryGLM, the model: a design and a loss, in statsmodels' shape."""

from gevglm.model.binary_glm import BinaryGLM

__all__ = ["BinaryGLM"]
