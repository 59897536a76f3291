"""adapt_class_weight(): the class weights of AdaClassWeight for a formula, also on data in pieces."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gevglm.api import fit
from gevglm.data.row_weights import RowWeights
from gevglm.engine import Block, Reducer
from gevglm.exceptions import ConvergenceWarning, IncompatibleOptionsError, InvalidOptionError, warn, whole_number
from gevglm.links.base import BinaryLink
from gevglm.results import BinaryGLMResults
from gevglm.weighting.adaptive import Rule
from gevglm.weighting.base import SAID_ONCE, check_number
from gevglm.weighting.classes import ClassSample


@dataclass(frozen=True)
class AdaptedClassWeight:
    """Class weights that serve the rare class, and the fit under them.

    Attributes
    ----------
    results : BinaryGLMResults
        The last fit; its predicted risks are those of the population, not of the weighted rows.
    class_weight : dict
        Weight of the outcomes 0 and 1; 1 is the event.
    threshold : float
        Risk above which a row is classified as an event: :math:`w_0 / (w_0 + w_1)`.
    history : DataFrame
        Weights and errors, one row per fit.
    stop_reason : str
        "tradeoff", "threshold", "hopeless" or "rounds".
    """

    results: BinaryGLMResults
    class_weight: dict[int, float]
    threshold: float
    history: pd.DataFrame
    stop_reason: str


class DecisionErrors(Reducer[Any]):
    """Observations of the outcomes 0 and 1, and how many of each are on the wrong side of a threshold of the risk."""

    def __init__(self, link: BinaryLink, params: NDArray, threshold: float):
        self.link, self.params, self.threshold = link, params, threshold

    def zero(self) -> NDArray:
        return np.zeros((2, 2))

    def map(self, block: Block) -> NDArray:
        given = RowWeights.of(block).in_sample
        size = np.ones(len(block.y)) if given is None else given
        called = self.link.inverse(block.linear_predictor(self.params)) > self.threshold
        no_event, event = size * (1.0 - block.y), size * block.y
        return np.array([[no_event.sum(), event.sum()], [no_event[called].sum(), event[~called].sum()]])

    def combine(self, total: NDArray, part: NDArray) -> NDArray:
        return total + part


def adapt_class_weight(
    formula: str,
    data: Any,
    *,
    rounds: int = 50,
    tradeoff: float = 1.0,
    threshold: float = 0.001,
    **options: Any,
) -> AdaptedClassWeight:
    r"""Find the class weights of :class:`~gevglm.weighting.AdaClassWeight` with :func:`gevglm.fit` as the learner, wherever the rows are.

    Each round fits under the class weights and raises them by the error rates of the classes,

    .. math:: w_{t+1}^+ = w_t^+ \exp(\epsilon_t^+), \quad w_{t+1}^- = w_t^- \exp(c\,\epsilon_t^-),

    until :math:`\epsilon_t^+ < c\,\epsilon_t^-`. A round reads the data as often as a fit does, and once more for the errors: rows are never
    held together, so that files, Dask and other data in pieces are treated as a table in memory is.

    Parameters
    ----------
    formula : str
    data : object
        As for :func:`gevglm.fit`: a table, files, a function that returns tables, a Dask DataFrame.
    rounds, tradeoff, threshold
        See :class:`AdaClassWeight`.
    **options
        Of :func:`gevglm.fit`; `link` is the logit by default.

    Returns
    -------
    AdaptedClassWeight

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=1000)
    >>> table = pd.DataFrame({"x": x, "y": rng.random(1000) < 1 / (1 + np.exp(4 - 2 * x))})
    >>> found = adapt_class_weight("y ~ x", [table[:400], table[400:]])
    >>> found.stop_reason, len(found.history), round(found.threshold, 3)
    ('tradeoff', 12, 0.074)
    """
    whole_number("rounds", rounds, 1)
    check_number("tradeoff", tradeoff, 0.0)
    check_number("threshold", threshold, 0.0, 1.0)
    if not isinstance(formula, str):
        raise InvalidOptionError(
            "adapt_class_weight() takes a formula and data; AdaClassWeight().fit(X, y) takes arrays."
        )
    taken = [
        word for word in ("class_weight", "prevalence", "absorb", "strata", "design") if options.get(word) is not None
    ]
    if taken or "|" in formula:
        raise IncompatibleOptionsError(
            f"{taken[0] + '=' if taken else 'constants after |'} cannot be combined with class weights that are found here; leave it out."
        )
    options = {"link": "logit"} | options
    rule, weights, order = Rule(tradeoff, threshold), np.ones(2), None
    records: list[dict[str, float]] = []
    for _ in range(rounds):
        with warnings.catch_warnings():
            for category in SAID_ONCE if records else ():
                warnings.simplefilter("ignore", category)
            results = fit(formula, data, **options, class_weight=dict(enumerate(weights.tolist())))
        options["start_params"] = np.asarray(results.params)
        cut = float(weights[0] / weights.sum())
        model = results.model
        sizes, wrong = model.engine().reduce(DecisionErrors(model.population_link, options["start_params"], cut))
        if order is None:
            order = np.argsort(-sizes, kind="stable")  # the main class first
        sample = ClassSample(tuple(order.tolist()), np.arange(2), sizes[order])
        errors = (wrong / sizes)[order]
        records.append(sample.named("weight", weights[order]) | sample.named("error", errors))
        reason, warning = rule.stopping(weights[order], sample, errors)
        if reason:
            break
        last, weights = weights, weights.copy()
        weights[order] = rule.raised(last[order], errors)
    else:
        weights, reason, warning = last, "rounds", None
    if warning:
        warn(warning, ConvergenceWarning)
    history = pd.DataFrame(records, index=pd.RangeIndex(1, len(records) + 1, name="round"))
    return AdaptedClassWeight(results, dict(enumerate(weights.tolist())), cut, history, reason)
