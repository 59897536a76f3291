"""One model and its tests of columns that it leaves out: chunk by chunk, over the cores, each column with a test or a reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import chi2

from gevglm.batches.columns import Columns
from gevglm.calibration.optimism import mapped
from gevglm.data.design import Design
from gevglm.engine.linalg import COLLINEAR, one_blas_thread
from gevglm.engine.memory import available_cores
from gevglm.exceptions import GevglmError, silenced
from gevglm.inference.column_fits import ColumnGroup
from gevglm.inference.saddlepoint import saddlepoint_pvalues
from gevglm.inference.score_scan import Counts, NullModel, column_counts, score_statistics
from gevglm.losses import Loss
from gevglm.model import BinaryGLM
from gevglm.options import FitOptions, ModelOptions

TESTS = ("score", "lr", "firth", "spa")
NUMBERS = ("observations", "mean", "carriers", "carrier_events", "coef", "se", "statistic", "pvalue")
SCORED, FITTED = 16, 8  # columns in the matrix products of one core, for score tests and for fits
SEPARATED = "separates the outcomes, so that its estimate is infinite: use test='firth'"


@dataclass(frozen=True)
class ColumnTests:
    """Tests of columns that a fitted model leaves out."""

    columns: Columns
    design: Design
    loss: Loss
    linear: NDArray  # the linear predictor of the fitted model
    test: str
    threshold: float  # of the p-values of score tests, below which columns are tested by another test

    @cached_property
    def null(self) -> NullModel:
        """The model without the columns."""
        return NullModel.of(self.loss, self.design.X, self.design.y, self.design.counts, self.linear)

    @cached_property
    def null_log_likelihood(self) -> float:
        """The log-likelihood of the model without the columns."""
        nothing = ColumnGroup(self.null, np.zeros((1, self.design.n_rows)))
        return float(nothing.log_likelihood(np.zeros((1, len(self.null.basis) + 1)))[0])

    def of(self, part: slice) -> pd.DataFrame:
        """Return the tests of some of the columns, one row for each."""
        return _Chunk(self, part).tested()


def untested(names: list[str], reason: str) -> pd.DataFrame:
    """Return the rows of columns that could not be tested."""
    return pd.DataFrame({"column": names, **dict.fromkeys(NUMBERS, np.nan), "test": "", "reason": reason})


class _Chunk:
    """Columns that are read together, with what is known of each."""

    def __init__(self, tests: ColumnTests, part: slice):
        self.tests, self.null = tests, tests.null
        self.names = tests.columns.names[part]
        self.values, self.reasons = tests.columns.numbers(part, tests.design)
        self.present = ~np.isnan(self.values)
        self.incomplete = ~self.present.all(axis=1)
        self.values[~self.present] = 0.0
        m = len(self.values)
        self.facts = {name: np.full(m, np.nan) for name in NUMBERS}
        self.kind = np.full(m, "", dtype=object)
        # of the model without each column, in the rows where it has values: coefficients, beside that of its own, and log-likelihood
        self.start = np.zeros((m, len(self.null.basis) + 1))
        self.lower = np.full(m, tests.null_log_likelihood)

    def tested(self) -> pd.DataFrame:
        """Make the tests."""
        self._refuse(~np.isfinite(self.values).all(axis=1), "has infinite values")
        self._refuse(~self.present.any(axis=1), "is missing in all rows")
        self._in_groups(self._score, ~self.incomplete, SCORED)
        self._in_groups(self._score_incomplete, self.incomplete, FITTED)
        below = self.facts["pvalue"] <= self.tests.threshold
        if self.tests.test == "spa":
            self._in_groups(self._saddlepoint, below, FITTED)
        elif self.tests.test != "score":
            self._in_groups(self._fit, below, FITTED)
        return pd.DataFrame({"column": self.names, **self.facts, "test": list(self.kind), "reason": self.reasons})

    def _in_groups(self, work: Callable[[NDArray], None], chosen: NDArray, size: int) -> None:
        """Hand the columns that were chosen, and not refused, to as many cores as there are."""
        left = np.array([j for j in np.flatnonzero(chosen) if not self.reasons[j]], dtype=int)
        cores = min(available_cores(), len(left)) or 1
        groups = np.array_split(left, -(-len(left) // min(size, -(-len(left) // cores)))) if len(left) else []

        def on_one_core(group: NDArray) -> None:
            with one_blas_thread(), silenced():
                work(group)

        list(mapped(on_one_core, groups, min(cores, len(groups)) or 1))

    def _refuse(self, which: NDArray, reason: str) -> None:
        for j in np.flatnonzero(which) if which.dtype == bool else which:
            self.reasons[j] = self.reasons[j] or reason

    def _group(self, at: NDArray, firth: bool = False) -> ColumnGroup:
        present = self.present[at] if self.incomplete[at].any() else None
        return ColumnGroup(self.null, self.null.without_the_others(self.values[at]), present, firth)

    def _score(self, at: NDArray) -> None:
        values = self.values[at]
        scores = score_statistics(self.null, values)
        constant, explained = np.ptp(values, axis=1) == 0.0, ~(scores.unexplained > COLLINEAR)
        self._refuse(at[constant], "is constant")
        self._refuse(at[explained & ~constant], "is a linear combination of the columns of the model")
        self._keep_counts(at, column_counts(self.null, values))
        good = ~(constant | explained)
        self._keep_scores(at[good], scores.score[good], scores.variance[good])

    def _score_incomplete(self, at: NDArray) -> None:
        """Test columns in the rows where they have values, for which the model is fitted anew."""
        values, present = self.values[at], self.present[at]
        self._keep_counts(at, column_counts(self.null, values, present))
        ends = values.max(axis=1, where=present, initial=-np.inf), values.min(axis=1, where=present, initial=np.inf)
        constant = ends[0] == ends[1]
        self._refuse(at[constant], "is constant")
        found = self._group(at).fit(self.start[at], held=True)
        good = found.converged & ~constant
        self.start[at], self.lower[at] = found.params, found.value
        self._keep_scores(at[good], found.score[good], 1.0 / found.variance[good])
        for j in at[~found.converged & ~constant]:
            self._test_alone(j, "score")

    def _keep_counts(self, at: NDArray, counts: Counts) -> None:
        for name, values in counts._asdict().items():
            self.facts[name][at] = values

    def _keep_scores(self, at: NDArray, score: NDArray, variance: NDArray) -> None:
        self.start[at, -1] = score / variance
        self._keep(at, "score", score / variance, variance**-0.5, score**2 / variance)

    def _keep(self, at: Any, kind: str, coef: Any, se: Any, statistic: Any) -> None:
        found = {"coef": coef, "se": se, "statistic": statistic, "pvalue": chi2.sf(statistic, 1)}
        for name, values in found.items():
            self.facts[name][at] = values
        self.kind[at] = kind

    def _fit(self, at: NDArray) -> None:
        """Test columns by the likelihood ratio of two fits, or the penalised one."""
        firth = self.tests.test == "firth"
        group = self._group(at, firth)
        found = group.fit(self.start[at])
        lower, good = self.lower[at], found.converged
        if firth:
            held = group.fit(self.start[at] * (np.arange(self.start.shape[1]) < len(self.null.basis)), held=True)
            lower, good = held.value, good & held.converged
        ratio = np.maximum(2.0 * (found.value - lower), 0.0)[good]
        self._keep(at[good], self.tests.test, found.coefficient[good], np.sqrt(found.variance[good]), ratio)
        for j in at[~good]:
            self._test_alone(j, self.tests.test)

    def _saddlepoint(self, at: NDArray) -> None:
        """Replace the p-values of score tests."""
        complete = at[~self.incomplete[at]]
        parts = [(complete, self.null, self.null.without_the_others(self.values[complete]))] if len(complete) else []
        for j in at[self.incomplete[at]]:
            rows = self.present[j]
            null = self.null.moved(self.start[j, :-1], rows)
            parts.append((np.array([j]), null, null.without_the_others(self.values[[j]][:, rows])))
        for which, null, rest in parts:
            self.facts["pvalue"][which] = saddlepoint_pvalues(null, rest)
            self.kind[which] = "spa"

    def _test_alone(self, j: int, test: str) -> None:
        """Test a column by fits of its own, which say what is the matter with it."""
        design, rows = self.tests.design, self.present[j]
        model = partial(_model, design.on_rows(np.flatnonzero(rows)), self.tests.loss)
        column = self.values[j, rows]
        self.kind[j] = ""
        try:
            if test == "score":
                found = model().fit_by(FitOptions()).score_test(column)
                self._keep(j, test, np.nan, np.nan, found.statistic)
                return
            res = model(column).fit_by(FitOptions(bias="firth" if test == "firth" else None))
            ratio = res.lr_tests()["statistic"].iloc[-1]
        except (GevglmError, np.linalg.LinAlgError) as error:
            self.reasons[j] = f"cannot be fitted: {error}"
            for name in ("coef", "se", "statistic", "pvalue"):
                self.facts[name][j] = np.nan
            return
        infinite = 0.0 if res.infinite is None else res.infinite[-1]
        self._keep(j, test, infinite or np.asarray(res.params)[-1], np.asarray(res.bse)[-1], ratio)
        self.reasons[j] = SEPARATED if res.separated else "" if res.converged else f"has not converged: {res.reason}"


def _model(design: Design, loss: Loss, *columns: NDArray) -> BinaryGLM:
    """Return the model of a design with other columns beside its own."""
    weights: dict[str, Any] = {"offset": design.offset, "freq_weights": design.freq, "n_trials": design.trials}
    names = [*design.names, *["the column"] * len(columns)]
    exog = pd.DataFrame(np.column_stack([design.X, *columns]), columns=names)
    return BinaryGLM.of_arrays(design.y, exog, ModelOptions(loss=loss, **weights))
