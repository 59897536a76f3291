"""scan(): one test per column, and per outcome; the model without the columns is fitted once, and few columns with it."""

from __future__ import annotations

import hashlib
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from gevglm.api import fit
from gevglm.batches.column_tests import TESTS, ColumnTests, untested
from gevglm.batches.columns import Columns, matching
from gevglm.batches.scan_file import ScanFile
from gevglm.batches.scan_results import ScanResults
from gevglm.data.sources import as_source
from gevglm.data.tables import as_frame
from gevglm.engine.linalg import linear_predictor
from gevglm.engine.monitor import progress_bar
from gevglm.exceptions import GevglmError, InvalidDataError, InvalidOptionError, silenced, unknown_option
from gevglm.options import ModelOptions, known_arguments

OPTIONS = ("link", "xi", "offset", "exposure", "freq_weights", "event", "subset", "missing", "formula_engine")


@known_arguments
def scan(
    formula_or_endog: Any,
    data_or_exog: Any = None,
    *,
    columns: Any,
    outcomes: Any = None,
    test: str = "score",
    threshold: float = 0.05,
    link: Any = None,
    xi: float | None = None,
    offset: Any = None,
    exposure: Any = None,
    freq_weights: Any = None,
    event: Any = None,
    subset: Any = None,
    missing: str = "drop",
    formula_engine: str | None = None,
    progress: bool = False,
    resume: Any = None,
) -> ScanResults:
    r"""Test thousands of columns, one after the other, each added to the same model; of one outcome or of many.

    The model without the columns is fitted once. Every column then has a score test, by matrix products over many columns at once. With another test,
    columns whose score test is below the threshold are tested by it.

    Parameters
    ----------
    formula_or_endog, data_or_exog
        The model without the columns: see :func:`gevglm.fit`. Its rows are in memory. With `outcomes`, the formula has no left-hand side: ``"~ age + sex"``.
    columns : array_like, DataFrame, sparse matrix, str, list of str, path or Arrow table or dataset
        The columns to test, one value for each row of the data: an array of shape (n, m), a table, a dict of columns, a SciPy sparse matrix, names or
        patterns (``"snp*"``) of columns of the data, or a parquet file or Arrow dataset, whose columns are read a few at a time.
    outcomes : str or list of str, optional
        Names or patterns of columns of the data: all columns are tested for each of these outcomes.
    test : {"score", "lr", "firth", "spa"}
        Score test; likelihood ratio of the fits with and without the column; the same of Firth's penalised likelihood (for the logit), with the penalty of
        the larger model in both, which is finite under separation; or the score test with a saddle-point approximation of its tails, for columns
        and outcomes so rare that the score is far from normal.
    threshold : float
        The largest p-value of a score test for which a column is tested by "lr", "firth" or "spa"; 1 for all columns.
    link, xi : optional
        See :func:`gevglm.fit`; the loss is the log loss, since these are tests of a likelihood, and xi is a number.
    offset, exposure, freq_weights, event, subset, missing, formula_engine : optional
        See :func:`gevglm.fit`.
    progress : bool
        Whether a bar follows the chunks of columns, if tqdm is installed.
    resume : path, optional
        A file that keeps the tests made so far: an interrupted scan that is called again with the same file goes on from there. It is removed when the
        scan has ended. That the values of the columns have not changed is only looked at in the first one.

    Returns
    -------
    ScanResults

    Notes
    -----
    Rows in which a column is missing are left out of its test, and the model without it is fitted anew to the others, as plink2 does. A column that
    is constant, missing, not numeric, of another length, a combination of covariates, or that separates the outcomes has a row with a reason.

    Examples
    --------
    >>> import gevglm, numpy as np
    >>> data = gevglm.datasets.simulate_study(rng=1)
    >>> carriers = np.random.default_rng(2).random((len(data), 100)) < 0.02
    >>> gevglm.scan("event ~ age + smoker", data, columns=carriers, test="firth")
    <ScanResults: 100 tests by penalised likelihood ratio (Firth) below 0.05 (5 of them), smallest p-value 0.00098>
    """
    words = locals()
    options = {name: words[name] for name in OPTIONS if words[name] is not None}
    _check(test, threshold, link, xi)
    data = _in_memory(formula_or_endog, data_or_exog)
    table = data if isinstance(formula_or_endog, str) else None
    formulas = {"": formula_or_endog} if outcomes is None else _formulas(formula_or_endog, outcomes, table)
    asked = _Scan(formulas, data, Columns.of(columns, table), test, threshold, options, outcomes is not None)
    with ScanFile.kept(resume, asked.fingerprint) as file:
        jobs = asked.jobs[len(file.parts) :]
        for outcome, part in progress_bar(jobs, len(jobs), progress):
            file.keep(asked.rows(outcome, part))
    return ScanResults(pd.concat(file.parts, ignore_index=True), test, threshold)


