r"""Elementary symmetric functions of matched sets, their means, covariances and third cumulants, by a recursion in logarithms.

Of a set with m cases the conditional likelihood is :math:`\ell = \sum_{cases} v_j - \ln e_m(e^{v_1}, \ldots, e^{v_n})`. The sum T of x over m rows, drawn
with probability proportional to :math:`e^{\sum v}`, has the mean and the covariance that score and information are made of. Row j is drawn or not:
the draws of r among the first j rows are a mixture of those without it, and of those of r - 1 rows with it, in shares 1 - p and p (equation :eq:`mixture` of the theory pages),

.. math:: M_r \leftarrow M_r + p\,d, \qquad V_r \leftarrow V_r + p\,(V_{r-1} - V_r) + p (1 - p)\, d d', \qquad d = M_{r-1} + x_j - M_r,

so that nothing overflows and nothing cancels. Sets go through it side by side.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Moments(NamedTuple):
    """Of each set: the logarithm of the symmetric function, mean and covariance of the sum over the rows drawn, and a contraction of its third cumulants."""

    log: NDArray  # of shape (s,)
    mean: NDArray  # of shape (s, k)
    covariance: NDArray  # of shape (s, k, k)
    third: NDArray | None  # the sums over i and j of A_ij K_ijl, of shape (s, k)


def moments(x: NDArray, v: NDArray, drawn: int, contract: NDArray | None = None) -> Moments:
    """Return the moments of draws of `drawn` rows from each set.

    Parameters
    ----------
    x : ndarray of shape (n, s, k)
        The rows of s sets of up to n rows; places without a row come first.
    v : ndarray of shape (n, s)
        Their linear predictors; -inf where there is no row.
    drawn : int
        Rows drawn from each set.
    contract : ndarray of shape (k, k), optional
        The symmetric matrix A that third cumulants are contracted with; without it there are none.
    """
    n, s, k = x.shape
    log = np.full((drawn + 1, s), -np.inf)
    log[0] = 0.0
    mean, covariance = np.zeros((drawn + 1, s, k)), np.zeros((drawn + 1, s, k, k))
    third = None if contract is None else np.zeros((drawn + 1, s, k))
    for j in range(n):
        # the numbers of draws that are possible so far, and from which `drawn` can still be reached
        low, high = max(1, drawn - (n - 1 - j)), min(drawn, j + 1)
        if low > high:
            continue
        now, before = slice(low, high + 1), slice(low - 1, high)
        with_row = log[before] + v[j]
        total = np.logaddexp(log[now], with_row)
        share = np.exp(with_row - np.where(total == -np.inf, 0.0, total))
        log[now] = total
        p = share[..., None]
        apart = mean[before] + x[j] - mean[now]
        change = covariance[before] - covariance[now]
        spread = (share * (1.0 - share))[..., None]
        if third is not None and contract is not None:
            third[now] += p * (third[before] - third[now]) + spread * _skewness(apart, change, p, contract)
        change *= p[..., None]
        change += (spread * apart)[..., None] * apart[..., None, :]
        covariance[now] += change
        mean[now] += p * apart
    return Moments(log[drawn], mean[drawn], covariance[drawn], None if third is None else third[drawn])


def _skewness(apart: NDArray, change: NDArray, p: NDArray, contract: NDArray) -> NDArray:
    """Return what two parts of a mixture, `apart` in their means, add to the contracted third cumulants, over p (1 - p)."""
    k = len(contract)
    trace = change.reshape(*change.shape[:-2], k * k) @ contract.ravel()
    across = apart @ contract
    crossed = (change @ across[..., None])[..., 0]
    return (trace[..., None] + (1.0 - 2.0 * p) * (across * apart).sum(axis=-1, keepdims=True)) * apart + 2.0 * crossed


def inclusion(v: NDArray, drawn: int) -> NDArray:
    """Return the probability that each row is among those drawn; arguments and places as in :func:`moments`."""
    n = len(v)
    before, after = _prefixes(v, drawn), _prefixes(v[::-1], drawn)[::-1]  # of the rows before, and after, each row
    ways = np.stack([before[:n, r] + after[1:, drawn - 1 - r] for r in range(drawn)])
    with np.errstate(invalid="ignore"):
        found = np.exp(np.logaddexp.reduce(ways, axis=0) + v - before[n, drawn])
    return np.where(v == -np.inf, 0.0, np.minimum(found, 1.0))


def _prefixes(v: NDArray, drawn: int) -> NDArray:
    """Return the logarithms of the symmetric functions of the first j rows, of each order; of shape (n + 1, drawn + 1, s)."""
    n, s = v.shape
    log = np.full((n + 1, drawn + 1, s), -np.inf)
    log[:, 0] = 0.0
    for j in range(n):
        log[j + 1, 1:] = np.logaddexp(log[j, 1:], log[j, :-1] + v[j])
    return log
