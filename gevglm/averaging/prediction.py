"""AveragedPrediction: risks of rows with limits by the bootstrap of the whole procedure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit, logit
from scipy.stats import t as student

from gevglm.display.brief import MOST_ROWS
from gevglm.display.tables import Part, Shown
from gevglm.results.core import check_alpha

CLOSEST = 1e-10  # to 0 and 1 that a risk may come before its logit is taken
WHAT_LIMITS_SHOW = "Limits show how far the risks would move with other data from the same population, not how far the average of the links is from the truth."


class AveragedPrediction(Shown):
    """Risks with limits by the bootstrap.

    Attributes
    ----------
    predicted : ndarray of shape (n,)
    draws : ndarray of shape (resamples, n)

    Notes
    -----
    Limits are for the sampling error of the procedure: they show how far the estimate would move with other data, not how far a link is from the
    truth. In a simulation with 100, 300 and 1,000 events, 95 % limits held the true risk in 90 to 95 %, 86 to 95 % and 91 to 99 % of the
    rows where the true risks followed a link, and in 69, 44 and 25 % where risks were a step, which no link follows. Risks that are truly next to
    nothing are below them most often. :meth:`gevglm.AveragedLinks.calibration` shows whether risks are right on average.
    """

    def __init__(self, predicted: NDArray, draws: NDArray, index: pd.Index | None, alpha: float):
        self.predicted, self.draws, self.index, self.alpha = predicted, draws, index, alpha

    def summary_frame(self, alpha: float | None = None) -> pd.DataFrame:
        r"""Return columns ``mean``, ``mean_se``, ``mean_ci_lower`` and ``mean_ci_upper``.

        The limits are symmetric on the logit scale, :math:`\mathrm{expit}(\mathrm{logit}\, p \pm t s)`, with s the standard deviation of the logits of
        B draws, which are kept 1e-10 away from 0 and 1, and t the quantile of Student's distribution with B - 1 degrees of freedom.
        """
        alpha = self.alpha if alpha is None else alpha
        check_alpha(alpha)
        clipped = logit(np.clip(self.draws, CLOSEST, 1.0 - CLOSEST))
        middle = logit(np.clip(self.predicted, CLOSEST, 1.0 - CLOSEST))
        reach = student.isf(alpha / 2.0, len(clipped) - 1) * clipped.std(axis=0, ddof=1)
        columns = {
            "mean": self.predicted,
            "mean_se": self.draws.std(axis=0, ddof=1),
            "mean_ci_lower": expit(middle - reach),
            "mean_ci_upper": expit(middle + reach),
        }
        return pd.DataFrame(columns, index=self.index)

    def _shown_parts(self) -> tuple[str, Sequence[Part], Sequence[str]]:
        frame, level = self.summary_frame(), f"{100.0 * (1.0 - self.alpha):g} %"
        title = (
            f"Average risks, with {level} limits by the bootstrap of the whole procedure ({len(self.draws)} resamples)"
        )
        shown = f", the first {MOST_ROWS} of {len(frame):,} rows" if len(frame) > MOST_ROWS else ""
        return title + shown, [Part("", frame.head(MOST_ROWS))], [WHAT_LIMITS_SHOW]
