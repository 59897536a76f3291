"""ConditionalLogit: a design whose rows are in matched sets; what can be asked of such a model, and its fit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from statsmodels.base.model import LikelihoodModel

from gevglm.bias import Jeffreys, MeanReduction
from gevglm.conditional.covariance import covariance_of
from gevglm.conditional.likelihood import ConditionalLikelihood
from gevglm.conditional.results import ConditionalResults, ConditionalResultsWrapper
from gevglm.conditional.sets import MatchedSets
from gevglm.data import build
from gevglm.data.design import Design
from gevglm.data.gathered import gathered
from gevglm.engine.linalg import combinations, independent_columns, one_blas_thread
from gevglm.engine.monitor import Monitor
from gevglm.estimation.checks import FEW_EVENTS_PER_PARAMETER
from gevglm.estimation.newton import SolverResult
from gevglm.exceptions import (
    CollinearityError,
    CollinearityWarning,
    ConvergenceWarning,
    FewEventsWarning,
    GevglmWarning,
    IncompatibleOptionsError,
    InvalidDataError,
    InvalidOptionError,
    SeparationWarning,
    listed,
    warn,
)
from gevglm.inference.separation import Separation, find_directions
from gevglm.links import Logit
from gevglm.losses import Log
from gevglm.options import FitOptions, ModelOptions

UNIDENTIFIED = 1e-6  # share of the information at zero below which separation is looked for
CONSTANT = 1e-12  # spread within sets, as a share of the largest value, that is rounding
CONTINUOUS = 0.5  # different values per row from which a column of fractions is taken for a measurement
MOSTLY_SINGLE = 0.75  # from which any other is doubted
NO_MEANING = {
    "exposure": "it goes with link='cloglog'",
    "var_weights": "sets count by freq_weights=",
    "sampling_weights": "sets count by freq_weights=",
    "class_weight": "how many of the rows are cases is given",
    "prevalence": "how many of the rows are cases is given, and there are no risks in the population",
    "alpha": "there is no ridge penalty; use bias='firth'",
    "search_kwds": "there is nothing to search for",
    "use_t": "tests use the normal distribution",
    "resume": "the rows are in memory",
}


class ConditionalLogit(LikelihoodModel):
    """Logit of outcomes in matched sets, given the number of cases in each: the model behind ``fit(..., strata=...)``.

    Attributes
    ----------
    design : Design
        The rows of the sets with both outcomes, and the columns but the constant.
    sets : MatchedSets
    n_sets, n_sets_dropped, n_rows_dropped : int
        Sets with both outcomes, sets with one, and the rows of these, which say nothing and are left out.
    """

    def __init__(self, design: Design, strata: Any):
        design.need_rows("strata=", "read the table into memory")
        self.strata = strata if isinstance(strata, str) else None
        if self.strata is not None and self.strata in getattr(design.recipe, "used", ()):
            raise InvalidDataError(
                f"{strata!r} is strata= and also among the terms: the constants of sets, which drop out, explain all of it. Leave it out of the formula."
            )
        self.layout = design.layout
        codes = _codes(design, strata)
        design, codes = self._informative(_binary(design), codes)
        self.columns = np.delete(np.arange(len(design.names)), [] if design.constant is None else [design.constant])
        if not len(self.columns):
            raise InvalidDataError("the design has a constant only, which drops out of a conditional likelihood.")
        X = design.dense("strata=", "leave columns out")[:, self.columns]
        names = [design.names[j] for j in self.columns]
        self.design = replace(design, X=X, names=names, constant=None)
        self.loss = Log(Logit())
        self.sets = MatchedSets.of(X, design.y, codes, design.offset, _set_weights(design, codes))
        self.n_sets, self.n_events = len(self.sets.sizes), float(design.y.sum())
        self.nobs = design.n_rows
        super().__init__(*self.design.labelled(), missing="none", hasconst=False)
        if design.index is None:
            self.data.xnames = names

    @classmethod
    def of_table(
        cls, formula: str, data: Any, strata: Any, options: ModelOptions, scope: dict[str, Any], monitor: Monitor
    ) -> ConditionalLogit:
        """Build a model from a formula, a table, the sets, options, and the objects of the user's scope that the formula names."""
        facts = {"subset": options.subset, **options.columns()}
        data = gathered(data, formula, scope, [strata, *facts.values()])
        return cls(build.from_table(formula, data, scope, options.formula_engine, monitor, **facts), strata)

    @classmethod
    def of_arrays(cls, endog: Any, exog: Any, strata: Any, options: ModelOptions) -> ConditionalLogit:
        """Build a model from an outcome, a design matrix, the sets and options."""
        return cls(build.from_arrays(endog, exog, **options.columns()), strata)

    def initialize(self) -> None:
        """Leave what statsmodels looks for in a design with a constant."""
        self.df_model, self.df_resid = float(len(self.design.names)), float(self.nobs - len(self.design.names))

    def _informative(self, design: Design, codes: NDArray) -> tuple[Design, NDArray]:
        """Return the rows of the sets with both outcomes, and their sets."""
        sizes, cases = np.bincount(codes), np.bincount(codes, design.y)
        one_outcome = (cases == 0) | (cases == sizes)
        left = ~one_outcome[codes]
        self.n_sets_dropped, self.n_rows_dropped = int(one_outcome.sum()), int((~left).sum())
        if not left.any():
            never, single = int((cases == 0).sum()), int((sizes == 1).sum())
            raise InvalidDataError(
                f"none of the {len(sizes)} sets has both outcomes ({never} have no case, {len(sizes) - never} no control, {single} one row only): "
                "a conditional likelihood compares rows within sets. Is strata= the column that was matched on?"
            )
        if left.all():
            return design, codes
        return design.selected(np.flatnonzero(left)), np.unique(codes[left], return_inverse=True)[1]

    def predict(self, params: NDArray, exog: Any = None) -> NDArray:
        """Return the linear predictors of the rows of the model, or of a design matrix, without the constants of the sets."""
        X = self.exog if exog is None else np.asarray(exog)
        shift = self.design.offset if exog is None else None
        return X @ np.asarray(params) + (0.0 if shift is None else shift)

    def loglike(self, params: NDArray) -> float:
        """Return the conditional log-likelihood."""
        return float(self.sets.weight @ self.sets.sums(np.asarray(params)).value)

    def score(self, params: NDArray) -> NDArray:
        """Return its gradient."""
        return self.sets.weight @ self.sets.sums(np.asarray(params)).score

    def hessian(self, params: NDArray) -> NDArray:
        """Return its second derivative."""
        return -self.sets.sums(np.asarray(params)).information

    def fit_by(self, options: FitOptions) -> ConditionalResultsWrapper:
        """Estimate the coefficients by options in one object; see :func:`gevglm.fit`."""
        options.check(len(self.design.names))
        with one_blas_thread():  # products are small, and threads would wait for each other
            return self._fitted(options, _is_firth(options))

    def _fitted(self, options: FitOptions, firth: bool) -> ConditionalResultsWrapper:
        kept, omitted = self._independent(options.collinear)
        sets = self.sets if not omitted else self._sets_of(kept)
        likelihood = ConditionalLikelihood(sets, penalised=firth)
        start = np.zeros(len(kept)) if options.start_params is None else np.asarray(options.start_params, float)[kept]
        found = likelihood.minimise(start, options.tol, options.maxiter)
        separation = None if firth or options.separation == "ignore" else self._separation(found, sets, kept)
        self._warn(found, separation, firth, len(kept), options)
        if options.disp:
            print(f"{'Converged' if found.converged else 'Not converged'} after {found.n_iter} steps: {found.reason}.")
        covariance = covariance_of(options.cov_type, options.cov_kwds, self.design, self.sets)
        return ConditionalResultsWrapper(
            ConditionalResults(self, likelihood, found, kept, omitted, covariance, separation)
        )

    def _sets_of(self, kept: list[int]) -> MatchedSets:
        design, sets = self.design, self.sets
        return MatchedSets.of(design.X[:, kept], design.y, sets.codes, design.offset, sets.weight)

    def _independent(self, collinear: str) -> tuple[list[int], dict[int, tuple[int, ...]]]:
        """Return the columns that vary within sets and are no combinations of others there, and those that are left out."""
        X, codes = self.design.X, self.sets.codes
        means = np.column_stack([np.bincount(codes, column) for column in X.T]) / self.sets.sizes[:, None]
        within = X - means[codes]
        largest = np.abs(X).max(axis=0)
        within[:, np.abs(within).max(axis=0) <= CONSTANT * largest] = 0.0
        within /= np.where(largest > 0.0, largest, 1.0)
        kept = independent_columns(within)
        dependent = [j for j in range(X.shape[1]) if j not in kept]
        if not dependent:
            return kept, {}
        omitted = combinations(within, dependent)
        text = omitted_text(omitted, self.design.names)
        if collinear == "raise" or not kept:
            raise CollinearityError(f"{text}; leave such columns out.")
        warn(f"left out, with a coefficient of 0: {text}. collinear='raise' refuses such columns.", CollinearityWarning)
        return kept, omitted

    def _separation(self, found: SolverResult, sets: MatchedSets, kept: list[int]) -> Separation | None:
        """Look for separation where the fit shows its symptoms: differences of cases and controls that a direction makes all positive."""
        null = np.diagonal(sets.sums(np.zeros(len(kept))).information)
        vanished = (np.diagonal(found.sums.hessian) < UNIDENTIFIED * null).any()
        if found.converged and not vanished:
            return None
        pairs = sets.pairs(self.design.X[:, kept], self.design.y)
        turned = np.arange(len(pairs)) % 2
        look = find_directions(
            np.where(turned[:, None], -pairs, pairs), 1.0 - turned, None, [self.design.names[j] for j in kept]
        )
        return look if look.separated else None

    def _warn(
        self, found: SolverResult, separation: Separation | None, firth: bool, k: int, options: FitOptions
    ) -> None:
        if separation is not None:
            kind = "completely" if separation.complete else "quasi-completely"
            warn(
                f"the outcomes are {kind} separated within sets: the estimates of {listed(separation.infinite)} are infinite, and what is reported "
                "for them is where the iteration ended. Use bias='firth'.",
                SeparationWarning,
            )
        elif not found.converged and options.maxiter > 0 and options.separation != "ignore":
            warn(f"the fit has not converged: {found.reason} ({found.n_iter} steps).", ConvergenceWarning)
        rarer = float(self.sets.weight @ np.minimum(self.sets.cases, self.sets.sizes - self.sets.cases))
        if not firth and separation is None and rarer < FEW_EVENTS_PER_PARAMETER * k:
            warn(
                f"{rarer:g} observations of the outcome that is rarer in its set for {k} coefficients are few; estimates are biased away from zero and intervals "
                "unreliable. Consider bias='firth'.",
                FewEventsWarning,
            )


