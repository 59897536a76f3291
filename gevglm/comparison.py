"""Models side by side: one table over links and losses, on scales that do not depend on them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import logit
from scipy.stats import norm

from gevglm.calibration.metrics import brier_score
from gevglm.data.row_weights import RowWeights
from gevglm.display.tables import Part, Shown
from gevglm.engine import MemoryEngine
from gevglm.engine.linalg import linear_predictor
from gevglm.estimation.estimate import Problem
from gevglm.exceptions import GevglmError, GevglmWarning, InvalidDataError, InvalidOptionError, nearest
from gevglm.inference.folds import Folds
from gevglm.links import Logit
from gevglm.losses import Log
from gevglm.report.publication import PublicationTable
from gevglm.report.publication_rows import TableOptions, publication_table
from gevglm.results import BinaryGLMResults
from gevglm.results.nested import is_nested, lr_test
from gevglm.results.refit import folds_of, refit_many

LINKS: dict[str, dict[str, Any]] = {
    name: {"link": name} for name in ("logit", "probit", "cloglog", "loglog", "cauchit")
}
LINKS |= {
    f"{name} {loss}": {"link": name.lower(), "loss": loss, "xi": "ml"}
    for name in ("GEV", "GEVc")
    for loss in ("log", "canonical")
}
CLOSEST = 1e-12  # to 0 and 1 that a probability may come before its logit is taken


@dataclass(frozen=True, repr=False)
class Comparison(Shown):
    """Fits of the same outcome, side by side.

    Attributes
    ----------
    results : dict of str to BinaryGLMResults
    table : DataFrame
        One row per model: ``link``, ``loss``, ``xi``, ``k``, ``llf`` (Bernoulli log-likelihood of the fitted probabilities), ``aic`` and
        ``bic`` (where the fit maximises a likelihood), ``cv_log_loss``, ``cv_brier`` and ``cv_slope`` (calibration slope), all three of
        predictions by refits of the whole procedure that have not seen the rows. Against the first model: ``lr``, ``lr_df`` and ``lr_p``, the
        likelihood-ratio test, where one of the two is nested in the other; ``vuong`` and ``vuong_p``, Vuong's test, positive where the first predicts
        worse, elsewhere.
    folds : int
    remarks : dict of str to list of str
        What was warned of when a model was fitted, or why it could not be.
    """

    results: dict[str, BinaryGLMResults]
    table: pd.DataFrame
    folds: int
    remarks: dict[str, list[str]]

    def _shown_parts(self) -> tuple[str, Sequence[Part], Sequence[str]]:
        notes = [f"{name}: {remark}" for name, remarks in self.remarks.items() for remark in remarks]
        tests = {test: [name for name in self.table if name.startswith(test)] for test in ("lr", "vuong")}
        absent = [test for test, names in tests.items() if self.table[names].isna().all(axis=None)]
        shown = self.table.drop(columns=[name for test in absent for name in tests[test]])
        against = " and ".join(test for test in tests if test not in absent)
        note = f"cv: {self.folds}-fold cross-validation of the whole procedure, with the choice of xi and alpha" + (
            f"; {against}: against {self.table.index[0]}." if against else "."
        )
        return "", [Part("", shown)], [note, *notes]

    def summary(
        self,
        *,
        stars: bool = False,
        interval: bool = False,
        decimals: int = 3,
        exp: bool = False,
        pvalues: bool = False,
        rename: Mapping[str, str] | None = None,
        drop: str | Sequence[str] = (),
        stats: Sequence[str] | None = None,
        caption: str = "",
        label: str = "",
    ) -> PublicationTable:
        """Return a table for publication: coefficients above their errors, and what describes each fit.

        Parameters
        ----------
        stars : bool
            Mark p-values below 0.05, 0.01 and 0.001.
        interval : bool
            Show 95 % limits instead of standard errors.
        decimals : int
        exp : bool
            Show odds ratios (logit) or hazard ratios (complementary log-log) instead of coefficients, without the constant.
        pvalues : bool
            Show p-values below the errors.
        rename : mapping of str to str, optional
            From rows to what they are called.
        drop : str or sequence of str
            Coefficients to leave out: names, patterns such as ``"year*"``, or terms of a formula, such as a factor with many levels. A row
            says which models have them.
        stats : sequence of str, optional
            The rows that describe each fit, among "link", "loss", "xi", "bias", "penalty", "covariance", "nobs", "events", "llf", "aic", "bic", "lr",
            "lr_pvalue", "prsquared", "log_loss", "brier", "auc" and "cv_slope".
        caption, label : str
            What the table is about, and its label in LaTeX.

        Returns
        -------
        PublicationTable
            With ``str()``, ``to_html()``, ``to_latex()``, ``to_markdown()``, ``to_docx()`` and ``frame``.
        """
        slopes = {name: float(self.table.loc[name, "cv_slope"]) for name in self.results}
        options = TableOptions(stars, interval, decimals, exp, pvalues, rename, drop, stats, caption, label)
        return publication_table(self.results, slopes, options)

    def plot(self, ax=None):
        """Draw the fitted probabilities against those of the first model; see :func:`gevglm.plots.plot_links`."""
        from gevglm.plots import plot_links

        first, *_ = self.results
        fitted = {name: np.asarray(res.predict()) for name, res in self.results.items()}
        return plot_links(fitted[first], first, {name: p for name, p in fitted.items() if name != first}, ax=ax)


def fit_links(
    formula_or_endog: Any,
    data_or_exog: Any = None,
    *,
    links: Mapping[str, Mapping[str, Any]] | Sequence[str] = tuple(LINKS),
    folds: Any = 5,
    groups: Any = None,
    rng: Any = 0,
    **options: Any,
) -> Comparison:
    """Fit the same model with many links and compare them.

    Parameters
    ----------
    formula_or_endog, data_or_exog
        See :func:`gevglm.fit`.
    links : sequence of str or mapping
        Names among "logit", "probit", "cloglog", "loglog", "cauchit", "GEV log", "GEV canonical", "GEVc log" and "GEVc canonical"; or
        names of your own with options of :func:`gevglm.fit` for each.
    folds, groups, rng
        See :func:`compare`.
    **options
        Of :func:`gevglm.fit`, for all of them.

    Returns
    -------
    Comparison
    """
    from gevglm.api import fit

    if not isinstance(links, Mapping):
        unknown = [name for name in links if name not in LINKS]
        if unknown:
            raise InvalidOptionError(
                f"links has {unknown}; known are {list(LINKS)}, or give a mapping of names to options.{nearest(unknown[0], LINKS)}"
            )
        links = {name: LINKS[name] for name in links}
    results: dict[str, Any] = {}
    remarks: dict[str, list[str]] = {}
    for name, words in links.items():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", GevglmWarning)
            try:
                results[name] = fit(formula_or_endog, data_or_exog, **words, **options)
            except GevglmError as error:
                remarks[name] = [f"not fitted: {error}"]
        remarks.setdefault(name, []).extend(str(warning.message) for warning in caught)
    if not results:
        raise GevglmError(f"no link could be fitted: {next(iter(remarks.values()))[0]}")
    return compare(results, folds=folds, groups=groups, rng=rng, remarks=remarks)


def compare(
    results: Mapping[str, BinaryGLMResults],
    *,
    folds: Any = 5,
    groups: Any = None,
    rng: Any = 0,
    remarks: Mapping[str, list[str]] | None = None,
) -> Comparison:
    """Compare fits of the same outcome.

    Parameters
    ----------
    results : mapping of str to BinaryGLMResults
    folds, rng
        See :func:`gevglm.inference.folds.make_folds`; every model is fitted anew without each fold by its whole procedure, the choice of xi
        and alpha included, as :meth:`BinaryGLMResults.calibration` does with ``resampling="cv"``. Observations are held out, also those
        behind a row with a frequency weight or trials.
    groups : str or array_like, optional
        Column or array of the clusters that folds keep together; by default those of the first model that is robust to clusters.
    remarks : mapping of str to list of str, optional
        On the fits, to be shown below the table.

    Returns
    -------
    Comparison
    """
    if not results:
        raise InvalidOptionError("there is nothing to compare: give a dict of names to results.")
    fits = _comparable(results)
    first = next(iter(fits.values()))
    clustered = next((res for res in fits.values() if res.cluster_groups is not None), first)
    split = folds_of(clustered, folds, rng, groups)
    notes = {name: list(texts) for name, texts in (remarks or {}).items()}
    rows = {}
    for name, res in fits.items():
        rows[name] = _facts(res) | _held_out_scores(name, res, split, notes) | _against(first, name, res, notes)
    table = pd.DataFrame.from_dict(rows, orient="index")
    return Comparison(dict(results), table, len(split), notes)


def _comparable(results: Mapping[str, Any]) -> dict[str, BinaryGLMResults]:
    """Return the results without their wrappers; refuse models that are not fitted to the same outcomes, or whose rows are gone."""
    fits = {name: getattr(res, "_results", res) for name, res in results.items()}
    first, *_ = fits.values()
    for name, res in fits.items():
        if not isinstance(res, BinaryGLMResults):
            raise InvalidOptionError(f"{name!r} is a {type(res).__name__}; give results of gevglm.fit.")
        if not res.has_data:
            raise InvalidDataError(
                f"the rows of {name!r} are not in memory (a saved model, or data in pieces), but each model is fitted anew to parts of them; "
                "fit it to a table in memory."
            )
        ours, other = first.model.endog, res.model.endog
        if ours.shape != other.shape or not np.array_equal(ours, other):
            raise InvalidDataError(
                f"{name!r} is fitted to other data ({res.model.design.outcome!r}, {len(other)} rows) than the first model "
                f"({first.model.design.outcome!r}, {len(ours)} rows); fit all of them to the same complete rows."
            )
        if not np.array_equal(first.row_weights.observations, res.row_weights.observations):
            raise InvalidDataError(
                f"the rows of {name!r} stand for other numbers of observations than those of the first model; fit all of them with the same "
                "frequency weights."
            )
    return fits


def _facts(res: BinaryGLMResults) -> dict[str, Any]:
    maximises = res.has_likelihood and res.bias is None and not res.alpha
    return {
        "link": type(res.link).__name__,
        "loss": res.loss.name,
        "xi": np.nan if res.xi is None else res.xi,
        "k": res.rank + (res._joint is not None),
        "llf": res._scalars["bernoulli_llf"],
        "aic": res.aic if maximises else np.nan,
        "bic": res.bic if maximises else np.nan,
    }


def _held_out_scores(name: str, res: BinaryGLMResults, folds: Folds, remarks: dict[str, list[str]]) -> dict[str, float]:
    """Return scores of the predictions by refits without each fold; missing, with a remark, where a refit fails."""
    try:
        surprise, y, p, weights = _held_out(res, folds)
    except GevglmError as error:
        remarks.setdefault(name, []).append(f"not cross-validated: {error}")
        return dict.fromkeys(("cv_log_loss", "cv_brier", "cv_slope"), np.nan)
    return {
        "cv_log_loss": float(np.average(surprise, weights=weights)),
        "cv_brier": brier_score(y, p, weights),
        "cv_slope": _slope(y, p, weights),
    }


def _held_out(res: BinaryGLMResults, folds: Folds) -> tuple[NDArray, NDArray, NDArray, NDArray]:
    """Return log loss, outcome, probability and weight of each row by the refit without its fold, one fold after the other."""
    found = []
    refits = refit_many(res, (train for train, _ in folds.parts))
    for (_, again), (_, test) in zip(refits, folds.parts, strict=True):
        if isinstance(again, GevglmError):
            raise again
        held = res.model.design.on_rows(test)
        linear = linear_predictor(held.X, np.asarray(again.params)) + (0.0 if held.offset is None else held.offset)
        surprise = Log(again.link).value(held.y, linear)
        found.append((surprise, held.y, again.link.inverse(linear), RowWeights.of(held).in_loss))
    surprise, y, p, weights = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return surprise, y, p, weights


def _slope(y: NDArray, p: NDArray, weights: NDArray) -> float:
    """Return the slope of a logistic regression on the logit of the predictions; 1 if they are calibrated."""
    score = logit(np.clip(p, CLOSEST, 1.0 - CLOSEST))
    engine = MemoryEngine(np.column_stack([np.ones_like(score), score]), y, freq=weights)
    found = Problem(engine, Log(Logit()), constant=0).estimate()
    return float(found.params[1]) if found.converged else np.nan


def _against(
    first: BinaryGLMResults, name: str, res: BinaryGLMResults, remarks: dict[str, list[str]]
) -> dict[str, float]:
    """Return the test of a model against the first: a likelihood ratio where they are nested, Vuong's elsewhere, whose distribution is wrong there."""
    tests = dict.fromkeys(("lr", "lr_df", "lr_p", "vuong", "vuong_p"), np.nan)
    if res is first:
        return tests
    for full, restricted in ((res, first), (first, res)):
        if is_nested(full, restricted):
            try:
                statistic, pvalue, df = lr_test(full, restricted)
            except GevglmError as error:
                remarks.setdefault(name, []).append(f"not tested against the first model: {error}")
                return tests
            return tests | {"lr": statistic, "lr_df": df, "lr_p": pvalue}
    return tests | _vuong(res, first)


def _vuong(res: BinaryGLMResults, first: BinaryGLMResults) -> dict[str, float]:
    """Return Vuong's z for two models that are not nested, and its two-sided p-value."""
    gain = _row_log_likelihood(res) - _row_log_likelihood(first)
    if res.model.design.var is not None or not np.isfinite(gain).all():  # sums of weighted rows are no likelihoods
        return {"vuong": np.nan, "vuong_p": np.nan}
    weights = res.row_weights.observations
    total = weights.sum()
    mean = float(weights @ gain / total)
    variance = float(weights @ (gain - mean) ** 2 / total)
    z = 0.0 if variance == 0.0 else mean * np.sqrt(total / variance)
    return {"vuong": float(z), "vuong_p": float(2.0 * norm.sf(abs(z)))}


def _row_log_likelihood(res: BinaryGLMResults) -> NDArray:
    return -Log(res.link).value(res.model.endog, res.model.predict(np.asarray(res.params), which="linear"))
