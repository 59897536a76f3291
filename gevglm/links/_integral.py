"""Integrals without a closed form, as piecewise polynomials."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

PANEL = 2.0  # width, in log odds, of the pieces on which integrals are polynomials
DEGREE = 20


class PiecewiseIntegral:
    """The integral of a smooth function, as Chebyshev series on pieces of equal width.

    Parameters
    ----------
    function : callable
        Taken to be zero where it is beyond all numbers, at the far end of a heavy tail.
    lower, upper : float
        The range; outside it the integral is constant.
    from_top : bool
        Whether the integral is zero at the upper end of the range, instead of the lower one.
    """

    def __init__(self, function: Callable[[NDArray], NDArray], lower: float, upper: float, from_top: bool = False):
        pieces = int(np.ceil((upper - lower) / PANEL))
        edges = np.linspace(lower, upper, pieces + 1)
        half = 0.5 * (upper - lower) / pieces
        nodes = chebyshev.chebpts1(DEGREE + 1)
        values = function((edges[:-1, None] + half * (1.0 + nodes)).ravel()).reshape(pieces, -1)
        series = chebyshev.chebfit(nodes, np.where(np.isfinite(values), values, 0.0).T, DEGREE)
        integrals = half * chebyshev.chebint(series, lbnd=-1.0)
        areas = integrals.sum(axis=0)
        integrals[0] += -np.cumsum(areas[::-1])[::-1] if from_top else np.cumsum(areas) - areas
        self.edges, self.half, self.series, self.from_top = edges, half, integrals, from_top

    def __call__(self, x: NDArray) -> NDArray:
        """Return the integral up to `x`."""
        x = np.clip(x, self.edges[0], self.edges[-1])
        piece = np.searchsorted(self.edges[1:-1], x)
        value = chebyshev.chebval((x - self.edges[piece]) / self.half - 1.0, self.series[:, piece], tensor=False)
        return value if self.from_top else np.where(x > self.edges[0], np.maximum(value, 0.0), 0.0)