def refuse_options(model: ModelOptions, fit: FitOptions) -> None:
    """Refuse what has no meaning beside strata=."""
    loss = model.resolve()
    if not loss.link.canonical_is_log or model.xi is not None:
        raise IncompatibleOptionsError(
            f"strata= needs link='logit', with which the constants of sets drop out, not {loss.link!r}; for other links have a coefficient for each set, "
            "C(set) with bias='firth'."
        )
    given = model.given() | fit.given()
    for word, reason in NO_MEANING.items():
        if word in given:
            raise IncompatibleOptionsError(f"{word}= and strata= cannot be combined: {reason}.")
    if fit.separation == "drop":
        raise IncompatibleOptionsError("separation='drop' and strata= cannot be combined; use bias='firth'.")


def known_for_rows(clusters: Any, strata: Any) -> Any:
    """Return what has to be known of a row to use it: its cluster, its set, or both where both are columns."""
    if strata is None or clusters is None:
        return clusters if strata is None else strata
    named = [[one] if isinstance(one, str) else one for one in (strata, clusters)]
    words = all(isinstance(one, (list, tuple)) and all(isinstance(name, str) for name in one) for one in named)
    return [*dict.fromkeys([*named[0], *named[1]])] if words else strata


def omitted_text(omitted: dict[int, tuple[int, ...]], names: list[str]) -> str:
    """Return which columns are left out and why, in words."""
    constant = [names[j] for j, others in omitted.items() if not others]
    others = [f"{names[j]} (of {listed([names[i] for i in parts], most=4)})" for j, parts in omitted.items() if parts]
    texts = [f"{listed(constant)}: constant within every set with both outcomes"] if constant else []
    texts += [f"{listed(others)}: a linear combination of other columns within sets"] if others else []
    return "; ".join(texts)


