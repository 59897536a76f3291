"""The summary of a fit with absorbed constants."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from statsmodels.iolib.summary import Summary

from gevglm.calibration._summary_table import summary_table
from gevglm.results.summary import notes_on_fit_within

if TYPE_CHECKING:
    from gevglm.panel.results import PanelResults


def summary_of(results: PanelResults, alpha: float) -> Summary:
    """Summarise a fit: units, events, slopes, and what is to be known of them."""
    lower, upper = results.conf_int(alpha).T
    frame = pd.DataFrame(
        {
            "coef": np.asarray(results.params),
            "std err": results.bse,
            "z": results.tvalues,
            "P>|z|": results.pvalues,
            f"[{alpha / 2:g}": lower,
            f"{1 - alpha / 2:g}]": upper,
        },
        index=results.model.names,
    )
    likelihood = results.loss.is_likelihood
    method = "maximum likelihood" if likelihood else "minimum loss"
    levels = ", ".join(f"{name} ({n:,})" for name, n in zip(results.absorbed, results.n_levels, strict=True))
    facts = {
        "Dep. Variable": results.model.design.outcome,
        "Link": repr(results.link).replace("()", ""),
        "Loss": results.loss.name,
        "Method": method if results.bias is None else results.bias.title,
        "Covariance": results.cov_type,
        "Converged": f"{'yes' if results.converged else 'NO'}, {results.n_iter} iterations",
        "Absorbed": levels,
        "No. Observations": f"{results.nobs:g}",
        "Events": f"{results.n_events:g} ({100 * results.n_events / results.nobs:.3g} %)",
        "Events / unit": f"{results.events_per_unit:.3g}",
        "Log-Likelihood"
        if likelihood
        else "Canonical loss": f"{results.llf if likelihood else results._loss_value:.5g}",
        "Units left out": f"{results.n_units_dropped:,}",
    }
    return summary_table("Binary Regression Results, constants absorbed", facts, frame, notes_of(results))


def notes_of(results: PanelResults) -> list[str]:
    """Return what is to be known of a fit, in sentences."""
    notes = [results.cov_kwds["description"]]
    for name, left in zip(results.absorbed, results.left_out, strict=True):
        if left.units:
            notes.append(
                f"{left.units:,} levels of {name} ({left.rows:,} rows) have one outcome only ({left.never:,} no event, {left.always:,} nothing else), say "
                "nothing about slopes, and were left out."
            )
    components = results._fit.panel.components
    if components > 1:
        notes.append(f"The absorbed factors fall into {components} parts that share no level; each has a reference.")
    if results.bias is None and results.bias_of_slopes is not None and results.separation is None:
        shares = np.abs(results.bias_of_slopes) / np.sqrt(np.diagonal(results._fit.within.bread))
        notes.append(
            f"Estimated bias of maximum likelihood: up to {shares.max():.2g} standard errors; bias='firth' or 'correction' reduce it."
        )
    if results.all_units:
        notes.append(
            f"All units are in the fit: the mean fitted risk is {results.mean_risk_over_share:.3g} times the share of events."
        )
    return notes + notes_on_fit_within(results, " and ".join(results.absorbed))
