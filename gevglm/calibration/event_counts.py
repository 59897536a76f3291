"""The number of events among observations of different risks: its distribution (Poisson-binomial), and draws from it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FAR = 9.0  # standard deviations from the mean, beyond which there is nothing to be seen in double precision
SAME = 1e2  # of a log-odds: rounded to a part of this, risks are put together
AT_ONCE = 1 << 21  # numbers


class EventCount:
    r"""The number of events among observations with risks :math:`p_i`.

    Its distribution is found from the characteristic function :math:`\prod_i (1 + p_i (e^{i\theta} - 1))` by a discrete Fourier transform. Risks whose
    log-odds agree to within 0.01 are replaced by their mean, which leaves the expectation as it is.

    Parameters
    ----------
    p : ndarray of shape (n,)
        Risks.
    weight : ndarray of shape (n,)
        How many observations each stands for, whole numbers.
    """

    def __init__(self, p: NDArray, weight: NDArray):
        with np.errstate(divide="ignore"):
            odds = np.rint(SAME * (np.log(p) - np.log1p(-p)))
        _, group = np.unique(odds, return_inverse=True)
        size = np.bincount(group, weights=weight)
        share = np.bincount(group, weights=weight * p) / size
        self.mean = float(size @ share)
        sd = float(np.sqrt(size @ (share * (1.0 - share))))
        low = max(int(np.floor(self.mean - FAR * (sd + 1.0))), 0)
        high = min(int(np.ceil(self.mean + FAR * (sd + 1.0))), round(size.sum()))
        self.support = np.arange(low, high + 1)
        self.pmf = _transformed(share, size, self.support)

    def draw(self, rng: np.random.Generator, size: int) -> NDArray:
        """Return numbers of events."""
        below = np.cumsum(self.pmf)
        return self.support[np.searchsorted(below / below[-1], rng.random(size), side="right")].astype(float)


def _transformed(share: NDArray, size: NDArray, support: NDArray) -> NDArray:
    """Return the probability of each number of events, at least zero."""
    k = len(support)
    turn = np.exp(2j * np.pi * np.arange(k // 2 + 1) / k)
    log = np.zeros(len(turn), dtype=complex)
    with np.errstate(divide="ignore"):
        for start in range(0, len(share), max(AT_ONCE // len(turn), 1)):
            some = slice(start, start + max(AT_ONCE // len(turn), 1))
            log += size[some] @ np.log(1.0 + share[some, None] * (turn - 1.0))
    spectrum = np.exp(log) * turn ** (-float(support[0]))
    return np.maximum(np.fft.irfft(np.conj(spectrum), k), 0.0)