def _is_firth(options: FitOptions) -> bool:
    """Whether Firth's penalty is asked for; of the methods of bias reduction it alone is defined for conditional likelihoods."""
    bias = options.bias_reduction(Log(Logit()), None, None)
    if bias is None:
        return False
    if isinstance(bias, MeanReduction) or (isinstance(bias, Jeffreys) and bias.power == 0.5):
        return True
    raise IncompatibleOptionsError(f"bias={bias.word!r} is not defined for a conditional likelihood; use bias='firth'.")


def _codes(design: Design, strata: Any) -> NDArray:
    """Return the set of each row, numbered in the order of first appearance."""
    given = design.rows_of(strata, "strata")
    if given.shape[1] != 1:
        raise InvalidOptionError(
            f"strata has {given.shape[1]} columns; give one, such as d.groupby(['a', 'b']).ngroup()."
        )
    column = given.iloc[:, 0]
    missing = int(column.isna().sum())
    if missing:
        raise InvalidDataError(
            f"strata is missing in {missing} of the {design.n_rows} rows of the model; leave those rows out, or use missing='drop'."
        )
    codes, levels = pd.factorize(column)
    if len(levels) == design.n_rows:
        raise InvalidDataError(
            f"strata has {len(levels)} different values in {design.n_rows} rows, so that every set is one row; name the column that rows of a set share."
        )
    refuse_measurement(str(column.name) if isinstance(column.name, str) else "strata", column, levels)
    return codes