@dataclass(frozen=True)
class _Scan:
    """Which columns are tested for which outcomes, and how."""

    formulas: dict[str, Any]  # of the model without the columns, by outcome; or the outcome itself
    data: Any
    columns: Columns
    test: str
    threshold: float
    options: dict[str, Any]
    many: bool  # whether an outcome that fails is a reason, and not an error

    def __post_init__(self) -> None:
        if not len(self.columns):
            raise InvalidDataError("there are no columns to test.")

    @cached_property
    def jobs(self) -> list[tuple[str, slice]]:
        """Outcomes and columns that are tested together."""
        chunks = self.columns.chunks(len(self.data))
        return [(outcome, part) for outcome in self.formulas for part in chunks]

    @cached_property
    def _last(self) -> dict[str, ColumnTests]:
        return {}

    def tests(self, outcome: str) -> ColumnTests:
        """Fit the model without the columns, once for each outcome."""
        if outcome not in self._last:
            self._last.clear()
            res = fit(
                self.formulas[outcome], self._data_of(outcome), loss="log", **{"collinear": "raise"} | self.options
            )
            design = res.model.design
            design.need_rows("a scan", "give a model with fewer levels of factors")
            if res.separated or not res.converged:
                problem = (
                    "is separated: an estimate of it is infinite" if res.separated else f"was not found: {res.reason}"
                )
                raise InvalidDataError(
                    f"the model without the columns {problem}; leave out what separates the outcomes."
                )
            linear = linear_predictor(design.X, np.asarray(res.params))
            linear = linear if design.offset is None else linear + design.offset
            self._last[outcome] = ColumnTests(self.columns, design, res.loss, linear, self.test, self.threshold)
        return self._last[outcome]

    def _data_of(self, outcome: str) -> Any:
        """Return the data without the columns to be tested and the other outcomes, of which a fit would make copies."""
        if not isinstance(self.formulas[outcome], str):
            return self.data
        words = repr([self.formulas[outcome], *(value for value in self.options.values() if isinstance(value, str))])
        others = {name for name in (*self.columns.names, *self.formulas) if name not in words}
        return self.data.loc[:, [name not in others for name in self.data.columns]]

    def rows(self, outcome: str, part: slice) -> pd.DataFrame:
        """Return the tests of some columns for an outcome."""
        if not self.many:
            return self.tests(outcome).of(part)
        try:
            with silenced():
                tests = self.tests(outcome)
        except GevglmError as error:
            found = untested(self.columns.names[part], f"has no model to be added to: {error}")
        else:
            found = tests.of(part)
        found.insert(0, "outcome", outcome)
        return found

    def fingerprint(self) -> str:
        """Return what tells this scan from others: its words, its first outcome and design, and its first column."""
        digest = hashlib.sha256(repr([self.test, self.threshold, self.columns.names]).encode())
        digest.update(repr([self.formulas if self.many else "", *self.options.items()]).encode())
        try:
            with silenced() if self.many else nullcontext():
                tests = self.tests(next(iter(self.formulas)))
        except GevglmError as error:
            digest.update(str(error).encode())
        else:
            first, _ = self.columns.numbers(slice(0, 1), tests.design)
            for values in (first, tests.design.X, tests.design.y, tests.linear):
                digest.update(np.ascontiguousarray(values).tobytes())
        return digest.hexdigest()


def _check(test: str, threshold: Any, link: Any, xi: Any) -> None:
    if test not in TESTS:
        raise unknown_option("test", test, TESTS)
    if isinstance(threshold, bool) or not (isinstance(threshold, Real) and 0.0 < float(threshold) <= 1.0):
        raise InvalidOptionError(f"threshold={threshold!r} must be a number above 0, up to 1 for all columns.")
    if isinstance(xi, str):
        raise InvalidOptionError(
            f"xi={xi!r} would be estimated with every column; give a number, that of a fit without them."
        )
    link = ModelOptions(link=link, xi=xi, loss="log").resolve().link
    if test == "firth" and not link.canonical_is_log:
        raise InvalidOptionError(
            f"test='firth' is a likelihood ratio for the logit only, not for {link!r}; use 'lr' or 'spa'."
        )


def _in_memory(formula: Any, data: Any) -> Any:
    """Return the data, as a table where there is a formula."""
    if data is None:
        raise InvalidOptionError("a scan needs data: scan(formula, data, columns=...), or scan(y, X, columns=...).")
    if not isinstance(formula, str):
        return data
    if as_source(data) is not None:
        raise InvalidDataError(
            "a scan has the rows of outcome and covariates in memory: give a table of them as data; the columns to test may be a parquet file."
        )
    return as_frame(data)


def _formulas(formula: Any, outcomes: Any, table: pd.DataFrame | None) -> dict[str, str]:
    """Return the formula of each outcome."""
    left, _, right = formula.rpartition("~") if isinstance(formula, str) else ("?", "", "")
    if left.strip() or not right.strip():
        raise InvalidOptionError(
            f"with outcomes= the formula has no left-hand side, as in '~ age + sex', got {str(formula)[:60]!r}."
        )
    names = [str(name) for name in matching(outcomes, table, "outcomes").columns]
    return {name: f"{name if name.isidentifier() else f'`{name}`'} ~ {right.strip()}" for name in names}
