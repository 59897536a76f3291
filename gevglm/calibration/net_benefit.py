"""Whether one prediction is of more use than another: the difference of their net benefits, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from gevglm.calibration.curves import checked_thresholds
from gevglm.calibration.estimates import checked_level
from gevglm.calibration.sample import Clusters, predictions
from gevglm.display.tables import Part, Shown


@dataclass(frozen=True, repr=False)
class NetBenefitDifference(Shown):
    """Net benefit of acting by one prediction, less that of acting by another.

    Attributes
    ----------
    table : DataFrame
        One row per threshold: ``first`` and ``second`` (the net benefits), ``estimate`` (their difference), ``se``, ``ci_lower``,
        ``ci_upper``.
    n, n_events : float
        Observations and events.
    level : float
        Coverage of the limits.
    """

    table: pd.DataFrame
    n: float
    n_events: float
    level: float

    def summary_frame(self) -> pd.DataFrame:
        """Return the differences with their limits."""
        return self.table

    def _shown_parts(self) -> tuple[str, Sequence[Part], Sequence[str]]:
        note = f"Of {self.n:,.10g} observations with {self.n_events:,.10g} events; limits of {100 * self.level:g} % at each threshold."
        return "Net benefit: first less second", [Part("", self.table)], [note]


def net_benefit_difference(
    y: ArrayLike,
    p: ArrayLike,
    q: ArrayLike,
    thresholds: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    groups: Clusters | None = None,
    level: float = 0.95,
) -> NetBenefitDifference:
    r"""Net benefit of acting by the predictions p, less that of acting by q, for the same observations.

    .. math:: \mathrm{NB}_p - \mathrm{NB}_q = \frac 1n \sum_i d_i, \qquad
       d_i = \big(1(p_i \ge t) - 1(q_i \ge t)\big) \Big( y_i - (1 - y_i) \frac{t}{1 - t} \Big)

    The standard error is that of the mean of the d, of clusters of them if `groups` are given; the predictions are taken as given.

    Parameters
    ----------
    y : array_like
        Outcomes, 0 or 1.
    p, q : array_like
        Probabilities. All ones act on everybody, all zeros on nobody.
    thresholds : array_like
        Risks from which one acts, in [0, 1).
    weights : array_like, optional
        How many observations each row stands for.
    groups : array_like, optional
        Cluster of each row.
    level : float
        Coverage of the limits.

    Examples
    --------
    >>> found = net_benefit_difference([0, 0, 0, 1], [0.1, 0.2, 0.4, 0.6], [1.0, 1.0, 1.0, 1.0], 0.3)
    >>> found.table["estimate"].round(4).tolist()
    [0.2143]
    """
    one, other = (predictions(y, risk, weights, groups=groups) for risk in (p, q))
    rows, reach = [], one.distribution().isf((1.0 - checked_level(level)) / 2.0)
    for t in checked_thresholds(thresholds):
        gain = one.y - (1.0 - one.y) * t / (1.0 - t)
        first, second = (gain * (sample.p >= t) for sample in (one, other))
        estimate = one.mean(first - second)
        se = one.standard_error(first - second - estimate)
        rows.append([t, one.mean(first), one.mean(second), estimate, se, estimate - reach * se, estimate + reach * se])
    columns = ["threshold", "first", "second", "estimate", "se", "ci_lower", "ci_upper"]
    table = pd.DataFrame(np.array(rows).reshape(-1, len(columns)), columns=columns).set_index("threshold")
    return NetBenefitDifference(table, one.total, one.events, level)
