"""What the summary of a fit with absorbed constants says of it, and why there is none of other methods."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gevglm.display.digits import iterations

if TYPE_CHECKING:
    from gevglm.panel.results import PanelResults

INSTEAD = {
    "risks": "constants belong to units; risks() and predict() have risks with them, and marginal_effects() effects on the risk",
    "assessment": "constants of units fit their own rows too well to be assessed on them; predict() rows that were held out, and use gevglm.calibration.assess",
    "rows": "rows of a unit share its constant; leave out units instead, or have C(unit) among the terms",
    "tests": "use anova() for terms, lr_tests() for columns, lr_test() for all of them, or wald_test",
    "fit": "llf, llnull, aic and bic compare fits to the same units, with all constants counted",
    "shape": "there is none; give xi='ml' to estimate one, or xi as a number",
    "files": "its constants are as many as there are units; use summary(), fixed_effects and predict()",
    "other": "have the constants as C(unit) among the terms to use it",
}


def facts_of(results: PanelResults) -> dict[str, str]:
    """Return what stands above the slopes: units, events, likelihood."""
    likelihood = results.loss.is_likelihood
    method = "maximum likelihood" if likelihood else "minimum loss"
    levels = ", ".join(f"{name} ({n:,})" for name, n in zip(results.absorbed, results.n_levels, strict=True))
    return {
        "Dep. Variable": results.model.design.outcome,
        "Link": repr(results.link).replace("()", ""),
        "Loss": results.loss.name,
        "Method": method if results.bias is None else results.bias.title,
        "Covariance": results.cov_type,
        "Converged": f"{'yes' if results.converged else 'NO'}, {iterations(results.n_iter)}",
        "Absorbed": levels,
        "No. Observations": f"{results.nobs:g}",
        "Events": f"{results.n_events:g} ({100 * results.n_events / results.nobs:.3g} %)",
        "Events / unit": f"{results.events_per_unit:.3g}",
        "Log-Likelihood"
        if likelihood
        else "Canonical loss": f"{results.llf if likelihood else results._loss_value:.5g}",
        "Units left out": f"{results.n_units_dropped:,}",
    }


def notes_on_units(results: PanelResults) -> list[str]:
    """Return what is to be known of units that are left out, and of the estimator, in sentences."""
    notes = []
    for name, left in zip(results.absorbed, results.left_out, strict=True):
        if left.units:
            one = left.units == 1
            notes.append(
                f"{left.units:,} level{'' if one else 's'} of {name} ({left.rows:,} rows) {'has' if one else 'have'} one outcome only ({left.never:,} no event, "
                f"{left.always:,} nothing else), {'says' if one else 'say'} nothing about slopes, and {'was' if one else 'were'} left out."
            )
    if results.xi_bse is not None:
        lower, upper = results.xi_conf_int()
        notes.append(
            f"{results.link.shape_name} = {results.xi:.4g} was estimated by maximum likelihood: std err {results.xi_bse:.3g}, 95 % interval {lower:.3g} to "
            f"{upper:.3g}. The standard errors of the slopes account for it, those of the constants do not."
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
    return notes