def refuse_measurement(name: str, column: pd.Series, levels: Any) -> None:
    """Refuse a column of fractions with many different values as what tells units or sets apart; warn of others with fewer than 4 rows for 3 values."""
    fractions = pd.api.types.is_float_dtype(column.dtype) and (np.asarray(levels, dtype=float) % 1.0 != 0).any()
    if not fractions and len(levels) > MOSTLY_SINGLE * len(column):
        warn(
            f"{name!r} has {len(levels)} different values in {len(column)} rows, so that most units or sets are one row, which says nothing about slopes: is it "
            "the column that they are told apart by?",
            GevglmWarning,
        )
    if fractions and len(levels) > CONTINUOUS * len(column):
        raise InvalidDataError(
            f"{name!r} has {len(levels)} different values with fractions in {len(column)} rows: it looks like a measurement, not like units or sets. "
            "As a column of the model it is one of the terms; codes of units and sets are integers or words."
        )


def _binary(design: Design) -> Design:
    if design.trials is not None or not np.isin(design.y, (0.0, 1.0)).all():
        raise InvalidDataError(
            "strata= needs outcomes of 0 and 1, one row for each member of a set, not counts or shares."
        )
    return design


def _set_weights(design: Design, codes: NDArray) -> NDArray:
    """Return how many sets each set stands for: the frequency weight that its rows share."""
    weight = np.ones(int(codes.max()) + 1)
    if design.freq is None:
        return weight
    weight[codes] = design.freq
    uneven = np.unique(codes[weight[codes] != design.freq])
    if len(uneven):
        raise InvalidDataError(
            f"freq_weights differ within {len(uneven)} of {len(weight)} sets; with strata= they say how many such sets there are, and are the same "
            "in all rows of a set."
        )
    return weight
