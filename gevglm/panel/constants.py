"""The constants of units, and of the levels of a second factor, with their standard errors: a part of the results of panels."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gevglm.covariance.clusters import BY_LEVERAGE
from gevglm.exceptions import GevglmWarning, warn
from gevglm.panel.estimation import PanelFit


class Constants:
    """The constants of a fit; a part of :class:`gevglm.PanelResults`."""

    absorbed: list[str]
    _fit: PanelFit

    @cached_property
    def fixed_effects(self) -> pd.DataFrame:
        """The constants of the units in the fit, with standard errors: ``estimate``, ``std_err``, ``rows``, ``events``.

        With two absorbed factors, those of both, and the factor in the index; a level of the second factor, in each part of the data that shares no
        level with others, is the reference, with a constant of 0.
        """
        fit = self._fit
        panel, found = fit.panel, fit.within.estimate
        n, m = len(panel.groups), panel.groups.n_levels
        slopes = found.params[n + m :]
        estimate = found.params[:n] - slopes @ panel.centres
        of_units, of_levels = self._errors_of_constants()
        parts = [_table(panel.factors[0].levels, estimate, of_units, panel.groups.codes, panel)]
        if m:
            second = panel.factors[1]
            free = np.delete(np.arange(len(second)), panel.references)
            estimate, errors = np.zeros(len(second)), np.full(len(second), np.nan)
            estimate[free], errors[free] = found.params[n : n + m], of_levels
            parts.append(_table(second.levels, estimate, errors, second.codes, panel))
        if len(parts) == 1:
            return parts[0].rename_axis(panel.factors[0].name)
        return pd.concat(parts, keys=self.absorbed, names=["factor", "level"])

    def _errors_of_constants(self) -> tuple[NDArray, NDArray]:
        """Return the standard errors of the constants of units, and of the levels of a second factor; missing where there are none."""
        fit = self._fit
        groups = fit.panel.groups
        if groups.large or getattr(fit.covariance, "kind", "") in BY_LEVERAGE:
            return np.full(len(groups), np.nan), np.full(groups.n_levels, np.nan)
        with np.errstate(invalid="ignore"):  # two-way clusters may have negative variances
            of_units, of_levels = (np.sqrt(one) for one in fit.within.variances_of_constants(fit.covariance))
        if fit.nested:
            warn(
                f"the scores of a unit sum to {'zero' if fit.bias is None else 'next to nothing'}, so that clusters of whole units say nothing about the error of its constant: std_err is missing. "
                "Fit again without cov_type='cluster' for model-based errors of the constants.",
                GevglmWarning,
            )
            of_units = np.full(len(groups), np.nan)
        return of_units, of_levels

    @cached_property
    def _estimates_of_constants(self) -> list[pd.Series]:
        panel, params = self._fit.panel, self._fit.within.estimate.params
        n, m = len(panel.groups), panel.groups.n_levels
        series = [pd.Series(params[:n] - params[n + m :] @ panel.centres, index=panel.factors[0].levels)]
        if len(panel.factors) > 1:
            second = np.zeros(len(panel.factors[1]))
            second[np.delete(np.arange(len(second)), panel.references)] = params[n : n + m]
            series.append(pd.Series(second, index=panel.factors[1].levels))
        return series


def _table(levels: pd.Index, estimate: NDArray, errors: NDArray, codes: NDArray, panel: Any) -> pd.DataFrame:
    counts = panel.design.counts
    weight = np.ones(len(codes)) if counts is None else counts
    columns = {
        "estimate": estimate,
        "std_err": errors,
        "rows": np.bincount(codes, minlength=len(levels)),
        "events": np.bincount(codes, weight * panel.design.y, len(levels)),
    }
    return pd.DataFrame(columns, index=levels)
