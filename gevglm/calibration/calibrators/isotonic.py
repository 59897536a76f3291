"""Isotonic calibration: the best of all increasing maps."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import isotonic_regression
from scipy.special import logit

from gevglm.calibration.bins import grouped
from gevglm.calibration.calibrators.base import Calibrator
from gevglm.calibration.sample import Sample


class Isotonic(Calibrator):
    """Isotonic regression of the outcomes on the score: the best of all increasing maps, in-sample.

    Parameters
    ----------
    increasing : bool
        Whether higher scores mean more events.
    interpolate : bool
        Join the levels linearly, or let each level reach to the next score.

    Attributes
    ----------
    blocks : DataFrame
        One row per level: ``score_min``, ``score_max``, ``rate``.

    Notes
    -----
    The lowest level is often exactly 0 and the highest 1, so that the log loss of new cases may be infinite.
    """

    word = "isotonic"
    _options = ("increasing", "interpolate")
    blocks: pd.DataFrame

    def __init__(self, *, increasing: bool = True, interpolate: bool = True):
        self.increasing, self.interpolate = bool(increasing), bool(interpolate)

    def _fit(self, sample: Sample) -> None:
        groups = grouped(sample.p, sample.y, sample.weight, len(sample.p))
        fit = isotonic_regression(groups.rate, weights=groups.weight, increasing=self.increasing)
        starts = np.flatnonzero(np.append(True, np.diff(fit.x) != 0.0))
        ends = np.append(starts[1:], len(fit.x)) - 1
        self.blocks = pd.DataFrame(
            {"score_min": groups.score[starts], "score_max": groups.score[ends], "rate": fit.x[starts]}
        )

    def predict(self, scores: ArrayLike) -> NDArray:
        """Return the probabilities of scores."""
        scores, rate = self._checked(scores), self.blocks["rate"].to_numpy()
        if self.interpolate:
            corners = self.blocks[["score_min", "score_max"]].to_numpy().ravel()
            return np.interp(scores, corners, np.repeat(rate, 2))
        level = np.searchsorted(self.blocks["score_min"].to_numpy(), scores, side="right") - 1
        return rate[np.maximum(level, 0)]

    def _log_odds(self, scores: NDArray) -> NDArray:
        return logit(self.predict(scores))

    def summary_frame(self, level: float = 0.95) -> pd.DataFrame:
        self._need_fit()
        return self.blocks

    def _facts(self) -> dict[str, str]:
        return {"Levels": str(len(self.blocks))}
