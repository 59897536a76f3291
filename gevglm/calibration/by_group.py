"""Calibration by group (hospital, country, year): each group's numbers, partly pooled, and their random-effects summary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit
from scipy.stats import norm, t

from gevglm.calibration._summary_table import summary_table
from gevglm.calibration.cox import cox_calibration
from gevglm.calibration.discrimination import auc_interval
from gevglm.calibration.estimates import checked_level
from gevglm.calibration.sample import predictions
from gevglm.display.brief import Summarised
from gevglm.exceptions import GevglmError, InvalidDataError, listed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary import Summary

# from the scale on which a measure is pooled to that on which it is read
MEASURES = {"O/E": np.exp, "constant": np.asarray, "slope": np.asarray, "AUC": expit}
LEAST = 3  # groups, from which there is a prediction interval


@dataclass(frozen=True)
class RandomEffects:
    """Random-effects summary: estimate, its standard error, and the standard deviation between groups, by REML."""

    estimate: float
    se: float
    tau: float
    k: int

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the confidence limits of the mean."""
        reach = norm.isf((1.0 - level) / 2.0) * self.se
        return self.estimate - reach, self.estimate + reach

    def prediction(self, level: float = 0.95) -> tuple[float, float]:
        r"""Return the limits for a new group, :math:`\hat\mu \mp t_{k-2} \sqrt{\hat\tau^2 + \mathrm{se}^2}`; missing for fewer than three."""
        if self.k < LEAST:
            return np.nan, np.nan
        reach = t.isf((1.0 - level) / 2.0, self.k - 2) * np.hypot(self.tau, self.se)
        return self.estimate - reach, self.estimate + reach


def random_effects(estimates: ArrayLike, variances: ArrayLike) -> RandomEffects:
    r"""Pool estimates of groups, :math:`y_i \sim N(\mu, \tau^2 + v_i)`, with :math:`\tau^2` by restricted maximum likelihood.

    .. math:: \ell(\tau^2) = -\tfrac12 \sum \ln(\tau^2 + v_i) - \tfrac12 \ln \sum w_i - \tfrac12 \sum w_i (y_i - \hat\mu)^2, \quad w_i = \frac{1}{\tau^2 + v_i}

    Its score is solved by Fisher's method, with steps halved at zero.
    """
    y, v = np.asarray(estimates, dtype=float), np.asarray(variances, dtype=float)
    tau2 = max(float(np.var(y, ddof=1) - v.mean()), 0.0) if len(y) > 1 else 0.0
    for _ in range(500 if len(y) > 1 else 0):
        w = 1.0 / (tau2 + v)
        away, trace = y - w @ y / w.sum(), w.sum() - w @ w / w.sum()
        score = w**2 @ away**2 - trace
        information = w @ w - 2.0 * (w**3).sum() / w.sum() + (w @ w / w.sum()) ** 2
        step = max(tau2 + score / information, 0.0) - tau2
        tau2 += step
        if abs(step) <= 1e-14 + 1e-12 * tau2:
            break
    w = 1.0 / (tau2 + v)
    return RandomEffects(float(w @ y / w.sum()), float(w.sum() ** -0.5), float(np.sqrt(tau2)), len(y))


@dataclass(frozen=True, repr=False)
class GroupCalibration(Summarised):
    """Calibration of predictions by group.

    Attributes
    ----------
    groups : DataFrame
        A row for each group: ``n``, ``events``, ``expected``, and for O/E, constant (calibration in the large), slope and AUC the estimate, its limits and
        ``pooled``, which lies between it and the mean of all groups, by their precisions. Missing where a group does not determine it.
    pooled : dict
        From measures to their random effects, of O/E on the logarithmic, of the AUC on the logit scale.
    level : float
    notes : tuple of str
        Which groups have no events, or no estimate of a measure.
    """

    groups: pd.DataFrame
    pooled: dict[str, RandomEffects]
    level: float
    notes: tuple[str, ...]

    def summary_frame(self) -> pd.DataFrame:
        """Return the mean of the groups with its limits, limits for a new group, and the standard deviation between groups as it was pooled."""
        rows = {}
        for name, found in self.pooled.items():
            read = MEASURES[name]
            numbers = (found.estimate, *found.interval(self.level), *found.prediction(self.level))
            rows[name] = (*(float(read(number)) for number in numbers), found.tau, found.k)
        columns = ["mean", "ci_lower", "ci_upper", "new_lower", "new_upper", "tau", "groups"]
        return pd.DataFrame.from_dict(rows, orient="index", columns=columns)

    def summary(self) -> Summary:
        """Summarise."""
        facts = {"Groups": str(len(self.groups)), "Observations": f"{self.groups['n'].sum():,.10g}"}
        facts |= {"Events": f"{self.groups['events'].sum():,.10g}", "Pooled": "random effects, REML"}
        return summary_table("Calibration by group", facts, self.summary_frame(), self.notes)

    def plot(self, measure: str = "O/E", ax: Axes | None = None) -> Axes:
        """Draw a forest plot; see :func:`gevglm.plots.plot_forest`."""
        from gevglm.plots.forest import plot_forest

        return plot_forest(self.groups, self.summary_frame(), measure, ax=ax)

    def __str__(self) -> str:
        return str(self.summary())

    def _in_a_line(self) -> str:
        means = ", ".join(f"{name} {value:.3f}" for name, value in self.summary_frame()["mean"].items())
        return f"{len(self.groups)} groups; {means}"


