"""What a threshold makes of predicted risks: the classification table, with the shares that are read off it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from gevglm.calibration.estimates import wilson_limits
from gevglm.calibration.sample import predictions
from gevglm.display.tables import Part, Shown
from gevglm.exceptions import InvalidOptionError


@dataclass(frozen=True, repr=False)
class ClassificationTable(Shown):
    """Outcomes against decisions at a threshold.

    Attributes
    ----------
    threshold : float
        Risks of at least this are called events.
    counts : DataFrame
        Rows "event" and "no event" as it was, columns "called event" and "called no event".
    table : DataFrame
        Sensitivity, specificity, positive and negative predictive value, accuracy and the share called events, with Wilson's limits: columns
        ``estimate``, ``ci_lower`` and ``ci_upper``.
    """

    threshold: float
    counts: pd.DataFrame
    table: pd.DataFrame

    def summary_frame(self) -> pd.DataFrame:
        """Return the shares with their limits."""
        return self.table

    def _shown_parts(self) -> tuple[str, Sequence[Part], Sequence[str]]:
        title = f"Classification at a risk of {self.threshold:g}"
        return title, [Part("", self.counts), Part("", self.table)], []


def classification_table(
    y: ArrayLike, p: ArrayLike, threshold: float, weights: ArrayLike | None = None, *, level: float = 0.95
) -> ClassificationTable:
    """Outcomes against decisions at a threshold: counts, sensitivity, specificity, predictive values.

    Parameters
    ----------
    y : array_like
        Outcomes 0 or 1.
    p : array_like
        Predicted probabilities.
    threshold : float
        Probabilities of at least this are called events; see :func:`decision_threshold` for the one that costs of errors ask for.
    weights : array_like, optional
        How many observations each row stands for.
    level : float
        Coverage of the limits.

    Examples
    --------
    >>> found = classification_table([0, 0, 1, 1, 0], [0.1, 0.4, 0.7, 0.2, 0.3], 0.35)
    >>> found.table["estimate"].round(3).to_dict()["sensitivity"]
    0.5
    """
    if not 0.0 <= threshold <= 1.0:
        raise InvalidOptionError(f"threshold={threshold!r} is not a probability; give a number between 0 and 1.")
    sample = predictions(y, p, weights)
    called = sample.p >= threshold
    true, false = (sample.weight @ (called * outcome) for outcome in (sample.y, 1.0 - sample.y))
    missed, right = (sample.weight @ (~called * outcome) for outcome in (sample.y, 1.0 - sample.y))
    counts = pd.DataFrame(
        [[true, missed], [false, right]], index=["event", "no event"], columns=["called event", "called no event"]
    )
    total = sample.total
    shares = {
        "sensitivity": (true, true + missed),
        "specificity": (right, right + false),
        "positive predictive value": (true, true + false),
        "negative predictive value": (right, right + missed),
        "accuracy": (true + right, total),
        "called events": (true + false, total),
    }
    part, whole = np.array(list(shares.values()), dtype=float).T
    with np.errstate(divide="ignore", invalid="ignore"):  # of a threshold that calls all rows the same
        lower, upper = wilson_limits(part, whole, level)
        table = {"estimate": part / whole, "ci_lower": lower, "ci_upper": upper}
    frame = pd.DataFrame(table, index=list(shares))
    frame.loc[whole == 0.0] = np.nan
    return ClassificationTable(float(threshold), counts, frame)
