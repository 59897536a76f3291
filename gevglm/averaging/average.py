"""average_links(): the door; it turns the user's words into a model, folds and a procedure, and runs it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gevglm.averaging.averaged import AveragedLinks
from gevglm.averaging.candidates import candidates_of
from gevglm.averaging.procedure import Procedure
from gevglm.data.observations import one_way
from gevglm.data.row_weights import RowWeights
from gevglm.data.scope import caller_names
from gevglm.exceptions import (
    GevglmWarning,
    IncompatibleOptionsError,
    InvalidDataError,
    InvalidOptionError,
    unknown_option,
    warn,
)
from gevglm.inference.cross_validation import CRITERIA
from gevglm.inference.folds import make_folds
from gevglm.model import BinaryGLM
from gevglm.options import FitOptions, ModelOptions


def average_links(
    formula_or_endog: Any,
    data_or_exog: Any = None,
    links: Any = None,
    *,
    criterion: str = "log_loss",
    alpha: float | str = "cv",
    folds: Any = 5,
    groups: Any = None,
    rng: Any = 0,
    bias: Any = None,
    penalize_intercept: bool = False,
    standardize: bool | None = None,
    collinear: str = "drop",
    offset: Any = None,
    exposure: Any = None,
    freq_weights: Any = None,
    var_weights: Any = None,
    sampling_weights: Any = None,
    class_weight: Any = None,
    prevalence: Any = None,
    sampling: str = "prior",
    event: Any = None,
    subset: Any = None,
    missing: str = "drop",
    formula_engine: str | None = None,
    maxiter: int = 100,
    tol: float = 1e-8,
) -> AveragedLinks:
    r"""Average the risks that several links predict, with the weights that predict held-out outcomes best.

    Parameters
    ----------
    formula_or_endog, data_or_exog
        See :func:`gevglm.fit`; the rows must be in memory.
    links : sequence or mapping, optional
        Candidates: words or links, or names with ``link``, ``loss`` and ``xi`` for each. By default logit, probit, cloglog, and
        the canonical GEV and GEVc at xi = -1, -0.6, -0.2567, 0, 0.3, 0.6, 1.
    criterion : {"log_loss", "brier"}
        What penalties and weights make least on held-out rows.
    alpha : "cv" or float
        Ridge penalty, on standardised columns where cross-validation chooses it among 0.01, 0.1, 1, 10, 100, 1000 for each candidate; or the
        same number for all, 0 for none.
    folds, groups, rng
        See :func:`gevglm.inference.folds.make_folds`; `groups` are clusters, a column or an array, which folds and the bootstrap keep together. A
        number of folds that is larger than that of events or others is lowered to it, with a warning.
    bias : str or BiasReduction, optional
        With ``alpha=0`` only; folds then refit with it.
    penalize_intercept, standardize, collinear, maxiter, tol
    offset, exposure, freq_weights, var_weights, sampling_weights, class_weight, prevalence, sampling, event, subset, missing, formula_engine
        See :func:`gevglm.fit`.

    Returns
    -------
    AveragedLinks

    Notes
    -----
    With the risks :math:`p_{ij}` that candidate j predicts for row i without having seen its fold, the weights minimise the criterion of
    :math:`\sum_j w_j p_{ij}` over :math:`w_j \ge 0, \sum_j w_j = 1`, which is convex (:mod:`gevglm.averaging.optimum`), and are then moved towards
    equal ones by one part in n + 1. Weights are not probabilities that a link is true.

    Examples
    --------
    >>> import gevglm
    >>> data = gevglm.datasets.simulate_study(rng=1)
    >>> average = gevglm.average_links("event ~ age + smoker", data)
    >>> float(average.weights["weight"].sum().round(6))
    1.0
    """
    if criterion not in CRITERIA:
        raise unknown_option("criterion", criterion, CRITERIA)
    words = locals()
    if alpha == "cv" and bias is not None:
        raise IncompatibleOptionsError("bias and a ridge penalty cannot be combined; give alpha=0 with bias.")
    fit_options = replace(FitOptions.of(words), separation="warn")
    options = ModelOptions.of(words | {"clusters": groups, "link": "logit"})
    candidates = candidates_of(links)
    if data_or_exog is None:
        raise InvalidOptionError("give data: average_links(formula, data), or average_links(y, X).")
    if isinstance(formula_or_endog, str):
        scope = caller_names(formula_or_endog, subset)
        model = BinaryGLM.of_table(formula_or_endog, data_or_exog, options, scope)
    else:
        if subset is not None or formula_engine is not None:
            raise InvalidOptionError(
                "subset and formula_engine go with a formula; select the rows of the arrays yourself."
            )
        model = BinaryGLM.of_arrays(formula_or_endog, data_or_exog, options)
    if not model.design.has_rows:
        raise InvalidOptionError(
            "averaging over links holds out rows, which must be in memory, but the data are read in pieces; give a table."
        )
    fit_options.check(len(model.design.names))
    clusters = None if groups is None else one_way(model.design.grouping(groups))
    split = make_folds(model.endog, _possible(model, folds, clusters), rng, counts=model.design.counts, groups=clusters)
    procedure = Procedure(candidates, criterion, fit_options)
    return AveragedLinks(procedure, procedure.run(model, split), model, clusters, max(2, len(split)))


def _possible(model: BinaryGLM, folds: Any, clusters: NDArray | None) -> Any:
    """Return a number of folds that the rarer outcome allows."""
    if not isinstance(folds, (int, np.integer)) or isinstance(folds, bool):
        return folds
    counts = RowWeights.of(model.design).observations
    events = float(counts @ model.endog)
    rarer = int(min(events, counts.sum() - events))
    if rarer < 2:
        raise InvalidDataError(f"there are {rarer} observations of the rarer outcome; held-out scores need at least 2.")
    if rarer >= folds:
        return folds
    warn(
        f"there are {rarer} observations of the rarer outcome, so that {rarer} folds are made in place of {folds}.",
        GevglmWarning,
    )
    return rarer
