"""How many observations a study needs: to develop a prediction model, to validate one, to find an effect."""

from gevglm.planning.development import sample_size
from gevglm.planning.power import Power, power
from gevglm.planning.sizes import StudySize
from gevglm.planning.validation import validation_size

__all__ = ["Power", "StudySize", "power", "sample_size", "validation_size"]
