"""Local quadratic regression in one variable, as R's loess has it, in time proportional to the rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicHermiteSpline

MARGIN = 0.005  # share of the range by which the outer vertices lie outside the data
INSIDE = 0.999  # rows at this share of the bandwidth and beyond have no weight
TIE = 1e-10  # ridge, as a share of the trace, that decides where too few values differ
CENTER = 0.001  # rows within this share of the bandwidth have full weight


def loess(
    x: NDArray, y: NDArray, weight: NDArray, *, span: float = 0.75, cell: float = 0.2, degree: int = 2
) -> CubicHermiteSpline:
    r"""Smooth y over x.

    At a few vertices, a polynomial is fitted to the nearest share `span` of the observations with tricube weights
    :math:`(1 - |d|^3)^3`; cubics through the values and slopes at the vertices join them. The vertices halve the observations
    until no cell has more than ``span * cell`` of them. Whole weights repeat rows.

    References
    ----------
    Cleveland and Grosse (1991), Statistics and Computing 1, 47-62.
    """
    order = np.argsort(x, kind="stable")
    x, y, weight = x[order], y[order], weight[order]
    vertices, bandwidths = _neighbourhoods(x, weight, span, cell)
    fits = np.array(
        [_local_polynomial(x, y, weight, *place, degree) for place in zip(vertices, bandwidths, strict=True)]
    )
    return CubicHermiteSpline(vertices, fits[:, 0], fits[:, 1])


def loess_of_resamples(
    x: NDArray, weight: NDArray, *, span: float = 0.75, cell: float = 0.2, degree: int = 2
) -> Callable[[NDArray, NDArray], NDArray]:
    """Return a function that smooths many resamples at once, with the vertices and bandwidths of the whole sample.

    It goes from sums of y and of weights at increasing x, both of shape (b, n), to smooth values of shape (b, n).
    """
    vertices, bandwidths = _neighbourhoods(x, weight, span, cell)
    distance = (x - vertices[:, None]) / bandwidths[:, None]
    powers = distance[:, :, None] ** np.arange(degree + 1)
    kernel = np.where(np.abs(distance) < INSIDE, _tricube(np.abs(distance)), 0.0)[:, :, None]
    right, left = powers * kernel, (powers * kernel)[:, :, :, None] * powers[:, :, None, :]
    levels, slopes = (CubicHermiteSpline(vertices, *ends)(x).T for ends in _unit_ends(len(vertices)))

    def smooth(total: NDArray, weights: NDArray) -> NDArray:
        moments, sums = (
            np.einsum("bn,vnij->bvij", weights, left, optimize=True),
            np.einsum("bn,vni->bvi", total, right, optimize=True),
        )
        moments = moments + TIE * np.einsum("bvii->bv", moments)[:, :, None, None] * np.eye(degree + 1)
        fits = np.linalg.solve(moments, sums[..., None])[..., 0]
        return fits[:, :, 0] @ levels + (fits[:, :, 1] / bandwidths) @ slopes

    return smooth


def _unit_ends(number: int) -> list[tuple[NDArray, NDArray]]:
    """Values and slopes at vertices of the cubics that are 1 in one of them and 0 in the others."""
    one, none = np.eye(number), np.zeros((number, number))
    return [(one, none), (none, one)]


def _neighbourhoods(x: NDArray, weight: NDArray, span: float, cell: float) -> tuple[NDArray, NDArray]:
    """Vertices, and the distance from each to the last of the nearest observations."""
    ends = np.cumsum(weight)
    vertices = _vertices(x, ends, np.floor(ends[-1] * span * cell))
    nearest = min(ends[-1], np.floor(ends[-1] * span + 1e-5))
    return vertices, np.array([_bandwidth(x, ends, z, nearest) for z in vertices])


def _tricube(size: NDArray) -> NDArray:
    return np.where(size > CENTER, (1.0 - size**3) ** 3, 1.0)


def _vertices(x: NDArray, ends: NDArray, most: float) -> NDArray:
    """Ends of the range and medians of the cells that hold more than `most` observations."""
    last = np.flatnonzero(np.append(np.diff(x) > 0.0, True))
    values, cuts = x[last], ends[last]
    margin = MARGIN * max(values[-1] - values[0], 1e-10 * np.abs(values[[0, -1]]).max() + 1e-30)
    vertices, cells = [values[0] - margin, values[-1] + margin], [(1.0, ends[-1])]
    while cells:
        first, final = cells.pop()
        if final - first + 1.0 <= max(most, 1.0):
            continue
        middle = np.floor((first + final) / 2.0)
        above = int(np.searchsorted(cuts, middle))
        at = above if above == 0 or cuts[above] - middle <= middle - cuts[above - 1] else above - 1
        if not first <= cuts[at] < final:
            continue
        vertices.append(values[at])
        cells += [(first, cuts[at]), (cuts[at] + 1.0, final)]
    return np.unique(vertices)


def _local_polynomial(
    x: NDArray, y: NDArray, weight: NDArray, z: float, bandwidth: float, degree: int
) -> tuple[float, float]:
    """Value and slope at z of the polynomial fitted to the nearest observations."""
    rows = slice(*np.searchsorted(x, (z - INSIDE * bandwidth, z + INSIDE * bandwidth), side="right"))
    distance = (x[rows] - z) / bandwidth
    tricube = np.sqrt(weight[rows] * _tricube(np.abs(distance)))
    powers = distance[:, None] ** np.arange(degree + 1) * tricube[:, None]
    coefficients = np.linalg.lstsq(powers, y[rows] * tricube, rcond=None)[0]
    return coefficients[0], coefficients[1] / bandwidth if degree else 0.0


def _bandwidth(x: NDArray, ends: NDArray, z: float, nearest: float) -> float:
    """Distance from z to the last of the nearest observations."""

    def within(reach: float) -> tuple[int, int]:
        return int(np.searchsorted(x, z - reach, side="left")), int(np.searchsorted(x, z + reach, side="right"))

    short, long = 0.0, float(max(z - x[0], x[-1] - z))
    while True:
        middle = 0.5 * (short + long)
        if middle in (short, long):
            break
        low, high = within(middle)
        held = (ends[high - 1] if high else 0.0) - (ends[low - 1] if low else 0.0)
        short, long = (short, middle) if held >= nearest else (middle, long)
    low, high = within(long)
    return float(max(z - x[low], x[high - 1] - z))
