"""fit(): the one door; it turns the user's words into a model and fits it."""

from __future__ import annotations

from typing import Any

import pandas as pd
from numpy.typing import ArrayLike

from gevglm.conditional.model import ConditionalLogit, known_for_rows, refuse_options
from gevglm.conditional.results import ConditionalResultsWrapper
from gevglm.data.dialect import absorbed_in
from gevglm.data.scope import caller_names
from gevglm.data.sources import as_source
from gevglm.data.survey import Survey
from gevglm.data.tables import as_frame, suggestion
from gevglm.engine.monitor import monitoring
from gevglm.exceptions import IncompatibleOptionsError, InvalidDataError, InvalidOptionError
from gevglm.model import BinaryGLM
from gevglm.options import FitOptions, ModelOptions, known_arguments
from gevglm.panel.model import PanelGLM
from gevglm.panel.model import refuse_options as refuse_beside_constants
from gevglm.panel.results import PanelResultsWrapper
from gevglm.results import BinaryGLMResultsWrapper


@known_arguments
def fit(
    formula_or_endog: Any,
    data_or_exog: Any = None,
    *,
    xi: float | str | None = None,
    link: Any = None,
    loss: str | None = None,
    bias: Any = None,
    alpha: float | str = 0.0,
    penalize_intercept: bool = False,
    standardize: bool | None = None,
    search_kwds: dict[str, Any] | None = None,
    collinear: str = "drop",
    separation: str = "warn",
    strata: Any = None,
    absorb: Any = None,
    units: str | None = None,
    offset: Any = None,
    exposure: Any = None,
    freq_weights: Any = None,
    var_weights: Any = None,
    sampling_weights: Any = None,
    design: Survey | None = None,
    class_weight: Any = None,
    prevalence: Any = None,
    sampling: str = "prior",
    event: Any = None,
    subset: Any = None,
    missing: str = "drop",
    cov_type: str | None = None,
    cov_kwds: dict[str, Any] | None = None,
    use_t: bool | str | None = None,
    formula_engine: str | None = None,
    start_params: ArrayLike | None = None,
    maxiter: int = 100,
    tol: float = 1e-8,
    disp: bool = False,
    progress: bool | None = None,
    resume: Any = None,
) -> BinaryGLMResultsWrapper | ConditionalResultsWrapper | PanelResultsWrapper:
    """Fit a regression of a binary outcome, made for rare events.

    Parameters
    ----------
    formula_or_endog : str or array_like
        A formula such as ``"y ~ x1 + C(group)"``, with ``"y ~ x | unit"`` or ``"y ~ x | unit + year"`` for constants that are absorbed; or the outcome.
    data_or_exog : table or array_like
        With a formula: a pandas or polars DataFrame, a pyarrow Table, a dict of columns, any object with an Arrow stream, or the path of a csv,
        parquet, feather, Stata, SPSS, SAS or Excel file. Or data that are read in pieces and never held in memory: a pattern of file names, a
        folder, a list of files, a function that returns an iterable of DataFrames, a Dask DataFrame, a large lazy frame of polars, dataset of
        pyarrow or relation of DuckDB.
        With an outcome: the design matrix, dense or sparse (of SciPy, or sparse columns of pandas), as it is (no constant is added).
    xi : float, "ml", "map" or "cv", optional
        Shape of the GEV link (or of another link that has one); given alone it means ``link="gev", loss="canonical"``. "ml" maximises
        the likelihood over it; "map" finds the posterior of coefficients and shape (log loss) under a prior: by default N(0, 0.5) for the
        shape, cut off at -1 and 1.5, N(0, 2.5) for coefficients of standardised columns as log odds ratios (at the share of events), flat for the constant; "cv" chooses it by cross-validation.
    link : str or BinaryLink, optional
        "gev", "gevc", "logit", "probit", "cloglog", "loglog", "cauchit", or a link of :mod:`gevglm.links`.
    loss : {"canonical", "log"}, optional
        Canonical (convex) by default for GEV links, log (maximum likelihood) for the rest.
    bias : str or BiasReduction, optional
        Bias reduction, for few events and under separation: "mean" (alias "firth"), "median", "jeffreys", "correction", "king-zeng",
        "flic", "flac", "logf", or a method of :mod:`gevglm.bias` such as ``LogF(m=2)``.
    alpha, penalize_intercept, standardize : float or "cv", bool, bool
        Ridge penalty, whether it includes the constant, and whether it is on coefficients of standardised columns: by default where
        "cv" chooses it (as glmnet and rms do), and not where it is a number (as in statsmodels and scikit-learn).
    search_kwds : dict, optional
        How "ml" and "cv" search; for "map" its prior: ``xi_mean``, ``xi_scale``, ``coef_scale``, ``grid`` (whose ends are the range of the
        shape), and ``draws`` and ``rng``; see :meth:`gevglm.BinaryGLM.fit`.
    collinear : {"drop", "raise"}
        What to do with a column that is a linear combination of those before it: leave it out with a warning, in its place with a coefficient
        and a standard error of zero and neither test nor interval (NaN); or refuse it. A penalty that determines its coefficient keeps it.
    separation : {"warn", "drop", "ignore"}
        What to do if some estimates are infinite: warn; leave out the rows of levels with one outcome only, and their columns, before (as Stata
        and fixest do); or not look for it.
    strata : str or array_like, optional
        The matched set of each row: a column name or an array. The logit is then fitted by its conditional likelihood, given the cases of each set,
        whose constants drop out; sets with one outcome only are left out and counted. Of the bias reductions "firth" is defined. The results are
        :class:`gevglm.ConditionalResults`: log odds ratios within sets, and no risks.
    absorb : str, list of str or array_like, optional
        One or two factors, of any number of levels, whose constants are estimated and not shown: column names or arrays; with a formula also written after
        a ``|``. Units with one outcome only are left out and counted. The results are :class:`gevglm.PanelResults`.
    units : {"informative", "all"}, optional
        Whether a bias-reduced fit with absorbed constants uses the units with both outcomes (the default), or all of them.
    offset, exposure : str or array_like, optional
        Column names or arrays.
    freq_weights, var_weights, sampling_weights : str or array_like, optional
        How many observations a row is; how much it counts, as an inverse variance; how many members of the population it stands for (Stata's
        pweight), with linearised standard errors and no likelihood. All of them count in averages; rows of weight zero are left out.
    design : Survey, optional
        How the sample was drawn (strata, units, finite populations, replicate weights), from :func:`gevglm.survey`, with its weights. Standard
        errors, tests, risks and effects are those of the design, and `subset` is a domain of it.
    class_weight : "balanced" or dict, optional
        Weights ``{0: w0, 1: w1}`` of the classes, 1 being the event. The link is that of the population, with its odds multiplied by the
        weights in the fit (:class:`gevglm.links.Weighted`): coefficients and predictions are those of the population.
    prevalence : float or (float, float), optional
        Share of events in the population (or its range), for data sampled by the outcome; coefficients and predictions are then those of
        the population. Of a range, everything is computed for its middle in log odds, but
        :meth:`gevglm.BinaryGLMResults.risk_bounds` and :meth:`~gevglm.BinaryGLMResults.risk_change`, which go over all of it.
    sampling : {"prior", "weight"}
        How `prevalence` is used: through the likelihood of the sample, with any link (the default), or through weights.
    event : object, optional
        The level of the outcome that is the event, where that is not plainly 1 or True.
    subset : array_like or str, optional
        Rows to use.
    missing : {"drop", "raise", "none"}
        What to do with incomplete rows.
    cov_type, cov_kwds : str, dict
        "nonrobust" (the default), "HC0" (the default if rows are weighted by their outcome), "HC1" (or "robust"), "HC2", "HC3", "linearized"
        (HC0 times n/(n - 1), the default with sampling weights, and what Stata's ``logit, vce(robust)`` reports), "cluster" (``{"groups": ...}``) or "HAC" (``{"maxlags": ...}``).
    formula_engine : {"formulaic", "patsy"}, optional
    use_t, start_params, maxiter, tol, disp, progress, resume
        See :meth:`gevglm.BinaryGLM.fit`.

    Returns
    -------
    BinaryGLMResults, or ConditionalResults with `strata`, or PanelResults with absorbed constants

    Examples
    --------
    >>> import gevglm
    >>> data = gevglm.datasets.simulate_study(rng=1)
    >>> res = gevglm.fit("event ~ age + smoker", data, xi=0.5)
    >>> res.params.round(3)
    Intercept   -0.959
    age          0.011
    smoker       0.259
    dtype: float64
    """
    words = locals()
    formula = formula_or_endog if isinstance(formula_or_endog, str) else None
    if formula is not None:
        if data_or_exog is None:
            raise InvalidOptionError(f"the formula {formula!r} needs data: fit(formula, data).")
        formula, absorb = _with_absorbed(formula, data_or_exog, absorb)
        _check_columns(data_or_exog, strata=strata, absorb=absorb)
    elif data_or_exog is None:
        raise InvalidOptionError("an outcome needs a design matrix: fit(y, X).")
    elif subset is not None or formula_engine is not None:
        raise InvalidOptionError("subset and formula_engine go with a formula; select the rows of the arrays yourself.")
    _refuse_together(strata, absorb, units)
    fit_options = FitOptions.of(words)
    together = strata if absorb is None else absorb
    options = ModelOptions.of(words | {"clusters": known_for_rows(fit_options.clusters, together)})
    if strata is not None:
        refuse_options(options, fit_options)
    if absorb is not None:
        refuse_beside_constants(options, fit_options)
    if formula is None:
        if strata is not None:
            return ConditionalLogit.of_arrays(formula_or_endog, data_or_exog, strata, options).fit_by(fit_options)
        if absorb is not None:
            return PanelGLM.of_arrays(formula_or_endog, data_or_exog, absorb, options).fit_by(fit_options, units)
        return BinaryGLM.of_arrays(formula_or_endog, data_or_exog, options).fit_by(fit_options)
    scope = caller_names(formula, subset)
    with monitoring(progress) as monitor:
        if strata is not None:
            matched = ConditionalLogit.of_table(formula, data_or_exog, strata, options, scope, monitor)
            return matched.fit_by(fit_options)
        if absorb is not None:
            panel = PanelGLM.of_table(formula, data_or_exog, absorb, options, scope, monitor)
            return panel.fit_by(fit_options, units)
        model = BinaryGLM.of_table(formula, data_or_exog, options, scope, monitor)
    return model.fit_by(fit_options)


