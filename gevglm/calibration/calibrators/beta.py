"""Beta calibration of scores that are probabilities."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gevglm.calibration._logistic import LogisticFit, fit_logistic
from gevglm.calibration.calibrators.base import LogisticCalibrator
from gevglm.calibration.sample import Sample
from gevglm.exceptions import InvalidDataError, InvalidOptionError, unknown_option


class Beta(LogisticCalibrator):
    r"""Beta calibration of scores between 0 and 1.

    .. math:: \mathrm{logit}\,P(y = 1 \mid s) = a \ln s - b \ln(1 - s) + c, \quad a, b \ge 0

    Parameters
    ----------
    parameters : {"abm", "am"}
        All three free, or a = b (Platt's calibration of the log-odds).
    clip : float
        Scores are first moved to [clip, 1 - clip]; with ``clip=0``, scores of exactly 0 or 1 are refused.

    Notes
    -----
    A coefficient that would be negative is 0, so that the map increases; it then has no standard error.

    References
    ----------
    Kull, Silva Filho and Flach (2017), Electronic Journal of Statistics 11, 5052-5080.
    """

    word = "beta"
    of_probabilities = True
    _options = ("parameters", "clip")
    VARIANTS = ("abm", "am")

    def __init__(self, parameters: str = "abm", *, clip: float = 1e-6):
        if parameters not in self.VARIANTS:
            raise unknown_option("parameters", parameters, self.VARIANTS)
        if not 0.0 <= clip < 0.5:
            raise InvalidOptionError(f"clip={clip!r} must be at least 0 and less than 0.5.")
        self.parameters, self.clip = parameters, float(clip)

    def _columns(self, scores: NDArray) -> NDArray:
        """Constant, ln s and -ln(1 - s); the constant and their sum for a = b."""
        outside = (scores < -self.clip) | (scores > 1.0 + self.clip)
        if outside.any():
            raise InvalidDataError(
                f"beta calibration needs scores between 0 and 1; {int(outside.sum())} of {len(outside)} are not "
                f"(the first is {scores[outside][0]:g})."
            )
        clipped = np.clip(scores, self.clip, 1.0 - self.clip)
        end = (clipped == 0.0) | (clipped == 1.0)
        if end.any():
            raise InvalidDataError(
                f"{int(end.sum())} of {len(end)} scores are exactly 0 or 1, where beta calibration is infinite; use Beta(clip=1e-6)."
            )
        low, high = np.log(clipped), -np.log1p(-clipped)
        return np.column_stack([np.ones_like(low), *((low, high) if self.parameters == "abm" else (low + high,))])

    def _fit(self, sample: Sample) -> None:
        if self.parameters == "abm":
            sample.need_distinct("beta calibration with three parameters", 3)
        columns = self._columns(sample.p)
        names = ["c", "a", "b"] if self.parameters == "abm" else ["c", "a"]
        slopes = range(1, len(names))
        tried = [self._restricted(columns, sample, list(slopes))]
        if (tried[0].params[1:] < 0.0).any():
            tried = [self._restricted(columns, sample, keep) for keep in ([[1], [2], []] if len(names) == 3 else [[]])]
        feasible = [fit for fit in tried if (fit.params[1:] >= 0.0).all()]
        self._keep(names, max(feasible, key=lambda fit: fit.llf))

    def _restricted(self, columns: NDArray, sample: Sample, keep: list[int]) -> LogisticFit:
        """Fit with the other slopes at 0."""
        used, advice = [0, *keep], "The scores separate the outcomes."
        fit = fit_logistic(columns[:, used], sample.y, sample.weight, what="beta calibration", advice=advice)
        return fit.padded(used, columns.shape[1])

    def _log_odds(self, scores: NDArray) -> NDArray:
        return self._columns(scores) @ self.params.to_numpy()

    def _notes(self) -> list[str]:
        zero = [name for name in self.params.index[1:] if self.params[name] == 0.0]
        return [f"At the bound 0: {', '.join(zero)}."] if zero else []
