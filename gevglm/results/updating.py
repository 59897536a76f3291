"""Updating a fit with new data: kept, given a new constant, a new constant and slope, or fitted again; a closed test chooses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.linalg import null_space, qr

from gevglm.calibration.estimates import Measured
from gevglm.covariance import covariance_of
from gevglm.data.build import from_new_rows
from gevglm.data.sources import as_source
from gevglm.data.survey import SampleReplicates, SampleUnits
from gevglm.data.tables import as_frame
from gevglm.engine.linalg import dense
from gevglm.estimation.checks import check_support, warn_of_support
from gevglm.estimation.found import Estimate
from gevglm.exceptions import InvalidDataError, InvalidOptionError, listed, silenced, unknown_option
from gevglm.inference.score_test import ScoreTest, score_test
from gevglm.results.clusters import of_new_rows
from gevglm.results.core import Constraints, ResultsCore
from gevglm.results.update import STEPS, Update

if TYPE_CHECKING:
    from gevglm.data.design import Design
    from gevglm.model import BinaryGLM
    from gevglm.options import FitOptions

HOW = ("auto", *STEPS)
SAME = 1e-9  # share of the length of a column that others leave over, below which it is a combination of them
COMBINED = "Standard errors combine those before the update with those of the recalibration, as from independent data."
NO_COVARIANCE = "There are no standard errors: the covariance of the coefficients before the update is not known."
NO_CLUSTERS = "The clusters of the new rows are not known, and they count as independent; name them by groups=."


class Updating(ResultsCore):
    """Updates of a fit with new data; a part of :class:`gevglm.BinaryGLMResults`."""

    def update(
        self, data: Any, how: str = "auto", *, endog: Any = None, groups: Any = None, alpha: float = 0.05
    ) -> Any:
        r"""Bring the fit up to date with new data, changing no more than these ask for.

        With :math:`\beta_0` the coefficients of the fit, the linear predictor of the updated one is

        .. math:: x'\beta_0, \qquad a + x'\beta_0, \qquad a + b\,x'\beta_0, \qquad x'\beta

        (offsets are added to each), with the link of the fit, its shape included.

        Parameters
        ----------
        data : table or array_like
            New rows with outcomes, held in memory: a random sample of the population that predictions are for.
        how : {"auto", "none", "constant", "slope", "refit"}
            How much is estimated anew. "auto" takes the first of the four that is not rejected against all coefficients.
        endog : array_like, optional
            The outcomes of `data`, where it is a matrix or does not hold them under the name they had.
        groups : str or array_like, optional
            Clusters of the new rows: a column, or an array. By default those of a cluster-robust fit, or of the survey design, if `data` has their columns.
        alpha : float
            Level of the tests.

        Returns
        -------
        BinaryGLMResults
            Of the new rows; ``updated`` has the tests and what was done, and ``summary()`` says so.

        Notes
        -----
        The tests are score tests with the covariance of the fit: they hold for both losses, for clusters and survey designs, and need no estimates
        of all coefficients, which few events may not have. In large samples of independent rows they are the likelihood-ratio tests of Vergouwe et al.
        A hypothesis is tested only if all before it were rejected, so that the chance to change more than is needed is `alpha` at most. The coefficients before
        are taken as they are: those of a model from few events, far from the truth, are found to be so in many new data.

        Constant, slope and coefficients are estimated as the fit was, with its bias reduction; a penalty counts for "refit" alone. Standard errors
        after a new constant or slope combine those of the fit with those of the recalibration, as from independent data.

        References
        ----------
        Vergouwe et al. (2017), Statistics in Medicine 36, 4529-4539.

        Examples
        --------
        >>> import gevglm
        >>> old, new = (gevglm.datasets.simulate_study(rng=rng) for rng in (1, 2))
        >>> gevglm.fit("event ~ age + smoker", old).update(new).updated
        <Update: no update; 256 events in 5,000 new observations, 229.1 expected>
        """
        if how not in HOW:
            raise unknown_option("how", how, HOW)
        if not 0.0 < alpha < 1.0:
            raise InvalidOptionError(f"alpha={alpha!r} is not the level of a test; give a number such as 0.05.")
        if as_source(data) is not None:
            raise InvalidOptionError("update() takes new data that are held in memory, not in pieces.")
        if self.separated and how != "refit":
            raise InvalidDataError(
                f"the estimates of {listed(self.infinite_names)} are infinite, and cannot be updated; use bias='firth'."
            )
        return _NewRows.of(self, data, endog, groups).updated(how, alpha)


@dataclass(frozen=True)
class _NewRows:
    """A fit and new rows: what its linear predictor is there, and how the steps of an update are estimated and tested."""

    results: ResultsCore
    model: BinaryGLM  # of the new rows
    options: FitOptions  # of a fit to all coefficients
    notes: tuple[str, ...]

    @classmethod
    def of(cls, results: ResultsCore, data: Any, endog: Any, groups: Any) -> _NewRows:
        """Read new rows as the fit read its own, with its weights and clusters."""
        n = len(data) if isinstance(data, np.ndarray) else len(as_frame(data))
        found = of_new_rows(results, data, groups, n)
        if isinstance(found, SampleReplicates):  # factors of weights, which a new fit does not take
            found = None
        sample, clusters = (found, None) if isinstance(found, SampleUnits) else (None, found)
        design = from_new_rows(results.model.design, data, endog=endog, clusters=clusters, sample=sample)
        words, notes = _covariance_words(results, design, clusters)
        standardize = results.options.standardize if results.posterior is None else True
        options = replace(
            results.options.for_other_rows(),
            bias=results.bias,
            alpha=results.alpha,
            standardize=standardize,
            search_kwds=None,
            **words,
        )
        return cls(results, results.model.of_new_rows(design), options, notes)

    @cached_property
    def X(self) -> NDArray:
        """The design matrix."""
        return dense(self.model.exog)

    @cached_property
    def before(self) -> NDArray:
        """The linear predictor of the fit, without offsets."""
        return self.X @ self.results._params

    @cached_property
    def offset(self) -> NDArray:
        """The offset of each row."""
        offset = self.model.design.offset
        return np.zeros(len(self.before)) if offset is None else offset

    def updated(self, how: str, alpha: float) -> Any:
        """Test, if asked to, update, and say what was done."""
        tests: dict[str, ScoreTest] = {}
        done = self._chosen(alpha, tests) if how == "auto" else how
        columns = ["statistic", "pvalue", "df"]
        names = {step: STEPS[step] for step in tests}
        frame = pd.DataFrame.from_dict(
            {names[step]: tuple(test) for step, test in tests.items()}, "index", columns=columns
        )
        results, constant, slope = self._fitted(done)
        inner = results._results
        risks, weight = self.model.link.inverse(self.before + self.offset), inner.row_weights.in_population
        inner.updated = Update(
            done,
            how,
            frame[["statistic", "df", "pvalue"]].astype(float),
            alpha,
            constant,
            slope,
            self.model.design.n_total,
            self.model.design.n_events,
            self.model.design.n_events * float(weight @ risks) / float(weight @ self.model.design.y),
            (*self._on_errors(done), *self.notes),
        )
        return results

    def _on_errors(self, done: str) -> tuple[str, ...]:
        return (COMBINED,) if done in ("constant", "slope") and self.results.covariance_is_known else ()

    # -- the closed test -------------------------------------------------------------------

    def _chosen(self, alpha: float, tests: dict[str, ScoreTest]) -> str:
        """Return the first step that is not rejected, and fill in the tests on the way there."""
        ones = np.ones((len(self.X), 1))
        steps: dict[str, Callable[[], ScoreTest]] = {
            "none": lambda: self._test_of_none(),
            "constant": lambda: self._test_after("constant", ones),
            "slope": lambda: self._test_after("slope", np.column_stack([ones, self.before])),
        }
        for step, test in steps.items():
            tests[step] = test()
            if tests[step].pvalue >= alpha:
                return step
        return "refit"

    def _test_of_none(self) -> ScoreTest:
        columns = self._beyond(np.zeros((len(self.X), 0)))
        model = self._with_columns(columns, self.before + self.offset)
        words = (self.options.cov_type or model.default_covariance, self.options.cov_kwds)
        covariance = covariance_of(*words, model.design.grouping, model.design.sample)
        k = columns.shape[1]
        return score_test(model.engine(), model.loss, np.zeros(k), np.eye(k), covariance, model.wnobs)

    def _test_after(self, step: str, columns: NDArray) -> ScoreTest:
        others = self._beyond(columns)
        if not others.shape[1]:
            return ScoreTest(0.0, 1.0, 0)
        return self._recalibration(step).score_test(others)

    def _beyond(self, columns: NDArray) -> NDArray:
        """Return columns of the design that together with those given span what all of them span."""
        left = self.X
        if columns.shape[1]:
            basis = np.linalg.qr(columns)[0]
            left = left - basis @ (basis.T @ left)
        size = np.sqrt((self.X**2).sum(axis=0))
        _, triangle, order = qr(left / np.where(size > 0.0, size, 1.0), mode="economic", pivoting=True)
        kept = np.sort(order[: int((np.abs(np.diagonal(triangle)) > SAME).sum())])
        self._refuse_few_clusters(len(kept))
        return self.X[:, kept]

    def _refuse_few_clusters(self, k: int) -> None:
        groups = self.options.clusters
        if groups is not None and (clusters := len(pd.unique(np.ravel(groups)))) <= k:
            raise InvalidDataError(
                f"the test of {k} coefficients by clusters needs more than the {clusters} that the new data have; say how=."
            )

    # -- the steps -------------------------------------------------------------------------

    def _fitted(self, how: str) -> tuple[Any, Measured | None, Measured | None]:
        """Return the results after a step, and the constant and the slope that were estimated."""
        if how == "refit":
            return self.model.fit_by(self.options), None, None
        if how == "none":
            return self._at(self.results._params, np.zeros((len(self.results._params), 0)), None), None, None
        place, old = self._constant, self.results._params
        again = self._recalibration(how)
        unit = np.zeros(len(old))
        unit[place] = 1.0
        constant, *slope = (Measured.normal(*pair) for pair in zip(again._params, again.bse, strict=True))
        params = float(constant) * unit + (float(slope[0]) if slope else 1.0) * old
        free = np.column_stack([unit, old]) if slope else unit[:, None]
        return self._at(params, free, again), constant, slope[0] if slope else None

    @property
    def _constant(self) -> int:
        place = self.model.design.constant
        if place is None:
            raise InvalidOptionError(
                "a new constant needs a model with a constant, which this one does not have; use how='none' or how='refit'."
            )
        return place

    def _recalibration(self, how: str) -> Any:
        """Return the fit of a constant, or of constant and slope."""
        ones = np.ones((len(self.X), 1))
        _ = self._constant
        if how == "constant":
            model = self._with_columns(ones, self.before + self.offset)
        elif np.ptp(self.before) <= SAME * np.abs(self.before).max():
            raise InvalidDataError(
                "the linear predictors of all new rows are the same, so that they have no slope; use how='constant'."
            )
        else:
            model = self._with_columns(np.column_stack([ones, self.before]), self.offset)
        with silenced():
            found: Any = model.fit_by(replace(self.options, alpha=0.0, standardize=None))._results
        if not found.converged or found.separated:
            raise InvalidDataError(
                f"the {STEPS[how].removeprefix('a ')} has no finite estimate on the new data ({found.reason}); use how='none', or fit with bias='firth'."
            )
        return found

    def _with_columns(self, columns: NDArray, offset: NDArray) -> BinaryGLM:
        """Return the model of the new rows with other columns."""
        names = [f"x{j}" for j in range(columns.shape[1])]
        shift = None if self.model.design.offset is None and offset is self.offset else offset
        facts: dict[str, Any] = {"constant": 0 if (columns[:, :1] == 1.0).all() else None, "omitted": {}}
        design = replace(self.model.design, X=columns, names=names, recipe=None, offset=shift, **facts)
        return self.model.changed(design, self.model.loss, self.model.sampling)

    def _at(self, params: NDArray, free: NDArray, again: Any) -> Any:
        """Return results of the new rows at coefficients of which only those along the columns `free` were estimated, by the fit `again`."""
        model, k = self.model, len(params)
        own, cov = np.zeros((k, k)), None
        if again is not None:
            own = free @ again.normalized_cov_params @ free.T
        if self.results.covariance_is_known:
            cov = np.asarray(self.results.cov_params_matrix)
            if again is not None:
                turned = self._turned(params, free, again._params)
                cov = turned @ cov @ turned.T + free @ again.cov_params_matrix @ free.T
        words = (self.options.cov_type or model.default_covariance, self.options.cov_kwds)
        support = check_support(model.engine(), model.link, params)
        warn_of_support(model, support)
        estimate = Estimate(
            params,
            np.ones(k),
            own,
            weight=model.design.n_total,
            events=model.design.n_events,
            n_iter=0 if again is None else again.n_iter,
            n_passes=0 if again is None else again.n_passes,
            decrement=0.0 if again is None else again.decrement,
            converged=True,
            positive_definite=True,
            reason="nothing was estimated" if again is None else again.reason,
        )
        results: Any = type(model)._results_class(
            model,
            estimate,
            cov,
            covariance=covariance_of(*words, model.design.grouping, model.design.sample),
            cov_words=words,
            bias=self.results.bias,
            n_outside_support=support.outside,
            n_contradicted=support.contradicted,
        )
        results.options = replace(self.options, alpha=0.0)
        if not self.results.covariance_is_known:
            results.cov_kwds = {"description": NO_COVARIANCE}
        results.constraints = Constraints(null_space(free.T).T if free.shape[1] else np.eye(k))
        results.df_model = free.shape[1] - 1
        results.df_resid = model.wnobs - free.shape[1]
        return type(model)._results_class_wrapper(results)

    def _turned(self, params: NDArray, free: NDArray, recalibration: NDArray) -> NDArray:
        r"""Return how the coefficients change with those of the fit, :math:`\partial \beta / \partial \beta_0`.

        The recalibration solves :math:`\sum_i s_i z_i = 0` with s the slopes of the loss and z = 1 or (1, x'b0); by the implicit function theorem its
        estimates change by :math:`-(\sum w_i z_i z_i')^{-1} \sum (b\, w_i z_i x_i' + s_i \partial z_i)`, w the curvatures.
        """
        X, Z = self.X, np.ones((len(self.X), 1))
        curvature, slopes = self.model.hessian_factor(params), -self.model.score_factor(params)
        b, added = 1.0, np.zeros((1, X.shape[1]))
        if len(recalibration) == 2:
            Z = np.column_stack([Z, self.before])
            b, added = recalibration[1], np.stack([np.zeros(X.shape[1]), slopes @ X])
        weighted = Z * curvature[:, None]
        moved = -np.linalg.solve(weighted.T @ Z, b * weighted.T @ X + added)
        return b * np.eye(len(params)) + free @ moved


def _covariance_words(
    results: ResultsCore, design: Design, clusters: NDArray | None
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the words for the covariance of new rows, and what is to be said of it."""
    given = results.options.without_rows()
    if clusters is not None:
        kind = {name: value for name, value in (given.cov_kwds or {}).items() if name == "kind"}
        used = clusters if design.rows is None else np.asarray(clusters)[design.rows]
        return {"cov_type": "cluster", "cov_kwds": {"groups": used} | kind}, ()
    unknown = results.cov_type == "cluster" or (results.model.options.design is not None and design.sample is None)
    if unknown or given.cov_type is None:
        return {"cov_type": None, "cov_kwds": None}, (NO_CLUSTERS,) if unknown else ()
    return {"cov_type": given.cov_type, "cov_kwds": given.cov_kwds}, ()