def _with_absorbed(formula: str, data: Any, absorb: Any) -> tuple[str, Any]:
    """Return a formula without what stands after its |, and the factors whose constants are absorbed."""
    if "|" not in formula:
        return formula, absorb
    source = as_source(data)
    formula, names = absorbed_in(formula, as_frame(data).columns if source is None else source.columns)
    if names and absorb is not None:
        raise IncompatibleOptionsError(
            f"absorb= and {' + '.join(names)!r} after the | say the same; leave one of them out."
        )
    return formula, names or absorb


def _check_columns(data: Any, **given: Any) -> None:
    """Refuse names of units or sets that are no columns, of a table whose columns can be told without reading it."""
    for role, names in given.items():
        words = [names] if isinstance(names, str) else names if isinstance(names, (list, tuple)) else []
        if words and all(isinstance(word, str) for word in words):
            columns = data.columns if isinstance(data, pd.DataFrame) else getattr(as_source(data), "columns", words)
            for word in words:
                if word not in columns:
                    raise InvalidDataError(f"{role}={word!r} is not a column of the data.{suggestion(word, columns)}")


def _refuse_together(strata: Any, absorb: Any, units: str | None) -> None:
    if strata is not None and absorb is not None:
        raise IncompatibleOptionsError(
            "strata= and absorbed constants cannot be combined: a conditional likelihood has no constants. Leave one of them out."
        )
    if units is not None and absorb is None:
        raise IncompatibleOptionsError("units= goes with absorbed constants, as in fit('y ~ x | unit', data).")
