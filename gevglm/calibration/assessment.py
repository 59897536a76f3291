"""One look at predicted probabilities: every number, test and curve of calibration in one object."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from statsmodels.iolib.summary import Summary

from gevglm.calibration._summary_table import summary_table
from gevglm.calibration.belt import CalibrationBelt, calibration_belt
from gevglm.calibration.bins import PICTURE_GROUPS, Groups, grouped
from gevglm.calibration.bootstrap import CURVES, bootstrap_intervals
from gevglm.calibration.corp import Reliability, reliability
from gevglm.calibration.cox import CoxCalibration, cox_calibration
from gevglm.calibration.estimates import CalibrationTest, Measured, checked_level, where_from
from gevglm.calibration.hypothesis_tests import hosmer_lemeshow, pregibon, spiegelhalter, stukel
from gevglm.calibration.metrics import all_indices, infinite_log_loss
from gevglm.calibration.sample import Clusters, Sample, predictions
from gevglm.calibration.smooth import IntegratedCalibration, integrated_calibration
from gevglm.display.brief import Summarised
from gevglm.engine.linalg import one_blas_thread
from gevglm.exceptions import InvalidDataError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Answer = TypeVar("Answer")


@dataclass(frozen=True, repr=False)
class Assessment(Summarised):
    """How well predicted probabilities fit the outcomes.

    Attributes
    ----------
    n, n_events : float
    mean_prediction : float
    indices : dict
        From names to numbers; those with a standard error are :class:`~gevglm.calibration.estimates.Measured`.
    tests : dict
        From names to :class:`~gevglm.calibration.estimates.CalibrationTest`.
    reliability : Reliability
        The isotonic curve with its band.
    cox : CoxCalibration or None
    smooth : IntegratedCalibration or None
    belt : CalibrationBelt or None
        None where the predictions do not allow them; `notes` say why.
    groups : Groups
        Neighbouring predictions put together, for pictures.
    notes : tuple of str
    level : float
        Coverage of the intervals.
    in_sample : bool
    """

    n: float
    n_events: float
    mean_prediction: float
    indices: dict[str, float]
    tests: dict[str, CalibrationTest]
    reliability: Reliability
    cox: CoxCalibration | None
    smooth: IntegratedCalibration | None
    belt: CalibrationBelt | None
    groups: Groups
    notes: tuple[str, ...]
    level: float
    in_sample: bool

    def summary_frame(self) -> pd.DataFrame:
        """Return all numbers and tests: ``estimate``, ``se``, ``ci_lower``, ``ci_upper``, ``statistic``, ``df``, ``pvalue``."""
        rows = {}
        for name, value in self.indices.items():
            interval = (value.se, value.lower, value.upper) if isinstance(value, Measured) else (np.nan,) * 3
            rows[name] = (float(value), *interval, np.nan, np.nan, np.nan)
        for name, test in self.tests.items():
            estimate = rows.get(name, (np.nan,) * 7)[:4]
            rows[name] = (*estimate, test.statistic, test.df, test.pvalue)
        columns = ["estimate", "se", "ci_lower", "ci_upper", "statistic", "df", "pvalue"]
        return pd.DataFrame.from_dict(rows, orient="index", columns=columns)

    def summary(self) -> Summary:
        """Summarise; text, html and latex as of any statsmodels summary."""
        whole, digits = float(self.n).is_integer(), ".10g" if float(self.n).is_integer() else ".1f"
        facts = {
            "Observations" if whole else "Weighted observations": f"{self.n:,{digits}}",
            "Events": f"{self.n_events:,{digits}} ({100 * self.n_events / self.n:.3g} %)",
            "Mean prediction": f"{self.mean_prediction:.5g}",
            "Predictions": where_from(self.in_sample).removeprefix("predictions "),
        }
        frame = self.summary_frame()
        numbers, tests = frame.loc[list(self.indices)].iloc[:, :4], frame.loc[list(self.tests)].iloc[:, 4:]
        return summary_table(
            "Calibration of predicted probabilities", facts, [numbers, tests], self.notes, {"pvalue": ".3g"}
        )

    def plot(self, ax: Axes | None = None, scale: str | None = None, **options) -> Axes:
        """Draw the reliability diagram.

        Parameters
        ----------
        ax : Axes, optional
        scale : {"linear", "log", "logit"}, optional
            Of both axes; by default logarithmic if the median prediction is below 0.05.
        **options
            See :func:`gevglm.calibration.plot_reliability`.
        """
        from gevglm.plots.calibration import plot_reliability

        return plot_reliability(self, ax=ax, scale=scale, **options)

    def __str__(self) -> str:
        return str(self.summary())

    def _in_a_line(self) -> str:
        known = {
            name: f"{float(self.indices[name]):.4f}"
            for name in ("AUC", "Brier score", "calibration slope")
            if name in self.indices
        }
        return f"{self.n_events:,.10g} events in {self.n:,.10g} observations; " + ", ".join(
            f"{k} {v}" for k, v in known.items()
        )


def assess(
    y: ArrayLike,
    p: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    groups: Clusters | None = None,
    in_sample: bool = False,
    band: str | None = "consistency",
    smooth: str = "spline",
    belt: bool = True,
    bins: int = 10,
    level: float = 0.95,
    resamples: int = 500,
    rng: int | np.random.Generator | None = None,
) -> Assessment:
    """Assess predicted probabilities, of any model.

    Parameters
    ----------
    y : array_like
        Outcomes, 0 or 1.
    p : array_like
        Predicted probabilities.
    weights : array_like, optional
        How many observations each row stands for.
    groups : array_like, optional
        Cluster of each row, see Notes.
    in_sample : bool
        Whether the predictions were fitted to these data, as those of :meth:`gevglm.BinaryGLMResults.calibration` are without new data; not if they
        are cross-validated. The tests of Hosmer and Lemeshow and of the belt have to know, and the summary says it.
    band : {"consistency", "confidence", None}
        Band of the reliability curve, see :func:`reliability`.
    smooth : {"spline", "loess", "lowess"}
        Smooth curve of ICI, E50, E90 and Emax, see :func:`integrated_calibration`.
    belt : bool
        Whether to compute the calibration belt.
    bins : int
        Bins of the calibration loss, of the ECE and of the Hosmer-Lemeshow test.
    level : float
        Coverage of intervals and bands.
    resamples : int
    rng : int or Generator, optional
        Number and seed of the resamples behind the band, and behind the intervals of indices that have no simple standard error (see
        :func:`gevglm.calibration.bootstrap.bootstrap_intervals`).

    Returns
    -------
    Assessment
        With ``summary()``, ``summary_frame()`` and ``plot()``.

    Notes
    -----
    Every index has an interval: of Brier score, log loss and what follows from them by the delta method, of the AUC by DeLong's
    variance, of the recalibration model by Wald's, of the others by the bootstrap. ICI, E50, E90 and Emax with ``smooth="lowess"``, which
    has no weights to resample with, have none, nor have infinite numbers.

    With `groups`, clusters are independent, the rows in one are not. Intervals by the delta method and Wald's are by sums over clusters, that of the AUC is
    Obuchowski's, the bootstrap draws whole clusters, and the tests of Cox's model, Spiegelhalter, Stukel and Pregibon have variances of
    cluster sums. The tests of Hosmer and Lemeshow and of the belt, and the band of the reliability curve, rest on independent observations and are
    left out.

    In the design of a survey limits are those of the t distribution, with its degrees of freedom (for intercept and slope one less, as
    ``confint`` of a svyglm has them), and Cox's tests are F tests. With replicate weights Brier score, log loss, AUC, the ratio of observed to
    expected events and Cox's model are computed again with each.

    Probabilities of exactly 0 or 1 have no log-odds: the recalibration model, the belt and the tests of the link are then left
    out, the smooth curve is by loess, and the notes say so.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> p = rng.uniform(0.01, 0.3, size=2000)
    >>> y = rng.random(2000) < p
    >>> assess(y, p, rng=0).cox.test.pvalue > 0.05
    True
    """
    checked_level(level)
    sample = predictions(y, p, weights, groups=groups).need_counts("an assessment").need_distinct("an assessment")
    with one_blas_thread():  # columns are few: threads would only wait for each other
        order = np.argsort(sample.p, kind="stable")  # sorted once: sorting again is nearly free
        sample = sample.taken(order)
        data, clusters = (sample.y, sample.p, sample.weight), sample.clusters
        if clusters is not None:
            band, belt = None, False
        notes = _Notes(sample)
        cox = notes.unless_refused(
            "the recalibration model", lambda: cox_calibration(*data, groups=clusters, level=level)
        )
        method = "loess" if smooth == "spline" and notes.extreme else smooth
        curve = notes.unless_refused(
            "the smooth curve", lambda: integrated_calibration(*data, groups=sample.groups, method=method, level=level)
        )
        region = None
        if belt:
            region = notes.unless_refused(
                "the calibration belt", lambda: calibration_belt(*data, in_sample=in_sample, levels=(0.8, level))
            )
        rng = np.random.default_rng(rng)
        corp = reliability(*data, band=band, level=level, resamples=resamples, rng=rng)
        indices = all_indices(sample, cox, curve, corp, bins=bins, level=level)
        resampled = method if curve is not None and method in CURVES else None
        return Assessment(
            n=sample.total,
            n_events=sample.events,
            mean_prediction=sample.mean(sample.p),
            indices=indices
            if sample.replicates is not None
            else bootstrap_intervals(
                sample, indices, method=resampled, bins=bins, level=level, resamples=resamples, rng=rng
            ),
            tests=_tests(sample, cox, corp, region, bins, in_sample, notes),
            reliability=corp,
            cox=cox,
            smooth=curve,
            belt=region,
            groups=grouped(sample.p, sample.y, sample.weight, PICTURE_GROUPS),
            notes=tuple(notes.texts),
            level=level,
            in_sample=in_sample,
        )


class _Notes:
    """What could not be computed, and why."""

    def __init__(self, sample: Sample):
        zero, one = int((sample.p == 0.0).sum()), int((sample.p == 1.0).sum())
        self.extreme = bool(zero or one)
        self.texts: list[str] = []
        if self.extreme:
            self.texts.append(
                f"{zero} probabilities are exactly 0 and {one} exactly 1: they have no log-odds, so that recalibration, "
                "belt and link tests are left out."
            )
        reason = infinite_log_loss(sample)
        if reason:
            self.texts.append(f"The log loss is infinite: {reason}.")
        if sample.replicates is not None:
            number, kind = sample.replicates.weights.shape[1], sample.replicates.kind
            self.texts.append(
                f"Intervals and tests are those of {number:,} replicate weights ({kind}), with each of which the index is computed again. What has none, "
                "because it needs resamples or is a test of rows, is left out."
            )
        elif sample.groups is not None:
            self.texts.append(
                f"Intervals and tests {_taken_from(sample)}; band, belt and the tests of Hosmer and Lemeshow and of CORP cannot, and are left out."
            )

    def unless_refused(self, what: str, compute: Callable[[], Answer]) -> Answer | None:
        try:
            return compute()
        except InvalidDataError as error:
            if not self.extreme:
                self.texts.append(f"Without {what}: {error}")
            return None


def _taken_from(sample: Sample) -> str:
    if sample.units is None:
        return f"take the {sample.n_clusters} clusters as independent, not the observations in them"
    strata = len(sample.units.fractions)
    kinds = f"{strata:,} strat{'um' if strata == 1 else 'a'}, {sample.n_clusters:,} units"
    return f"are those of the survey design ({kinds}{', finite populations' if sample.units.finite else ''})"


def _tests(
    sample: Sample,
    cox: CoxCalibration | None,
    corp: Reliability,
    region: CalibrationBelt | None,
    bins: int,
    in_sample: bool,
    notes: _Notes,
) -> dict[str, CalibrationTest]:
    data, clusters = (sample.y, sample.p, sample.weight), sample.clusters
    tests: dict[str, CalibrationTest | None] = {}
    if cox is not None:
        tests = {
            "calibration in the large": cox.test_in_the_large,
            "calibration slope": cox.test_slope,
            "intercept 0 and slope 1": cox.test,
        }
    if sample.replicates is not None:
        return tests  # type: ignore[return-value]  # none of them is missing
    tests |= {
        "Spiegelhalter z": notes.unless_refused("Spiegelhalter's test", lambda: spiegelhalter(*data, groups=clusters)),
        "Hosmer-Lemeshow": None
        if clusters is not None
        else notes.unless_refused(
            "the Hosmer-Lemeshow test", lambda: hosmer_lemeshow(*data, bins=bins, in_sample=in_sample)
        ),
        "CORP, resampling": corp.test,
        "calibration belt": None if region is None else region.test,
        "Stukel": notes.unless_refused("Stukel's test", lambda: stukel(*data, groups=clusters)),
        "Pregibon link test": notes.unless_refused("Pregibon's test", lambda: pregibon(*data, groups=clusters)),
    }
    return {name: test for name, test in tests.items() if test is not None}
