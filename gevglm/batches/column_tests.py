"""One model and its tests of columns that it leaves out: chunk by chunk, over the cores, each column with a test or a reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import chi2

from gevglm.batches.columns import Columns
from gevglm.calibration.optimism import mapped
from gevglm.data.design import Design
from gevglm.engine.cholesky import COLLINEAR
from gevglm.engine.linalg import one_blas_thread
from gevglm.engine.memory import available_cores
from gevglm.exceptions import GevglmError, silenced
from gevglm.inference.column_fits import ColumnGroup
from gevglm.inference.saddlepoint import saddlepoint_pvalues
from gevglm.inference.score_scan import CANCELLED, Counts, NullModel, Scores, column_counts, score_statistics
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
        self._keep_counts(at, column_counts(self.null, values))
        self._keep_scores(at, np.ptp(values, axis=1) == 0.0, score_statistics(self.null, values))

    def _score_incomplete(self, at: NDArray) -> None:
        """Test columns in the rows where they have values, for which the model is fitted anew."""
        values, present = self.values[at], self.present[at]
        self._keep_counts(at, column_counts(self.null, values, present))
        ends = values.max(axis=1, where=present, initial=-np.inf), values.min(axis=1, where=present, initial=np.inf)
        group = self._group(at)
        found = group.fit(self.start[at], held=True)
        self.start[at], self.lower[at] = found.params, found.value
        length = (group.columns**2 * present) @ self.null.curvature
        scores = Scores(found.score, 1.0 / found.variance, 1.0 / (found.variance * length))
        for i in np.flatnonzero(found.converged & ~(scores.unexplained > CANCELLED)):
            null = self.null.moved(found.params[i, :-1], present[i])
            for array, number in zip(scores, score_statistics(null, values[[i]][:, present[i]]), strict=True):
                array[i] = number[0]
        good = found.converged
        self._keep_scores(at[good], (ends[0] == ends[1])[good], Scores(*(array[good] for array in scores)))
        for j in at[~good]:
            self._score_alone(j)

    def _keep_counts(self, at: NDArray, counts: Counts) -> None:
        for name, values in counts._asdict().items():
            self.facts[name][at] = values

    def _keep_scores(self, at: NDArray, constant: NDArray, scores: Scores) -> None:
        """Keep the score tests of columns that the model does not explain."""
        explained = ~(scores.unexplained > COLLINEAR)
        self._refuse(at[constant], "is constant")
        self._refuse(at[explained], "is a linear combination of the columns of the model")
        good = ~(constant | explained)
        at, score, variance = at[good], scores.score[good], scores.variance[good]
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
        good &= np.isfinite(lower)
        ratio = np.maximum(2.0 * (found.value - lower), 0.0)[good]
        self._keep(at[good], self.tests.test, found.coefficient[good], np.sqrt(found.variance[good]), ratio)
        for j in at[~good]:
            self._fit_alone(j)

    def _saddlepoint(self, at: NDArray) -> None:
        """Replace the p-values of score tests."""
        at = at[np.isfinite(self.lower[at])]
        complete = at[~self.incomplete[at]]
        parts = [(complete, self.null, self.null.without_the_others(self.values[complete]))] if len(complete) else []
        for j in at[self.incomplete[at]]:
            rows = self.present[j]
            null = self.null.moved(self.start[j, :-1], rows)
            parts.append((np.array([j]), null, null.without_the_others(self.values[[j]][:, rows])))
        for which, null, rest in parts:
            self.facts["pvalue"][which] = saddlepoint_pvalues(null, rest)
            self.kind[which] = "spa"

    def _score_alone(self, j: int) -> None:
        """Test a column by a fit of the model without it to its rows, which says what is the matter."""
        rows = self.present[j]
        try:
            res = self._model(rows).fit_by(FitOptions(collinear="raise"))
            found = res.score_test(self.values[j, rows])
        except (GevglmError, np.linalg.LinAlgError) as error:
            self.reasons[j] = f"cannot be tested in the rows where it is known: {error}"
            return
        if res.separated or not res.converged:
            self.reasons[j] = (
                f"cannot be tested in the rows where it is known: {'separated' if res.separated else res.reason}"
            )
            return
        self._keep(j, "score", np.nan, np.nan, found.statistic)

    def _fit_alone(self, j: int) -> None:
        """Test a column by a fit of its own, which says what is the matter with it."""
        rows, test = self.present[j], self.tests.test
        try:
            res = self._model(rows, self.values[j, rows]).fit_by(
                FitOptions(bias="firth" if test == "firth" else None, collinear="raise")
            )
            ratio = res.lr_tests()["statistic"].iloc[-1]
        except (GevglmError, np.linalg.LinAlgError) as error:
            self._keep(j, "", np.nan, np.nan, np.nan)
            self.reasons[j] = f"cannot be fitted: {error}"
            return
        infinite = 0.0 if res.infinite is None else res.infinite[-1]
        self._keep(j, test, infinite or np.asarray(res.params)[-1], np.asarray(res.bse)[-1], ratio)
        self.reasons[j] = SEPARATED if res.separated else "" if res.converged else f"has not converged: {res.reason}"

    def _model(self, rows: NDArray, *columns: NDArray) -> BinaryGLM:
        """Return the model of some of the rows, with columns beside its own."""
        design = self.tests.design.on_rows(np.flatnonzero(rows))
        given: dict[str, Any] = {"offset": design.offset, "freq_weights": design.freq, "n_trials": design.trials}
        names = [*design.names, *["the column"] * len(columns)]
        exog = pd.DataFrame(np.column_stack([design.X, *columns]), columns=names)
        return BinaryGLM.of_arrays(design.y, exog, ModelOptions(loss=self.tests.loss, **given))
