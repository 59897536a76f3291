"""average_links(): the door; it turns the user's words into a model, folds and a procedure, and runs it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

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
from gevglm.options import FitOptions, ModelOptions, code_of, known_arguments


@known_arguments
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
        See :func:`gevglm.fit`; the rows must be in memory, because folds hold some of them out.
    links : sequence or mapping, optional
        Candidates: words or links, or names with ``link``, ``loss`` and ``xi`` for each. By default logit, probit, and both GEV links with their
        canonical loss at xi = -1, -0.6, -0.2567, 0, 0.3, 0.6, 1 and with the log loss at xi = -0.2567, 0 (log-log and complementary log-log), 0.3, 0.6.
    criterion : {"log_loss", "brier"}
        What penalties and weights make least on held-out rows.
    alpha : "cv" or float
        Ridge penalty: for each candidate the one among 0.01, 0.1, 1, 10, 100 and 1000, on standardised columns, from which its held-out score rises to both
        sides; or the same number for all, 0 for none.
    folds, rng
        See :func:`gevglm.inference.folds.make_folds`. A number of folds that is larger than that of the rarer outcome is lowered to it, with a
        warning. Folds may hold a row out more than once, such as those of scikit-learn's ``RepeatedStratifiedKFold``: all of its risks have a part
        in penalties and weights.
    groups : str or array_like, optional
        Clusters, which folds and the bootstrap keep together: a column or an array.
    bias : str or BiasReduction, optional
        With ``alpha=0`` only; fits without a fold then reduce bias, too.
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
    equal ones by one part in n + 1: equations :eq:`stacked-risk` to :eq:`weight-floor` of the theory pages. Weights are not probabilities that a link is
    true.

    Examples
    --------
    >>> import gevglm
    >>> data = gevglm.datasets.simulate_study(rng=1)
    >>> average = gevglm.average_links("event ~ age + smoker", data)
    >>> float(average.weights["weight"].sum().round(6))
    1.0
    """
    words = locals()
    if criterion not in CRITERIA:
        raise unknown_option("criterion", criterion, CRITERIA)
    if bias is not None and alpha != 0:
        raise IncompatibleOptionsError(
            f"bias={bias!r} and a ridge penalty (alpha={alpha!r}) cannot be combined; give alpha=0 with bias."
        )
    if isinstance(alpha, str) and alpha != "cv":
        raise InvalidOptionError(f"alpha={alpha!r} is neither a number nor 'cv'.")
    if data_or_exog is None:
        raise InvalidOptionError("give data: average_links(formula, data), or average_links(y, X).")
    candidates = candidates_of(links)
    for loss in candidates.values():  # refuses an exposure, where its logarithm does not make a rate
        ModelOptions(loss=loss, exposure=exposure).resolve()
    model = _model(words | {"loss": next(iter(candidates.values()))})
    options = FitOptions.of(words)
    options.check(len(model.design.names))
    if alpha != "cv":
        model.penalty(alpha)  # refuses what is no penalty, which is not the fault of a candidate
    clusters = None if groups is None else one_way(model.design.grouping(groups))
    split = make_folds(model.endog, _possible(model, folds), rng, counts=model.design.counts, groups=clusters)
    procedure = Procedure(candidates, criterion, options)
    code = _code(model, options, words)
    passes = split.passes(model.design.counts)
    return AveragedLinks(procedure, procedure.run(model, split), model, clusters, len(split), passes, code)


def _model(words: dict[str, Any]) -> BinaryGLM:
    """Return the rows, as a model of the first candidate."""
    outcome, data, subset = (words[name] for name in ("formula_or_endog", "data_or_exog", "subset"))
    options = ModelOptions.of(words | {"clusters": words["groups"]})
    if isinstance(outcome, str):
        model = BinaryGLM.of_table(outcome, data, options, caller_names(outcome, subset))
    elif subset is not None or words["formula_engine"] is not None:
        raise InvalidOptionError("subset and formula_engine go with a formula; select the rows of the arrays yourself.")
    else:
        model = BinaryGLM.of_arrays(outcome, data, options)
    if not model.design.has_rows:
        raise InvalidOptionError(
            "averaging over links holds out rows, which must be in memory, but the data are read in pieces; give a table, such as a sample of the rows."
        )
    return model


def _code(model: BinaryGLM, options: FitOptions, words: dict[str, Any]) -> dict[str, str]:
    """Return the words of the call that differ from their defaults, as Python."""
    own = {"links": None, "criterion": "log_loss", "folds": 5, "groups": None, "rng": 0}
    given = {
        name: code_of(words[name], name)
        for name, default in own.items()
        if words[name] is not default and not (np.isscalar(words[name]) and words[name] == default)
    }
    if isinstance(words["links"], Sequence):
        given["links"] = f"[{', '.join(code_of(link, 'link') for link in words['links'])}]"
    of_fit = {name: text for name, text in options.code().items() if name != "alpha"}
    alpha = {} if options.alpha == "cv" else {"alpha": code_of(options.alpha, "alpha")}
    return given | alpha | of_fit | {name: text for name, text in model.options.code().items() if name != "loss"}


def _possible(model: BinaryGLM, folds: Any) -> Any:
    """Return a number of folds that the rarer outcome allows."""
    if not isinstance(folds, (int, np.integer)) or isinstance(folds, bool):
        return folds
    counts = RowWeights.of(model.design).observations
    events = float(counts @ model.endog)
    rarer = int(min(events, counts.sum() - events))
    if rarer < 2:
        seen = "is 1 observation" if rarer else "are 0 observations"
        raise InvalidDataError(f"there {seen} of the rarer outcome; weights by held-out outcomes need at least 2.")
    if rarer >= folds:
        return folds
    warn(
        f"there are {rarer} observations of the rarer outcome, so that {rarer} folds are made in place of {folds}.",
        GevglmWarning,
    )
    return rarer