def calibration_by_group(
    y: ArrayLike, p: ArrayLike, by: ArrayLike, weights: ArrayLike | None = None, *, level: float = 0.95
) -> GroupCalibration:
    """Assess predictions in each group, and pool the groups by random effects.

    Parameters
    ----------
    y, p, weights : array_like
        See :func:`cox_calibration`.
    by : array_like
        Group of each row.
    level : float
        Coverage of the limits.

    References
    ----------
    Riley et al. (2016), BMJ 353, i3140; Higgins, Thompson and Spiegelhalter (2009), JRSS A 172, 137-159.
    """
    checked_level(level)
    labels, sample = np.asarray(by), predictions(y, p, weights)
    weight = np.ones(len(labels)) if weights is None else np.asarray(weights, dtype=float)
    if labels.shape != (len(weight),) or len(sample.y) != int((weight > 0.0).sum()):
        raise InvalidDataError(
            f"by has shape {labels.shape}, but there are {len(np.ravel(y))} rows; give the group of each."
        )
    labels = labels[weight > 0.0]
    if (missing := int(pd.isna(labels).sum())) > 0:
        raise InvalidDataError(
            f"by is missing in {missing} of {len(labels)} rows; leave them out, or name their group."
        )
    rows, found = {}, {}
    for name in pd.unique(labels):
        own = labels == name
        rows[name], found[name] = of_group(sample.y[own], sample.p[own], sample.weight[own])
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=["n", "events", "expected"])
    pooled, notes = {}, []
    z = norm.isf((1.0 - level) / 2.0)
    if lacking := [str(name) for name in frame.index[(frame["events"] == 0.0) | (frame["events"] == frame["n"])]]:
        notes.append(
            f"{listed(lacking)}: without events, or with nothing else; they count in n and expected, and are not pooled."
        )
    for measure, read in MEASURES.items():
        table = np.array([found[name].get(measure, (np.nan, np.nan)) for name in frame.index])
        known = np.isfinite(table).all(axis=1)
        if not known.any():
            continue
        pooled[measure] = random_effects(table[known, 0], table[known, 1])
        estimate, se = table[:, 0], np.sqrt(table[:, 1])
        frame[measure], frame[f"{measure} lower"] = read(estimate), read(estimate - z * se)
        frame[f"{measure} upper"], frame[f"{measure} pooled"] = (
            read(estimate + z * se),
            read(_shrunken(table, pooled[measure])),
        )
        silent = [str(name) for name in frame.index[~known] if str(name) not in lacking]
        if silent:
            notes.append(f"{listed(silent)}: no finite {measure}; not pooled.")
    if not pooled:
        raise InvalidDataError(f"none of the {len(frame)} groups has both outcomes.")
    return GroupCalibration(frame, pooled, level, tuple(notes))


def of_group(y: NDArray, p: NDArray, weight: NDArray) -> tuple[tuple[float, ...], dict[str, tuple[float, float]]]:
    """Return numbers of a group, and estimates with variances of the measures that it determines, as they are pooled."""
    total, events, expected = float(weight.sum()), float(weight @ y), float(weight @ p)
    found: dict[str, tuple[float, float]] = {}
    if 0.0 < events < total:
        found["O/E"] = np.log(events / expected), (1.0 - events / total) / events
        try:
            cox = cox_calibration(y, p, weight)
            found["constant"] = float(cox.in_the_large), cox.in_the_large.se**2
            found["slope"] = float(cox.slope), cox.slope.se**2
        except GevglmError:
            pass
        try:
            area = auc_interval(y, p, weight)
            if 0.0 < area < 1.0 and area.se > 0.0:
                found["AUC"] = float(logit(area)), (area.se / (float(area) * (1.0 - float(area)))) ** 2
        except GevglmError:
            pass
    return (total, events, expected), found


def _shrunken(table: NDArray, found: RandomEffects) -> Any:
    """Return the estimates of groups drawn to their mean, by precision; the mean for groups without one."""
    between = found.tau**2
    share = np.where(np.isfinite(table[:, 1]), between / (between + table[:, 1]), 0.0)
    return share * np.nan_to_num(table[:, 0]) + (1.0 - share) * found.estimate
