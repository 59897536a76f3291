"""The summary: one statsmodels Summary that a referee can judge the fit by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from statsmodels.iolib.summary import Summary, summary_params

from gevglm.calibration._summary_table import EscapedSummary
from gevglm.estimation.checks import boundary_text
from gevglm.estimation.refusals import collinear_text
from gevglm.exceptions import listed
from gevglm.results.summary_facts import events_per_parameter, facts_of
from gevglm.results.update import STEPS

if TYPE_CHECKING:
    from gevglm.inference.posterior import Posterior
    from gevglm.inference.shape import ShapeEstimate
    from gevglm.results.core import ResultsCore

FEW_EVENTS_PER_PARAMETER = 10
FEW_DEGREES = 4  # of freedom
FEW_BEHIND = 3  # clusters behind a coefficient, effectively
OMITTED = "(omitted)"


def summary_of(
    results: ResultsCore,
    *,
    yname=None,
    xname=None,
    title=None,
    alpha: float = 0.05,
    method: str | None = None,
    exponentiate: bool = False,
) -> Summary:
    """Summarise a fit: link, loss, events, fit and warnings above and below the table of coefficients.

    The tests and intervals of the table are those of ``results.inference`` by default.
    """
    left, right = facts_of(results, method_of(results))
    summary = Summary()
    summary.add_table_2cols(
        results, gleft=left, gright=right, yname=yname, xname=xname, title=title or "Binary Regression Results"
    )
    method = method or results.inference
    notes = notes_of(results, method)
    if exponentiate:
        table, note = _ratios(results, yname, xname, alpha, method)
        notes = [note, *notes]
    else:
        table = _coefficients(results, yname, xname, alpha, method)
    summary.tables.append(table)
    summary.add_extra_txt(["Notes:"] + [f"[{i}] {note}" for i, note in enumerate(notes, 1)])
    return EscapedSummary.of(summary)


def _coefficients(results: ResultsCore, yname, xname, alpha: float, method: str):
    """Return the table of coefficients; by profile likelihood z is the signed root of the likelihood ratio."""
    limits = np.asarray(results.conf_int(alpha=alpha, method=method))
    return _table(results, results.estimates, np.asarray(results.bse), limits, yname, xname, alpha, method)


def _ratios(results: Any, yname, xname, alpha: float, method: str):
    """Return the table of exponentiated coefficients but the constant, and what they are."""
    ratios = results.exp_params(alpha=alpha, method=method)
    name = ratios.columns[0].replace("_", " ")
    limits = np.asarray(results.conf_int(alpha=alpha, method=method))
    every = results.model.population_link.ratios(np.column_stack([results.estimates, limits]))
    with np.errstate(over="ignore", invalid="ignore"):
        errors = every[:, 0] * np.asarray(results.bse)
    table = _table(results, every[:, 0], errors, every[:, 1:], yname, xname, alpha, method)
    table[0][1].data = name
    constant = results.model.design.constant
    if constant is not None:
        del table[constant + 1]
    return table, f"These are {name}s; their standard errors are by the delta method, tests are of the coefficients."


def _table(results: ResultsCore, estimates, errors, limits, yname, xname, alpha: float, method: str):
    z, pvalues = results.tests(method)
    by_t = bool(results.use_t) and method == "wald"
    numbers = (results, estimates, errors, z, pvalues, limits)
    table = summary_params(numbers, yname=yname, xname=xname, alpha=alpha, use_t=by_t)
    for j in np.flatnonzero(results.is_omitted):
        for cell, text in zip(table[j + 1][1:], ("0", OMITTED, "", "", "", ""), strict=True):
            cell.data = text
    if not results.covariance_is_known:
        for cell in (cell for row in table[1:] for cell in row[2:]):
            cell.data = ""
    return table


def method_of(results: ResultsCore) -> str:
    """Return how the coefficients were estimated, in words."""
    if results.updated is not None and results.updated.how != "refit":
        return f"update, {STEPS[results.updated.how]}"
    if results.bias is not None:
        return results.bias.title
    if results.posterior is not None:
        return "posterior mode"
    return (
        "minimum loss, ridge"
        if results.alpha
        else ("maximum likelihood" if results.loss.is_likelihood else "minimum loss")
    )


def notes_of(results: ResultsCore, method: str) -> list[str]:
    """Return what the reader of a summary has to know, in sentences."""
    updated = [] if results.updated is None else results.updated.sentences()
    return [*updated, *notes_on_inference(results, method), *_notes_on_the_fit(results)]


def notes_on_inference(results: ResultsCore, method: str) -> list[str]:
    """Return where standard errors, tests and intervals come from, in sentences."""
    notes = [results.cov_kwds["description"], *results.model.sampling.notes(), *notes_on_tests(results)]
    notes += notes_on_shape(results, results._shape) if results._shape is not None else []
    if results.posterior is not None:
        return [*notes, *_notes_on_posterior(results, results.posterior, method)]
    if results.search is not None:
        choices = {results.link.shape_name: results.model.options.shape_choice, "alpha": results.options.alpha}
        chosen = [name for name, choice in choices.items() if choice == "cv"]
        notes.append(
            f"{' and '.join(map(str, chosen))} {'was' if len(chosen) == 1 else 'were'} chosen by {results.search.criterion} on held-out rows "
            f"({results.search.folds} folds); standard errors are conditional on {'it' if len(chosen) == 1 else 'them'}."
        )
    if method == "profile":
        penalised = "penalised " if results.bias is not None else ""
        notes.append(f"Tests (z is the signed root of the ratio) and intervals are by profile {penalised}likelihood.")
    if results.alpha:
        columns = ", on coefficients of standardised columns" if results.options.standardized else ""
        notes.append(f"Penalised (alpha = {results.alpha:g}{columns}): the intervals are approximate.")
    return notes


def notes_on_fit_within(results: Any, groups: str) -> list[str]:
    """Return what went wrong or was left out in a fit that compares rows within groups, such as sets or units, in sentences."""
    notes = []
    if results.separation is not None:
        notes.append(f"SEPARATED, {results.separation}. Use bias='firth'.")
    elif not results.converged:
        notes.append(f"NOT CONVERGED: {results.reason}. Do not use these estimates.")
    if results.omitted:
        listing = ", ".join(results.omitted)
        notes.append(
            f"Left out, because they do not vary within {groups} or are combinations of others there: {listing}."
        )
    if results.model.design.n_missing:
        notes.append(f"{results.model.design.n_missing} rows with missing values were dropped.")
    return notes


def notes_on_tests(results: ResultsCore) -> list[str]:
    """Return what clusters and degrees of freedom mean for tests, in sentences."""
    names, degrees = list(results.model.exog_names), results._degrees
    notes = [] if results.clusters is None else results.clusters.notes(names)
    if degrees is None:
        return notes
    if degrees.note:
        return [*notes, degrees.note]
    if results.clusters is not None:  # degrees of freedom say what the warning would
        notes = [note for note in notes if not note.startswith("FEW CLUSTERS")]
    of_each = dict(zip(names, np.asarray(results.df_resid_inference), strict=True))
    of_each = {name: df for name, df in of_each.items() if np.isfinite(df)}
    listing = listed([f"{name} {df:.1f}" for name, df in of_each.items()])
    notes.append(f"t and F tests by Satterthwaite's degrees of freedom: {listing}.")
    behind = (
        dict.fromkeys(names, np.inf)
        if results.clusters is None
        else dict(zip(names, results.clusters.effective, strict=True))
    )
    low = [name for name, df in of_each.items() if df < FEW_DEGREES or behind[name] < FEW_BEHIND]
    if low:
        notes.append(
            f"FEW CLUSTERS: degrees of freedom below {FEW_DEGREES}, or effectively fewer than {FEW_BEHIND} clusters ({listed(low)}), where tests are conservative and depend on the model for their errors; "
            "look at wild_test() too. With one or two treated clusters no test holds its level and finds effects."
        )
    return notes


def _notes_on_posterior(results: ResultsCore, posterior: Posterior, method: str) -> list[str]:
    """Return what is known of coefficients and shape after ``xi="map"``, in sentences."""
    name, (lower, upper) = results.link.shape_name, results.xi_conf_int()
    notes = [
        f"{name} = {results.xi:.4g} at the mode; posterior mean {posterior.mean[-1]:.3g}, standard deviation {results.xi_bse:.3g}, 95 % interval "
        f"{lower:.3g} to {upper:.3g}; {posterior.effective_draws:,.0f} effective draws."
    ]
    if method == "posterior":
        notes.append(
            "Intervals are equal-tailed ones of the posterior; z is a mode over its posterior standard deviation."
        )
    return notes


def notes_on_shape(results: ResultsCore, shape: ShapeEstimate) -> list[str]:
    """Return what is known of an estimated shape, in sentences."""
    name = results.link.shape_name
    text = f"{name} = {shape.xi:.4g} was estimated by maximum likelihood"
    error = "" if shape.boundary else f"std err {results.xi_bse:.3g}, "
    lower, upper = results.xi_conf_int(method="profile" if results.has_data else "wald")
    if not np.isnan(lower):
        text += f": {error}95 % interval {lower:.3g} to {upper:.3g}"
    notes = [f"{text}. The standard errors of the coefficients account for it."]
    if shape.boundary:
        notes.append(
            f"The likelihood is largest at an end of the grid of shapes: {name} is not determined by these data. Standard errors are by its profile."
        )
    elif shape.irregular:
        notes.append(f"The maximum is irregular: {shape.irregular}. Standard errors are by the profile of {name}.")
    elif results.loss.is_likelihood and shape.xi < results.link.population.regular_above:
        notes.append(
            f"{name} is below {results.link.population.regular_above:g}, where rows near the end of the support dominate the information: prefer "
            f"conf_int(method='profile') to standard errors."
        )
    if results.bias is not None:
        notes.append(
            f"Tests and intervals are Wald's: {name} maximises the likelihood, the coefficients a penalised one, so that they have no profile together."
        )
    return notes


def _intervals_there(results: ResultsCore) -> str:
    """Return what is to be said of the intervals of a fit on the boundary."""
    if results.inference == "profile":
        return "the intervals keep all bounds"
    if results.cov_type == "nonrobust":
        return "conf_int(method='profile') has the intervals to report"
    return "intervals by them are rough, and loss='canonical' has no boundary"


def _notes_on_the_fit(results: ResultsCore) -> list[str]:
    """Return what may be wrong with the estimates, in sentences."""
    notes = []
    if results.known_separation is not None and results.known_separation.separated:
        profiled = results.model.design.readable and results.has_likelihood
        limits = "; conf_int(method='profile') has their finite limits" if profiled else ""
        notes.append(f"SEPARATED, {results.known_separation}. Use bias='firth'{limits}.")
    elif not results.converged:
        notes.append(f"NOT CONVERGED: {results.reason}. Do not use these estimates.")
    elif not results.positive_definite:
        notes.append("The second derivative is not positive definite: the solution may not be a minimum.")
    if results.boundary is not None:
        notes.append(f"ON THE BOUNDARY: {boundary_text(results.model, results.boundary)}; {_intervals_there(results)}.")
    elif results.n_outside_support:
        n = results.n_outside_support
        notes.append(
            f"{n} observation{' lies' if n == 1 else 's lie'} outside the support of the link, where the fitted probability is 0 or 1; "
            f"the outcome contradicts it in {results.n_contradicted} of them."
        )
    if results.bias is None and not results.alpha and events_per_parameter(results) < FEW_EVENTS_PER_PARAMETER:
        notes.append(
            f"Only {events_per_parameter(results):.3g} observations of the rarer outcome per parameter: estimates are biased away from zero."
        )
    if results.left_out:
        notes.append(f"{results.left_out}, and were left out (separation='drop').")
    combined = {j: others for j, others in results.model.design.omitted.items() if others or not results.left_out}
    if combined:
        notes.append(f"Left out: {collinear_text(combined, results.model.exog_names)}.")
    if results.model.design.n_missing:
        notes.append(f"{results.model.design.n_missing} rows with missing values were dropped.")
    return notes
