"""The maximum of the likelihood over the shape, from its values on a grid: every maximum on it is followed up, and the largest taken."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize_scalar

LOWER_PEAK = 1.0  # how much lower than the best of the grid a maximum of the likelihood may begin
VALLEY = 1e-3  # depth of a valley of the log-likelihood that is not that of rough fits
NEARBY = 1e-4  # distance from a maximum found by values at which the score may have changed its sign


class Path(Protocol):
    """Fits along the shape, such as those of :class:`gevglm.inference.shape_path.ShapePath`."""

    def log_likelihood(self, xi: float) -> float:
        """Return the log-likelihood of the fit at a shape."""

    def score(self, xi: float) -> float:
        """Return its derivative along the fits."""


def best_on_grid(path: Path, grid: NDArray, values: NDArray) -> tuple[float, bool]:
    """Return the shape of the largest likelihood between the ends of the grid, and whether it is an end where the likelihood still rises."""
    tops = [int(i) for i in peaks(values) if values[i] > values.max() - LOWER_PEAK]
    found = [_peak(path, grid, values, i) for i in tops]
    return found[0] if len(found) == 1 else max(found, key=lambda peak: path.log_likelihood(peak[0]))


def peaks(values: NDArray) -> NDArray:
    """Return the places of the largest value and of the maxima that valleys separate from a larger one."""
    from scipy.signal import find_peaks  # here, for it is slow to import and few fits need it

    floor = values[np.isfinite(values)].min() - 1.0
    padded = np.concatenate([[floor], np.maximum(values, floor), [floor]])
    found, _ = find_peaks(padded, prominence=VALLEY)
    return np.union1d(found - 1, np.argmax(values))


def _peak(path: Path, grid: NDArray, values: NDArray, top: int) -> tuple[float, bool]:
    """Return the maximum next to a shape of the grid, and whether the likelihood rises beyond the grid."""
    here = float(grid[top])
    slope = path.score(here)
    if slope == 0.0 or np.isnan(slope) or values[top] > -VALLEY:  # separated outcomes: no shape is better
        return here, False
    neighbour = top + (1 if slope > 0 else -1)
    if not 0 <= neighbour < len(grid):
        return here, True
    low, high = sorted((here, float(grid[neighbour])))
    if np.isfinite(values[neighbour]):
        root = root_of_score(path, low, high)
        if root is not None and path.log_likelihood(root) >= path.log_likelihood(here):
            return root, False
    # the score has no root, or several: rows cross the end of the support in between
    floor = values[np.isfinite(values)].min() - 1.0
    best = minimize_scalar(
        lambda xi: -max(path.log_likelihood(xi), floor), bounds=(low, high), method="bounded", options={"xatol": 1e-8}
    )
    if -best.fun <= path.log_likelihood(here):
        return here, False
    around = root_of_score(path, max(best.x - NEARBY, low), min(best.x + NEARBY, high))
    return float(best.x) if around is None else around, False


def root_of_score(path: Path, low: float, high: float) -> float | None:
    """Return where the profile score falls through zero; None if it does not have both signs."""
    if not path.score(low) > 0 > path.score(high):
        return None
    return float(brentq(path.score, low, high, xtol=1e-10, rtol=1e-12))
