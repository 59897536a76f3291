"""BinaryGLM: a design and a loss, in statsmodels' shape; `fit` hands over results and changes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from statsmodels.base.data import ModelData
from statsmodels.base.model import LikelihoodModel

from gevglm import fitting
from gevglm.data import build
from gevglm.data.design import FIT_AGAIN, Design
from gevglm.data.observations import Part
from gevglm.data.scope import caller_names
from gevglm.data.survey import Survey
from gevglm.engine import Engine
from gevglm.engine.linalg import Matrix
from gevglm.engine.monitor import NULL_MONITOR, Monitor, monitoring
from gevglm.estimation.estimate import Problem
from gevglm.estimation.objective import Ridge
from gevglm.exceptions import InvalidOptionError
from gevglm.families import family_of
from gevglm.inference.separation import Separation, find_directions
from gevglm.losses import Loss
from gevglm.model.loss_model import LossModel
from gevglm.options import FitOptions, ModelOptions, known_arguments
from gevglm.results import BinaryGLMResults, BinaryGLMResultsWrapper
from gevglm.sampling.choice import sampling_of
from gevglm.sampling.schemes import OutcomeSampling, Sampling


@lru_cache
def _ones(n: int) -> NDArray:
    return np.broadcast_to(np.ones(()), (n,))


class BinaryGLM(LossModel):
    """Regression of a binary outcome: any link, with its log or its canonical loss.

    Parameters
    ----------
    endog : array_like
        Outcome: 0/1, bool, two levels with `event`, shares with `freq_weights`, or two columns (successes, failures).
    exog : array_like or sparse matrix of shape (n, k)
        Design matrix as given; no constant is added.
    n_trials : array_like, optional
        Trials behind each row when `endog` holds shares.
    missing : {"none", "drop", "raise"}
        What to do with incomplete rows.
    link, loss, xi, offset, exposure, freq_weights, var_weights, sampling_weights, design, event, prevalence, sampling, class_weight : optional
        See :func:`gevglm.fit`; here columns are given as arrays.

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

    _results_class, _results_class_wrapper = BinaryGLMResults, BinaryGLMResultsWrapper

    @known_arguments
    def __init__(
        self,
        endog: Any,
        exog: Any,
        *,
        link: Any = None,
        loss: Any = None,
        xi: float | str | None = None,
        offset: Any = None,
        exposure: Any = None,
        freq_weights: Any = None,
        var_weights: Any = None,
        sampling_weights: Any = None,
        design: Survey | None = None,
        n_trials: ArrayLike | None = None,
        event: Any = None,
        missing: str = "none",
        prevalence: Any = None,
        sampling: str = "prior",
        class_weight: Any = None,
    ):
        options = ModelOptions.of(locals())
        self._begin(build.from_arrays(endog, exog, n_trials=n_trials, **options.columns()), options)

    @classmethod
    @known_arguments
    def from_formula(
        cls,
        formula: str,
        data: Any,
        *,
        link: Any = None,
        loss: Any = None,
        xi: float | str | None = None,
        offset: Any = None,
        exposure: Any = None,
        freq_weights: Any = None,
        var_weights: Any = None,
        sampling_weights: Any = None,
        design: Survey | None = None,
        event: Any = None,
        subset: Any = None,
        missing: str = "drop",
        prevalence: Any = None,
        sampling: str = "prior",
        class_weight: Any = None,
        formula_engine: str | None = None,
        eval_env: int = 0,
    ) -> BinaryGLM:
        """Build a model from a formula and a table; all words but the last are described in :func:`gevglm.fit`.

        Parameters
        ----------
        eval_env : int
            How many frames above the caller the names used in the formula are looked up.
        """
        return cls.of_table(formula, data, ModelOptions.of(locals()), caller_names(formula, subset, eval_env))

    @classmethod
    def of_table(
        cls, formula: str, data: Any, options: ModelOptions, scope: dict[str, Any], monitor: Monitor = NULL_MONITOR
    ) -> BinaryGLM:
        """Build a model from a formula, a table, options, and the objects of the user's scope that the formula names."""
        facts = {"subset": options.subset, **options.columns()}
        design = build.from_table(formula, data, scope, options.formula_engine, monitor, **facts)
        model = cls.__new__(cls)
        model._begin(design, options)
        model._attach_formula(formula)
        return model

    @classmethod
    def of_arrays(cls, endog: Any, exog: Any, options: ModelOptions, *, owned: bool = False) -> BinaryGLM:
        """Build a model from an outcome, a design matrix and options; a matrix is `owned` if nobody else can change it."""
        model, columns = cls.__new__(cls), options.columns()
        model._begin(build.from_arrays(endog, exog, n_trials=options.n_trials, owned=owned, **columns), options)
        return model

    def _begin(self, design: Design, options: ModelOptions) -> None:
        loss = options.resolve()
        scheme = sampling_of(options.prevalence, options.sampling, options.class_weight, design, loss)
        self._set_up(*scheme.applied_to(design, loss), options.shape_choice, scheme, options.without_rows())

    def at_shape(self, xi: float) -> BinaryGLM:
        """Return the same model with its shape fixed."""
        return self.changed(self.design, self.loss.with_shape(xi), self.sampling)

    def with_loss(self, loss: Loss) -> BinaryGLM:
        """Return the model of the same rows with another loss, given as that of the population."""
        return self.changed(self.design, self.sampling.loss(loss), self.sampling)

    def on_rows(self, rows: NDArray | Part, shape: str | None = None) -> BinaryGLM:
        """Return the model of some of the rows, or observations, as the design has it; with `shape`, its xi is chosen anew."""
        model = type(self).__new__(type(self))
        model._set_up(self.design.on_rows(rows), self.loss, shape, self.sampling, self.options)
        return model

    def omitting(self, columns: Mapping[int, tuple[int, ...]], rows: NDArray | None = None) -> BinaryGLM:
        """Return the same model without some columns, which keep their places, each with those it is a combination of; of some rows, if given."""
        design = self.design if rows is None else self.design.selected(rows)
        design = replace(design, omitted=design.omitted | dict(columns))
        return self.changed(design, self.loss, self.sampling, self.shape_choice)

    def at_sampling(self, sampling: OutcomeSampling) -> BinaryGLM:
        """Return the same model of the population, with another prevalence."""
        loss = type(self.loss)(self.link.population)
        return self.changed(*sampling.applied_to(self.design.unweighted(), loss), sampling)

    def of_new_rows(self, design: Design) -> BinaryGLM:
        """Return the model of the population on the rows of another design, which are a sample of it."""
        loss = type(self.loss)(self.population_link)
        scheme = sampling_of(None, "prior", None, design, loss)
        return self.changed(*scheme.applied_to(design, loss), scheme)

    def changed(self, design: Design, loss: Loss, sampling: Sampling, shape: str | None = None) -> BinaryGLM:
        """Return the model of another design; with `shape`, its xi is chosen anew."""
        model = type(self).__new__(type(self))
        model._set_up(design, loss, shape, sampling, self.options)
        if hasattr(self, "formula") and design.recipe is not None:
            model._attach_formula(self.formula)
        return model

    def _set_up(
        self, design: Design, loss: Loss, shape_choice: str | None, sampling: Sampling, options: ModelOptions
    ) -> None:
        self.options, self.shape_choice, self.sampling, self.design = options, shape_choice, sampling, design
        self.loss, self.link, self.family = loss, loss.link, family_of(loss)
        self.nobs = design.n_rows
        ones = _ones(self.nobs)
        self.freq_weights = ones if design.freq is None else design.freq
        self.var_weights = ones if design.var is None else design.var
        self.n_trials = ones if design.trials is None else design.trials
        self.iweights = ones if design.freq is None and design.var is None else self.freq_weights * self.var_weights
        self.family.n = 1 if design.trials is None else design.trials
        self._has_freq_weights, self._has_var_weights = design.freq is not None, design.var is not None
        self._has_offset, self._has_exposure = design.offset is not None, False
        if design.index is None and isinstance(design.X, np.ndarray):
            self._attach_arrays(design)
        else:
            LikelihoodModel.__init__(self, *design.labelled(), missing="none", hasconst=False)
        if not design.has_rows:
            self.endog, self.exog = design.y, design.X
        elif issparse(design.X):
            self.exog = self.data.exog = design.X
            self.data.xnames = design.names
        self.exposure, self.offset = None, design.offset
        self._offset_exposure = 0.0 if design.offset is None else design.offset
        self._offset_name, self._exposure_name = design.offset_name, design.exposure_name
        self._freq_weights_name = self._var_weights_name = self.scaletype = self._optim_hessian = None
        if design.index is None:
            self.data.xnames = design.names
        self.data.const_idx = None if design.constant in design.omitted else design.constant
        self.data.k_constant = self.k_constant = int(design.constant is not None)
        self._init_keys = ["link", "loss", "offset", "freq_weights", "var_weights", "n_trials"]
        self._data_attr.extend(["freq_weights", "var_weights", "iweights", "_offset_exposure", "n_trials", "offset"])

    def _attach_arrays(self, design: Design) -> None:
        """Do what the constructor of statsmodels does, for rows without labels, which need neither checks nor conversions."""
        self.data = data = ModelData.__new__(ModelData)
        data.orig_endog = data.endog = self.endog = design.y
        data.orig_exog = data.exog = self.exog = design.X
        data._cache = {}
        self._data_attr = ["exog", "endog", "data.exog", "data.endog", "data.orig_endog", "data.orig_exog"]
        self.initialize()

    def _attach_formula(self, formula: str) -> None:
        self.formula = formula
        self.data.frame = self.design.frame
        self._attach_terms()

    def _attach_terms(self) -> None:
        """Show statsmodels the terms of the formula, under the names that its versions look for."""
        spec = getattr(self.design.recipe, "spec", None)
        self.model_spec = self.data.model_spec = self.data.design_info = spec

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
        """Set the degrees of freedom; the rank is looked at in `fit`, which leaves collinear columns out."""
        self.df_model = len(self.design.names) - len(self.design.omitted) - 1
        self.wnobs = self.design.sum_freq
        self.df_resid = self.wnobs - self.df_model - 1

    def _get_init_kwds(self) -> dict[str, Any]:
        given = {"freq_weights": self._has_freq_weights, "var_weights": self._has_var_weights}
        given["n_trials"] = self.design.trials is not None
        return {key: getattr(self, key) if given.get(key, True) else None for key in self._init_keys}

    def engine(self, exog: Matrix | None = None) -> Engine:
        """Return the rows, as the solver sees them; with another design matrix, if one is given."""
        return self.design.engine() if exog is None else self.design.engine(exog)

    def problem(self, engine: Engine | None = None, monitor: Monitor = NULL_MONITOR, **options: Any) -> Problem:
        """Return what is to be estimated."""
        engine = (self.engine() if engine is None else engine).with_monitor(monitor)
        options |= {"constant": self.data.const_idx, "names": self.exog_names, "monitor": monitor}
        options["omitted"] = sorted(self.design.omitted)
        return Problem(engine, self.loss, **options)

    def penalty(self, alpha: Any, penalize_intercept: bool = False, standardize: bool = False) -> Ridge | None:
        """Return the ridge penalty of the words of :meth:`fit`."""
        if type(alpha) is float and alpha == 0.0:
            return None
        scale = self.design.column_variances(self.sampling.population_weights) if standardize and alpha else None
        options = FitOptions(alpha=alpha, penalize_intercept=penalize_intercept)
        return options.penalty(scale, len(self.design.names), self.data.const_idx)

    def separation(self) -> Separation:
        """Look for combinations of the columns that separate the outcomes; see :func:`gevglm.detect_separation`."""
        self.design.need_rows("looking for separation", FIT_AGAIN)
        return find_directions(self.exog, self.endog, self.iweights * self.n_trials, self.exog_names, self.link)

    def __repr__(self) -> str:
        what = getattr(self, "formula", None) or f"{self.design.outcome}, {len(self.exog_names)} columns"
        return f"<BinaryGLM: {what}; {self.loss!r}>"

    @known_arguments
    def fit(
        self,
        start_params: ArrayLike | None = None,
        *,
        bias: Any = None,
        alpha: float | str = 0.0,
        penalize_intercept: bool = False,
        standardize: bool | None = None,
        search_kwds: dict[str, Any] | None = None,
        collinear: str = "drop",
        separation: str = "warn",
        cov_type: str | None = None,
        cov_kwds: dict[str, Any] | None = None,
        use_t: bool | str | None = None,
        maxiter: int = 100,
        tol: float = 1e-8,
        disp: bool = False,
        progress: bool | None = None,
        resume: Any = None,
    ) -> BinaryGLMResultsWrapper:
        r"""Estimate the coefficients.

        Parameters
        ----------
        start_params : array_like, optional
            Starting values; by default those of the model with a constant only, improved on part of the data.
        bias : str or BiasReduction, optional
            "mean" (or "firth"), "median", "jeffreys", "correction", "king-zeng", "flic", "flac", "logf", or a method of
            :mod:`gevglm.bias`.
        alpha : float or "cv"
            Ridge penalty :math:`\frac{\alpha}{2} \sum_j b_j^2` on the summed loss; "cv" chooses it by cross-validation.
        penalize_intercept : bool
            Whether the penalty includes the constant.
        standardize : bool, optional
            Penalise coefficients of columns scaled to unit variance (n - 1), and report them on their own scale. By default with "cv" only.
        search_kwds : dict, optional
            For ``xi="ml"``: ``grid``. For "cv": ``grid``, ``alphas``, ``folds``, ``criterion`` ("log_loss" or "brier"), ``rng``, ``refine``,
            ``rule`` ("best" or "one_se"), ``groups`` (clusters kept together, by default those of ``cov_type="cluster"``).
        collinear, separation : {"drop", "raise"}, {"warn", "drop", "ignore"}
            What to do with columns that are combinations of others, and with infinite estimates; see :func:`gevglm.fit`.
        cov_type : str or Covariance, optional
            "nonrobust" (the default), "HC0" (if rows are weighted by their outcome) to "HC3", "robust" (HC1), "linearized", "cluster", "HAC".
        cov_kwds : dict, optional
            ``{"groups": column or array, "kind": "CR0" to "CR3" or "CR1S"}`` for clusters (two columns: two-way), ``{"maxlags": n}`` for HAC.
        use_t : bool or "satterthwaite", optional
            Whether tests and limits, of coefficients and of all that is derived from them, use the t instead of the normal distribution, as they do
            by default with a survey design: with n - k degrees of freedom, or clusters minus one. "satterthwaite" gives each test of a
            cluster-robust fit the degrees of freedom of its variance, for few clusters.
        maxiter : int
            Largest number of Newton steps.
        tol : float
            Distance to the solution in standard errors, relative to the square root of the null loss.
        disp : bool
            Print how the iteration ended.
        progress : bool, optional
            Whether a bar follows the passes over data that are read in pieces. By default it does in terminals and notebooks, if
            tqdm is installed and the fit takes more than a moment.
        resume : path, optional
            A file that keeps the current iterate: an interrupted fit that is called again with the same file goes on from there. It is
            removed when the fit has ended.

        Warns
        -----
        CollinearityWarning, ConvergenceWarning, SeparationWarning, SupportWarning, FewEventsWarning
        """
        return self.fit_by(FitOptions.of(locals()))

    def fit_by(self, options: FitOptions) -> BinaryGLMResultsWrapper:
        """Estimate the coefficients by options in one object; see :meth:`fit`."""
        with monitoring(options.progress, options.resume, self.exog_names) as monitor:
            return fitting.fit(self, options, monitor)

    def fit_constrained(self, constraints, start_params=None, **fit_kwds):
        """Estimate under linear constraints; see statsmodels."""
        return fitting.fit_constrained(self, constraints, start_params, fit_kwds)

    def fit_regularized(self, *args, **kwargs):
        """Refuse: the penalty here is ridge."""
        raise InvalidOptionError("use fit(alpha=...) for a ridge penalty; there is no elastic net here.")
