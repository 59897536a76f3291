"""BinaryGLM: a design and a loss, in statsmodels' shape; `fit` hands over results and changes nothing."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from statsmodels.base.model import LikelihoodModel
from statsmodels.genmod.generalized_linear_model import GLM

from gevglm import design as designs
from gevglm import formulas
from gevglm.covariance import Fitted, covariance_of
from gevglm.design import Design
from gevglm.engine import Block, MemoryEngine
from gevglm.estimation import THINNEST, Estimate, Penalty, estimate
from gevglm.exceptions import (
    ConvergenceWarning,
    FewEventsWarning,
    InvalidDataError,
    InvalidOptionError,
    SeparationWarning,
    SupportWarning,
    listed,
    unknown_option,
    warn,
)
from gevglm.families import family_of
from gevglm.losses import Loss
from gevglm.reducers import ArraySum, LossSums
from gevglm.results import BinaryGLMResults, BinaryGLMResultsWrapper
from gevglm.tables import as_frame, column, vector
from gevglm.words import resolve_loss

FEW_EVENTS_PER_PARAMETER = 5
VANISHED = 1e-6  # share of the null model's information below which a coefficient counts as not identified
PREDICTIONS = ("mean", "linear", "var_unscaled")


class BinaryGLM(GLM):
    """Regression of a binary outcome: any link, with its log or its canonical loss.

    Parameters
    ----------
    endog : array_like
        Outcome: 0/1, bool, two levels with `event`, shares with `freq_weights`, or two columns (successes, failures).
    exog : array_like of shape (n, k)
        Design matrix as given; no constant is added.
    link : str or BinaryLink, optional
        "logit" (default), "probit", "cloglog", "loglog", "cauchit", "gev", "gevc", or a link of :mod:`gevglm.links`.
    loss : str, optional
        "log" or "canonical"; by default canonical for the GEV links and log for the rest.
    xi : float, optional
        Shape of the GEV links; given alone it means ``link="gev"``.
    offset, exposure, freq_weights, var_weights : array_like, optional
        As in statsmodels; the log of the exposure is added to the offset, for any link.
    n_trials : array_like, optional
        Trials behind each row when `endog` holds shares.
    event : object, optional
        The level of the outcome that is the event.
    missing : {"none", "drop", "raise"}
        What to do with incomplete rows.

    Examples
    --------
    >>> import numpy as np
    >>> from gevglm import BinaryGLM
    >>> x = np.linspace(-1, 1, 200)
    >>> X = np.column_stack([np.ones(200), x])
    >>> y = (np.arange(200) % 10 == 0) | (x > 0.9)
    >>> BinaryGLM(y, X, xi=0.3).fit().params.round(4)
    array([-0.6142,  0.3522])
    """

    _results_class = BinaryGLMResults
    _results_class_wrapper = BinaryGLMResultsWrapper

    def __init__(
        self,
        endog: Any,
        exog: Any,
        *,
        link: Any = None,
        loss: Any = None,
        xi: float | None = None,
        offset: Any = None,
        exposure: Any = None,
        freq_weights: Any = None,
        var_weights: Any = None,
        n_trials: ArrayLike | None = None,
        event: Any = None,
        missing: str = "none",
    ):
        design = designs.from_arrays(
            endog,
            exog,
            event=event,
            offset=offset,
            exposure=exposure,
            freq_weights=freq_weights,
            var_weights=var_weights,
            n_trials=n_trials,
            missing=missing,
        )
        index = None
        if hasattr(exog, "columns") or isinstance(endog, pd.Series):
            labelled = [table.index for table in (exog, endog) if isinstance(table, (pd.DataFrame, pd.Series))]
            index = labelled[0] if labelled else pd.RangeIndex(len(exog))
            index = index if design.rows is None else index[design.rows]
        self._set_up(design, resolve_loss(link, loss, xi), index)

    @classmethod
    def from_formula(
        cls,
        formula: str,
        data: Any,
        *,
        link: Any = None,
        loss: Any = None,
        xi: float | None = None,
        offset: Any = None,
        exposure: Any = None,
        freq_weights: Any = None,
        var_weights: Any = None,
        event: Any = None,
        subset: Any = None,
        missing: str = "drop",
        formula_engine: str | None = None,
        eval_env: int = 0,
    ) -> BinaryGLM:
        """Build a model from a formula and a table.

        Parameters
        ----------
        formula : str
            As in ``"y ~ x1 + C(group)"``; the left-hand side may be ``"successes + failures"``.
        data : DataFrame, polars DataFrame, pyarrow Table, dict of columns, or path to a csv or parquet file
        link, loss, xi, event : optional
            See :class:`BinaryGLM`.
        offset, exposure, freq_weights, var_weights : str or array_like, optional
            A column of `data`, or an array.
        subset : array_like or str, optional
            Rows to use: booleans, index labels, or a condition such as ``"age > 40"``.
        missing : {"drop", "raise", "none"}
            What to do with incomplete rows.
        formula_engine : {"formulaic", "patsy"}, optional
            formulaic by default where statsmodels supports it.
        eval_env : int
            How many frames above the caller the names used in the formula are looked up.

        Returns
        -------
        BinaryGLM
        """
        loss = resolve_loss(link, loss, xi)
        design = designs.from_formula(
            formula,
            data,
            scope=formulas.caller_names(formula, eval_env + 1),
            event=event,
            offset=offset,
            exposure=exposure,
            freq_weights=freq_weights,
            var_weights=var_weights,
            subset=subset,
            missing=missing,
            engine=formula_engine,
        )
        model = cls.__new__(cls)
        model._set_up(design, loss, design.frame.index)
        model.formula = formula
        model.data.frame = design.frame
        model._attach_terms()
        return model

    def _set_up(self, design: Design, loss: Loss, index: pd.Index | None) -> None:
        self.design = design
        self.loss = loss
        self.link = loss.link
        self.family = family_of(loss)
        n = len(design.y)
        ones = np.broadcast_to(np.ones(()), (n,))
        self.freq_weights = ones if design.freq is None else design.freq
        self.var_weights = ones if design.var is None else design.var
        self.n_trials = ones if design.trials is None else design.trials
        self.iweights = ones if design.freq is None and design.var is None else self.freq_weights * self.var_weights
        self.family.n = 1 if design.trials is None else design.trials
        self._has_freq_weights = design.freq is not None
        self._has_var_weights = design.var is not None
        self._has_offset = design.offset is not None
        self._has_exposure = False
        y, X = design.y, design.X
        if index is not None:
            y = pd.Series(y, index=index, name=design.outcome, copy=False)
            X = pd.DataFrame(X, index=index, columns=design.names, copy=False)
        LikelihoodModel.__init__(self, y, X, missing="none", hasconst=False)
        self.exposure = None
        self.offset = design.offset
        self._offset_exposure = 0.0 if design.offset is None else design.offset
        self._offset_name, self._exposure_name = design.offset_name, design.exposure_name
        self._freq_weights_name = self._var_weights_name = None
        if index is None:
            self.data.xnames = design.names
        self.data.const_idx = design.constant
        self.data.k_constant = self.k_constant = int(design.constant is not None)
        self.nobs = n
        self.scaletype = None
        self._optim_hessian = None
        self._init_keys = ["link", "loss", "offset", "freq_weights", "var_weights", "n_trials"]
        self._data_attr.extend(["freq_weights", "var_weights", "iweights", "_offset_exposure", "n_trials", "offset"])

    def _attach_terms(self) -> None:
        """Show statsmodels the terms of the formula, under the names that its versions look for."""
        self.model_spec = self.data.model_spec = self.data.design_info = self.design.recipe.spec

    def __getstate__(self) -> dict[str, Any]:
        """Leave the terms out: statsmodels would rebuild them from the data, which may be gone."""
        data = object.__new__(type(self.data))
        data.__dict__.update({k: v for k, v in self.data.__dict__.items() if k not in ("model_spec", "design_info")})
        return {k: v for k, v in self.__dict__.items() if k != "model_spec"} | {"data": data}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self.design.recipe is not None and self.design.recipe.spec is not None:
            self._attach_terms()

    def initialize(self) -> None:
        """Set the degrees of freedom; the rank is looked at in `fit`, which refuses collinear columns."""
        self.df_model = self.exog.shape[1] - 1
        self.wnobs = float(self.freq_weights.sum())
        self.df_resid = self.wnobs - self.df_model - 1

    def _get_init_kwds(self) -> dict[str, Any]:
        given = {"freq_weights": self._has_freq_weights, "var_weights": self._has_var_weights}
        given["n_trials"] = self.design.trials is not None
        return {key: getattr(self, key) if given.get(key, True) else None for key in self._init_keys}

    # -- the fit ---------------------------------------------------------------------------

    def engine(self, exog: NDArray | None = None) -> MemoryEngine:
        """Return the rows, as the solver sees them; with another design matrix, if one is given."""
        design = self.design
        exog = self.exog if exog is None else exog
        return MemoryEngine(
            exog, self.endog, freq=design.freq, var=design.var, trials=design.trials, offset=design.offset
        )

    def fit(
        self,
        start_params: ArrayLike | None = None,
        *,
        alpha: float = 0.0,
        penalize_intercept: bool = False,
        cov_type: str = "nonrobust",
        cov_kwds: dict[str, Any] | None = None,
        use_t: bool | None = None,
        maxiter: int = 100,
        tol: float = 1e-8,
        disp: bool = False,
    ) -> BinaryGLMResults:
        r"""Estimate the coefficients.

        Parameters
        ----------
        start_params : array_like, optional
            Starting values; by default those of the model with a constant only, improved on part of the data.
        alpha : float
            Ridge penalty :math:`\frac{\alpha}{2} \sum_j b_j^2` on the summed loss.
        penalize_intercept : bool
            Whether the penalty includes the constant.
        cov_type : str
            "nonrobust", "HC0" to "HC3", "cluster" or "HAC".
        cov_kwds : dict, optional
            ``{"groups": column or array}`` for clusters (two columns for two-way), ``{"maxlags": n}`` for HAC.
        use_t : bool, optional
            Whether tests use the t instead of the normal distribution.
        maxiter : int
            Largest number of Newton steps.
        tol : float
            Distance to the solution in standard errors, relative to the square root of the null loss.
        disp : bool
            Print how the iteration ended.

        Returns
        -------
        BinaryGLMResults

        Warns
        -----
        ConvergenceWarning, SupportWarning, FewEventsWarning
        """
        if not (isinstance(tol, Real) and 0 < tol < 1):
            raise InvalidOptionError(f"tol={tol!r} must be a number between 0 and 1.")
        if not (isinstance(maxiter, Integral) and maxiter >= 0):
            raise InvalidOptionError(f"maxiter={maxiter!r} must be a whole number that is not negative.")
        if not isinstance(cov_kwds, (dict, type(None))):
            raise InvalidOptionError(f"cov_kwds must be a dict, such as {{'groups': 'clinic'}}, got {cov_kwds!r}.")
        penalty = self._penalty(alpha, penalize_intercept)
        covariance = covariance_of(cov_type, cov_kwds, self._rows_of)
        engine = self.engine()
        k = engine.n_cols
        if start_params is not None and np.shape(start_params) != (k,):
            raise InvalidOptionError(
                f"start_params has shape {np.shape(start_params)}, but there are {k} coefficients."
            )
        if k > engine.n_rows and penalty is None:
            raise InvalidDataError(
                f"there are more columns ({k}) than rows ({engine.n_rows}); drop columns or give alpha."
            )
        fitted = self._estimated(engine, penalty, start_params, tol, maxiter)
        outside = self._count_outside(engine, fitted.params)
        self._warn(engine, fitted, outside, maxiter)
        if disp:
            print(
                f"{'Converged' if fitted.converged else 'Not converged'} after {fitted.n_iter} steps: {fitted.reason}."
            )
        rows = Fitted(engine, self.loss, fitted.params, fitted.inverse_information, self.wnobs, penalty is not None)
        results = BinaryGLMResults(
            self,
            fitted,
            covariance.matrix(rows),
            covariance=covariance,
            cov_words=(cov_type, cov_kwds),
            alpha=alpha,
            n_outside_support=outside,
            use_t=use_t,
        )
        return BinaryGLMResultsWrapper(results)

    def fit_constrained(self, constraints, start_params=None, **fit_kwds):
        """Estimate under linear constraints; see statsmodels."""
        results = super().fit_constrained(constraints, start_params=start_params, **fit_kwds)
        inner, constrained = results._results, results._results.results_constrained
        for name in ("converged", "n_iter", "reason", "cov_type", "cov_kwds", "_cov_words"):
            setattr(inner, name, getattr(constrained, name))
        return results

    def fit_regularized(self, *args, **kwargs):
        """Refuse: the penalty here is ridge, through ``fit(alpha=...)``."""
        raise InvalidOptionError("use fit(alpha=...) for a ridge penalty; there is no elastic net here.")

    def _estimated(self, engine, penalty, start_params, tol, maxiter) -> Estimate:
        return estimate(
            engine,
            self.loss,
            constant=self.data.const_idx,
            penalty=penalty,
            start=start_params,
            tol=tol,
            maxiter=maxiter,
            names=self.exog_names,
        )

    def _penalty(self, alpha: float, penalize_intercept: bool) -> Penalty | None:
        if not (isinstance(alpha, Real) and np.isfinite(alpha) and alpha >= 0):
            raise InvalidOptionError(f"alpha={alpha!r} must be a finite number that is not negative.")
        if alpha == 0:
            return None
        columns = np.ones(self.exog.shape[1])
        if not penalize_intercept and self.data.const_idx is not None:
            columns[self.data.const_idx] = 0.0
        return Penalty(float(alpha), columns)

    def _rows_of(self, values: Any, role: str) -> NDArray:
        """Return groups given as column names or arrays, for the rows of the model."""
        names = [values] if isinstance(values, str) else values
        if isinstance(names, (list, tuple)) and len(names) <= 2 and all(isinstance(name, str) for name in names):
            if self.design.frame is None:
                raise InvalidDataError(f"{role}={values!r} names columns, but the model was built from arrays.")
            return np.column_stack([column(self.design.frame, name, role).to_numpy() for name in names])
        return self.design.rows_of(values, role)

    def _count_outside(self, engine: MemoryEngine, params: NDArray) -> int:
        if np.isinf(self.link.support).all():
            return 0

        def count(block: Block) -> NDArray:
            outside = self.link.outside(block.linear_predictor(params))
            return (outside if block.weight is None else outside & (block.weight > 0)).sum()

        return int(engine.reduce(ArraySum(count)))

    @property
    def n_events(self) -> float:
        """Events, each row counted by its frequency weight and trials."""
        return float((self.endog if self._counts is None else self._counts * self.endog).sum())

    @property
    def n_total(self) -> float:
        """Observations, each row counted by its frequency weight and trials."""
        return float(len(self.endog) if self._counts is None else self._counts.sum())

    @property
    def _counts(self) -> NDArray | None:
        """Observations behind each row, or None where each row is one."""
        design = self.design
        return None if design.freq is None and design.trials is None else self.freq_weights * self.n_trials

    def _warn(self, engine: MemoryEngine, fitted: Estimate, outside: int, maxiter: int) -> None:
        if not fitted.converged and maxiter > 0:
            warn(
                f"the fit has not converged: {fitted.reason} (decrement {fitted.decrement:.2g} after {fitted.n_iter} steps). "
                "Separation of the outcome, an xi that does not suit the data, or too small a maxiter are the usual causes.",
                ConvergenceWarning,
            )
        elif not fitted.positive_definite:
            warn(
                "the second derivative of the loss is not positive definite at the solution, which may not be a minimum; "
                "try other start_params, or loss='canonical'.",
                ConvergenceWarning,
            )
        columns = self._vanishing_columns(engine, fitted)
        if columns:
            warn(
                f"the outcome seems separated: the data hold next to no information on {listed(columns)}, whose estimates "
                "may be infinite. Look at their cross-table with the outcome; drop or merge them, or penalise them by alpha.",
                SeparationWarning,
            )
        if outside:
            warn(
                f"{outside} observations lie outside the support of {self.link!r}: their fitted probability is exactly 0 or 1.",
                SupportWarning,
            )
        rarer = min(self.n_events, self.n_total - self.n_events)
        if rarer < FEW_EVENTS_PER_PARAMETER * len(fitted.params):
            warn(
                f"{rarer:g} observations of the rarer outcome for {len(fitted.params)} coefficients are few; "
                "estimates are biased away from zero and intervals unreliable.",
                FewEventsWarning,
            )

    def _vanishing_columns(self, engine: MemoryEngine, fitted: Estimate) -> list[str]:
        """Name the columns whose information has vanished against that of the null model: the mark of separation."""
        null = self.loss.expected_curvature_at(self.link.at(np.atleast_1d(self.link(fitted.events / fitted.weight))))
        for part in (engine.thin(THINNEST), engine):
            squares = part.reduce(ArraySum(lambda block: np.einsum("ij,ij->j", block.X, block.X))) / part.n_rows
            with np.errstate(divide="ignore", invalid="ignore"):
                left = np.diagonal(fitted.information) / (squares * null * fitted.weight)
            suspect = (left < VANISHED) | (squares == 0)
            if not suspect.any():
                return []
        return [name for name, vanished in zip(self.exog_names, suspect, strict=True) if vanished]

    # -- statsmodels' vocabulary -----------------------------------------------------------

    def predict(self, params, exog=None, exposure=None, offset=None, which="mean"):
        """Return predictions for a design matrix.

        Parameters
        ----------
        params : array_like of shape (k,)
        exog : array_like, optional
            Design matrix; that of the model by default, then with the offset of the model.
        exposure, offset : array_like, optional
            For `exog`.
        which : {"mean", "linear", "var_unscaled"}
        """
        if which not in PREDICTIONS:
            raise unknown_option("which", which, PREDICTIONS)
        if exog is None:
            linear = np.dot(self.exog, params) + (self._offset_exposure if offset is None else np.asarray(offset))
        else:
            linear = np.dot(np.asarray(exog), params) + (0.0 if offset is None else np.asarray(offset))
        if exposure is not None:
            linear = linear + np.log(np.asarray(exposure))
        if which == "linear":
            return linear
        mean = self.link.inverse(linear)
        return mean if which == "mean" else mean * (1.0 - mean)

    def design_of(
        self, data: Any, offset: Any = None, exposure: Any = None
    ) -> tuple[NDArray, NDArray | None, pd.Index]:
        """Return design matrix, offset and row labels of new data, by the formula and column names of the model."""
        frame = as_frame(data)
        offset = self._new_offset(
            vector(self.design.offset_name if offset is None else offset, frame, "offset", len(frame)),
            vector(self.design.exposure_name if exposure is None else exposure, frame, "exposure", len(frame)),
        )
        used = [name for name in formulas.names_in(self.design.recipe.formula) if name in frame.columns]
        complete = ~frame[used].isna().any(axis=1).to_numpy()
        if complete.all():
            return self.design.recipe.matrix(frame), offset, frame.index
        X = np.full((len(frame), self.exog.shape[1]), np.nan)
        X[complete] = self.design.recipe.matrix(frame[complete])
        return X, offset, frame.index

    def _new_offset(self, offset: NDArray | None, exposure: NDArray | None) -> NDArray | None:
        """Return the offset of new data, the log of the exposure included; both, if the model has them."""
        design = self.design
        for role, value, needed in (
            ("offset", offset, design.array_offset or design.offset_name is not None),
            ("exposure", exposure, design.array_exposure or design.exposure_name is not None),
        ):
            if needed and value is None:
                raise InvalidDataError(
                    f"the model has an {role}, which the new data do not; give {role}= for them too."
                )
        return designs.combined_offset(offset, exposure)

    def score_factor(self, params, scale=None):
        """Return the factor of each row of `exog` in the score."""
        return -self._weighted(self.loss.slope(self.endog, self.predict(params, which="linear")))

    def hessian_factor(self, params, scale=None, observed=True):
        """Return the factor of each row's cross-product in the negative Hessian."""
        linear = self.predict(params, which="linear")
        if observed:
            return self._weighted(self.loss.curvature(self.endog, linear))
        with np.errstate(all="ignore"):
            return self._weighted(self.loss.expected_curvature_at(self.link.at(linear)))

    def hessian(self, params, scale=None, observed=None):
        """Return the Hessian of the (quasi-)log-likelihood, observed by default."""
        sums = LossSums(self.loss, np.asarray(params, dtype=float), expected=observed is False)
        return -self.engine().reduce(sums).hessian

    def _weighted(self, values: NDArray) -> NDArray:
        return values * self.iweights * self.n_trials
