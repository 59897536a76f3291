"""Stability of a fit: how risks, decisions and calibration differ between models developed on resamples of the same data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit, logit

from gevglm.calibration._summary_table import summary_table
from gevglm.calibration.cox import cox_calibration
from gevglm.calibration.smooth import curve_grid, integrated_calibration
from gevglm.display.brief import Summarised
from gevglm.engine.monitor import progress_bar
from gevglm.exceptions import GevglmError, GevglmWarning, InvalidDataError, InvalidOptionError, warn, whole_number
from gevglm.results.calibration import as_sampled, predictions_by, refuse_weights_by_hand
from gevglm.results.clusters import kept_rows
from gevglm.results.core import ResultsCore
from gevglm.results.predicted_rows import single_outcomes
from gevglm.results.refit import Refit, refit_many

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary import Summary

LIMITS = (0.025, 0.975)


@dataclass(frozen=True, repr=False)
class Stability(Summarised):
    """How a fit would have differed had its data been a resample of themselves.

    Attributes
    ----------
    rows : DataFrame
        For each row of the fit: its ``risk``; ``mape``, the mean absolute difference between it and the risks by the refits; ``lower`` and ``upper``, between
        which 95 % of these lie; ``reclassified``, the share of refits that put it on the other side of the threshold (missing without one).
    calibration : DataFrame
        Of each refit, on the data of the fit: ``slope`` and ``in_the_large``; missing where they have no finite estimate.
    curves : DataFrame
        Smooth calibration curves of the refits on the data of the fit, a column each, by predicted risk, which is the index.
    risks : ndarray of shape (n, resamples)
        Risks of the rows by each refit.
    threshold : float or None
    failed : int
        Refits left out because they failed.
    """

    rows: pd.DataFrame
    calibration: pd.DataFrame
    curves: pd.DataFrame
    risks: NDArray
    threshold: float | None
    failed: int

    def summary_frame(self) -> pd.DataFrame:
        """Return means and quantiles over rows, and over refits for slope and calibration in the large."""
        quantities = {
            "MAPE of a risk": self.rows["mape"],
            "width of 95 % range": self.rows["upper"] - self.rows["lower"],
            "share reclassified": self.rows["reclassified"],
            "calibration slope": self.calibration["slope"],
            "calibration in the large": self.calibration["in_the_large"],
        }
        if self.threshold is None:
            del quantities["share reclassified"]
        columns = {"mean": np.nan, "2.5 %": 0.025, "median": 0.5, "97.5 %": 0.975}
        rows = {
            name: [values.mean() if q is np.nan else values.quantile(q) for q in columns.values()]
            for name, values in quantities.items()
        }
        return pd.DataFrame.from_dict(rows, orient="index", columns=list(columns))

    def summary(self) -> Summary:
        """Summarise."""
        facts = {
            "Refits": str(self.risks.shape[1]),
            "Failed": str(self.failed),
            "Rows": f"{len(self.rows):,}",
            "Threshold": "none" if self.threshold is None else f"{self.threshold:g}",
        }
        return summary_table("Stability by bootstrap", facts, self.summary_frame())

    def plot(self, kind: str = "prediction", ax: Axes | None = None) -> Axes:
        """Draw the instability; see :func:`gevglm.plots.plot_instability`.

        Parameters
        ----------
        kind : {"prediction", "mape", "classification", "calibration"}
        ax : Axes, optional
        """
        from gevglm.plots.stability import plot_instability

        return plot_instability(self, kind, ax=ax)

    def __str__(self) -> str:
        return str(self.summary())

    def _in_a_line(self) -> str:
        return f"{self.risks.shape[1]} refits, mean MAPE {self.rows['mape'].mean():.4g}"


class StabilityChecks(ResultsCore):
    """Stability of a fit; a part of :class:`gevglm.BinaryGLMResults`."""

    def stability(
        self,
        resamples: int = 200,
        *,
        threshold: float | None = None,
        groups: Any = None,
        rng: Any = 0,
        workers: int = 1,
        progress: bool = False,
    ) -> Stability:
        r"""Refit the whole procedure to resamples, and compare the risks of the rows of the fit.

        The mean absolute prediction error of row i over B refits is :math:`\frac{1}{B} \sum_b |\hat p_{bi} - \hat p_i|`.

        Parameters
        ----------
        resamples : int
        threshold : float, optional
            Risk from which an event is called, for the instability of decisions.
        groups, rng, workers, progress
            See :meth:`calibration`.

        Returns
        -------
        Stability
            With ``summary()``, ``rows`` and ``plot(kind)``.

        Notes
        -----
        Risks of a fit with ``prevalence=`` are those in the sample, as in :meth:`calibration`.

        References
        ----------
        Riley and Collins (2023), Biometrical Journal 65, 2200302.
        """
        self.model.design.need_rows("stability", "fit a table that is held in memory")
        refuse_weights_by_hand(self.model)
        resamples = whole_number("resamples", resamples, 2)
        if threshold is not None and not 0.0 < threshold < 1.0:
            raise InvalidOptionError(f"threshold={threshold!r} is not a risk; give a number between 0 and 1.")
        design, weights = self.model.design, kept_rows(self, groups)
        parts = (weights.draw(design.y, generator) for generator in np.random.default_rng(rng).spawn(resamples))
        refits = progress_bar(refit_many(self, parts, whole_number("workers", workers, 1)), resamples, progress)
        good, failed = _without_failures([again for _, again in refits])
        risks = np.stack([predictions_by(again, self.model.sampling, design) for again in good], axis=1)
        p = as_sampled(self.model.sampling, np.asarray(self.predict()))
        calibration, curves = _calibration(design.y, self.row_weights.effective_counts, p, risks)
        rows = _of_rows(p, risks, threshold, design.index)
        return Stability(rows, calibration, curves, risks, threshold, failed)


def _without_failures(answers: list[Refit | GevglmError]) -> tuple[list[Refit], int]:
    """Return the refits that have not failed, and how many have; warn of these."""
    good = [again for again in answers if not isinstance(again, GevglmError)]
    errors = [again for again in answers if isinstance(again, GevglmError)]
    if not good:
        raise InvalidDataError(f"all {len(answers)} refits failed; the first because {errors[0]}")
    if errors:
        lost = f"{len(errors)} of {len(answers)} refits failed and are left out; the first because {errors[0]}"
        warn(lost, GevglmWarning)
    return good, len(errors)


def _of_rows(p: NDArray, risks: NDArray, threshold: float | None, index: Any) -> pd.DataFrame:
    lower, upper = np.quantile(risks, LIMITS, axis=1)
    other = np.nan if threshold is None else ((risks >= threshold) != (p >= threshold)[:, None]).mean(axis=1)
    columns = {"risk": p, "mape": np.abs(risks - p[:, None]).mean(axis=1), "lower": lower, "upper": upper}
    return pd.DataFrame(columns | {"reclassified": other}, index=index)


def _calibration(y: NDArray, weights: NDArray | None, p: NDArray, risks: NDArray) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return slope and calibration in the large of each refit on all rows, and its smooth curve."""
    grid, lines, curves = curve_grid(p), [], []
    for of_refit in risks.T:
        sample = single_outcomes(y, of_refit, weights)
        try:
            cox, curve = cox_calibration(*sample), integrated_calibration(*sample).curve
            lines.append((float(cox.slope), float(cox.in_the_large)))
            curves.append(expit(np.interp(grid, curve.x, logit(curve.fitted), left=np.nan, right=np.nan)))
        except GevglmError:
            lines.append((np.nan, np.nan))
            curves.append(np.full(len(grid), np.nan))
    return pd.DataFrame(lines, columns=["slope", "in_the_large"]), pd.DataFrame(np.stack(curves, axis=1), index=grid)
