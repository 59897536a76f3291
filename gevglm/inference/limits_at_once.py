r"""Profile limits of all coefficients at once, where rows are few: arrays of searches take the steps of :mod:`.profile_limits`.

With the inverse C of the second derivative at a point, the gradient g without its element j and :math:`u = C g`, the step towards the minimum over the other
coefficients is :math:`u - C_j u_j / C_{jj}`, and the slope of the profile :math:`g_j + u_j / C_{jj}`: nothing is factored for each search.

The searches begin where the third derivative of the loss sends them. Along the tangent :math:`\tau = C_j / C_{jj}`, with T the third derivative twice along it,
:math:`z^2 = \delta^2 / C_{jj} + \tau'T \delta^3 / 3`, and the other coefficients bend by :math:`-\delta^2 / 2` times the step for T.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gevglm.estimation.looks_at_once import LooksAtOnce
from gevglm.inference.profile_limits import ACCURACY, LONGEST_STEP, STEPS, JointSteps


def limits_at_once(
    look: LooksAtOnce, steps: JointSteps, columns: Sequence[int], quantile: float
) -> dict[int, tuple[float, float]]:
    """Find the lower and the upper limit of coefficients by a quantile of the signed root (1.96), of those of which both are found."""
    if not columns:
        return {}
    found = np.full(2 * len(columns), np.nan)
    j, target = np.repeat(columns, 2), np.tile([-quantile, quantile], len(columns))
    error = np.sqrt(steps.covariance.diagonal()[j])
    point, active = _starts(look, steps, columns, quantile), np.arange(len(j))
    last = np.full(len(j), np.inf)
    with np.errstate(all="ignore"):
        for _ in range(STEPS):
            own, rows = j[active], np.arange(len(active))
            value, gradient, inverse = look(point)
            slope = gradient[rows, own]
            gradient[rows, own] = 0.0
            column = inverse[rows, own] / inverse[rows, own, own][:, None]
            towards = np.einsum("bij,bj->bi", inverse, gradient)
            pulled = towards[rows, own]
            towards -= column * pulled[:, None]
            slope += pulled / inverse[rows, own, own]
            decrement = np.einsum("bi,bi->b", gradient, towards)
            rise = 2.0 * (value - steps.value) - decrement
            going = np.isfinite(rise) & (rise > 0.0) & (target[active] * slope > 0.0)
            root = np.copysign(np.sqrt(rise), target[active])
            step = np.clip((target[active] - root) * root / slope / error[active], -LONGEST_STEP, LONGEST_STEP)
            missed = np.abs(step) + decrement
            contraction = np.where(np.isinf(last[active]), 1.0, missed / last[active]).clip(
                steps.smallest_contraction, 1.0
            )
            point = point - towards + column * (step * error[active])[:, None]
            last[active] = missed
            there = going & (contraction * missed <= ACCURACY)
            found[active[there]] = point[rows, own][there]
            going &= ~there
            point, active = point[going], active[going]
            if not len(active):
                break
    both = zip(columns, found.reshape(-1, 2).tolist(), strict=True)
    return {j: (lower, upper) for j, (lower, upper) in both if np.isfinite(lower) and np.isfinite(upper)}


def _starts(look: LooksAtOnce, steps: JointSteps, columns: Sequence[int], quantile: float) -> NDArray:
    """Return where the searches begin: below and above the estimate, for one coefficient after the other."""
    C = steps.covariance
    variance = C.diagonal()[columns]
    tangent = C[columns] / variance[:, None]
    third = look.third_derivatives(steps.params, tangent)
    skewness = (tangent * third).sum(axis=1) * variance / 3.0  # T / (3 a), a = 1 / C_jj
    bend = third @ C
    bend -= tangent * bend[np.arange(len(columns)), columns][:, None]
    straight = np.sqrt(variance) * quantile * np.array([[-1.0], [1.0]])
    bent = (skewness * straight).clip(-0.5, 0.5)
    delta = (straight * (1.0 - bent * (0.5 - 0.625 * bent)))[:, :, None]
    return (steps.params + delta * tangent - 0.5 * delta**2 * bend).transpose(1, 0, 2).reshape(-1, len(steps.params))
