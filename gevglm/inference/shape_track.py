"""How the coefficients of a fit move with the shape of its link: what an estimated shape means for everything computed from both."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import PchipInterpolator


@dataclass(frozen=True)
class ShapeTrack:
    """The fits along the shape.

    Coefficients of different shapes are on different scales, and the likelihood is a curved ridge in coefficients and shape: risks hardly change along
    it. Coefficients for another shape than the estimated one are therefore moved along the ridge, and their deviations from it scaled.
    """

    xi: float  # the estimate
    shapes: NDArray  # ascending, the estimate among them; of shape (m,)
    params: NDArray  # the coefficients of the fit at each; of shape (m, k)
    errors: NDArray  # their standard errors at the given shape; of shape (m, k)

    def inside(self, shapes: NDArray) -> NDArray:
        """Return shapes, those beyond the range in which the shape was estimated moved to its ends."""
        return np.clip(shapes, self.shapes[0], self.shapes[-1])

    def moved(self, shapes: NDArray) -> tuple[NDArray, NDArray]:
        """Return by how much coefficients move from the estimate to shapes, and by which factor their deviations grow; both of shape (n, k)."""
        if len(self.shapes) < 2:
            n, k = len(shapes), self.params.shape[1]
            return np.zeros((n, k)), np.ones((n, k))
        here = int(np.searchsorted(self.shapes, self.xi))
        shift = PchipInterpolator(self.shapes, self.params - self.params[here])
        scale = PchipInterpolator(self.shapes, self.errors / self.errors[here])
        return shift(shapes), scale(shapes)
