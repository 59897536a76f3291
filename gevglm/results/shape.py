"""Fits whose shape xi is chosen from the data: ``xi="ml"`` and ``xi="cv"``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from gevglm.covariance import covariance_of
from gevglm.exceptions import IncompatibleOptionsError, InvalidDataError, InvalidOptionError
from gevglm.inference.cross_validation import Search, make_folds, search
from gevglm.inference.shape import PAPER_GRID, ShapeEstimate, estimate_shape, joint_covariance, shape_interval
from gevglm.links.gev import checked_shape
from gevglm.losses import Loss

if TYPE_CHECKING:
    from gevglm.model import BinaryGLM
    from gevglm.results.core import BinaryGLMResults

ALPHAS = (0.0, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)
OPTIONS = {
    "ml": ("grid",),
    "cv": ("grid", "alphas", "folds", "criterion", "rng", "refine", "rule"),
}


class ShapeInference:
    """What results know of an estimated shape; a part of :class:`gevglm.results.core.BinaryGLMResults`.

    Attributes
    ----------
    search : Search or None
        The scores of the candidates, after ``xi="cv"`` or ``alpha="cv"``.
    """

    _shape: ShapeEstimate | None = None
    _joint: NDArray | None = None
    search: Search | None = None

    @property
    def xi_bse(self) -> float:
        """Standard error of the shape, after ``xi="ml"``."""
        self._need_shape("xi_bse")
        return float(np.sqrt(self._joint[-1, -1]))

    def xi_conf_int(self, alpha: float = 0.05, method: str = "profile") -> tuple[float, float]:
        """Confidence interval of the shape, after ``xi="ml"``.

        Parameters
        ----------
        alpha : float
            One minus the coverage.
        method : {"profile", "wald"}
            Profile intervals are cut off at the ends of the grid; with the canonical loss, whose likelihood is not what the
            coefficients maximise, they are Wald's.
        """
        self._need_shape("xi_conf_int")
        if method == "profile" and not self.loss.is_likelihood:
            method = "wald"
        if method == "profile" and self._shape.path is None:
            raise InvalidDataError("the data are gone, which a profile interval needs; use method='wald'.")
        return shape_interval(self._shape, self.xi_bse, alpha, method)

    def xi_lr_test(self, xi: float) -> tuple[float, float]:
        """Likelihood-ratio test of a shape against the estimated one: 0 for the loglog (GEV) or cloglog (GEVc) link.

        Parameters
        ----------
        xi : float

        Returns
        -------
        statistic, pvalue : float
        """
        self._need_shape("xi_lr_test")
        self._need_likelihood("xi_lr_test", "use xi_conf_int(method='wald')")
        statistic = self._shape.ratio(checked_shape(xi))
        return float(statistic), float(chi2.sf(statistic, 1))

    def plot_shape(self, ax=None):
        """Draw the profile log-likelihood of the shape, or the scores of a search."""
        if self.search is not None:
            return self.search.plot(ax=ax)
        self._need_shape("plot_shape")
        from gevglm.plots import plot_shape

        interval = self.xi_conf_int(method="profile" if self._shape.path is not None else "wald")
        return plot_shape(self._shape.profile, self._shape.xi, interval, ax=ax)

    def _need_shape(self, what: str) -> None:
        if self._shape is None:
            how = (
                "chosen by cross-validation, conditionally on which all inference is"
                if self.search is not None
                else "given"
            )
            raise InvalidOptionError(f"{what}: the shape was not estimated but {how}; fit with xi='ml'.")

    def _drop_shape_data(self) -> None:
        if self._shape is not None:
            _ = self._shape.llf
            self._shape.path = None


def fit_with_shape(
    model: BinaryGLM, *, search_kwds: dict[str, Any] | None, alpha: Any = 0.0, bias: Any = None, **options: Any
) -> BinaryGLMResults:
    """Choose the shape (and the penalty), then fit.

    Parameters
    ----------
    model : BinaryGLM
        With ``shape`` "ml", "cv" or (for ``alpha="cv"`` alone) None.
    search_kwds : dict or None
        For "ml": ``grid``. For "cv": ``grid``, ``alphas``, ``folds``, ``criterion``, ``rng``, ``refine``, and ``rule``, "best" or "one_se".
    alpha : float or "cv"
    bias, **options
        See :meth:`gevglm.BinaryGLM.fit`.
    """
    how = "cv" if model.shape == "cv" or alpha == "cv" else "ml"
    words = _checked(search_kwds, how)
    if how == "ml":
        if alpha:
            raise IncompatibleOptionsError("xi='ml' and alpha cannot be combined; use xi='cv'.")
        return _maximum_likelihood(model, words, bias, options)
    return _cross_validated(model, words, alpha, bias, options)


def _maximum_likelihood(
    model: BinaryGLM, words: dict[str, Any], bias: Any, options: dict[str, Any]
) -> BinaryGLMResults:
    problem = model.problem(monitor=options["progress"], **{key: options[key] for key in ("tol", "maxiter")})
    found = estimate_shape(problem, loss_at(model.loss), **words)
    fitted_model = model.at_shape(found.xi)
    wrapped = fitted_model.fit(found.fitted.params if bias is None else None, bias=bias, **options)
    results = wrapped._results
    covariance = covariance_of(options["cov_type"], options["cov_kwds"], model.design.grouping)
    joint = joint_covariance(problem.engine, found.loss, results._params, covariance, model.wnobs)
    results._shape, results._joint = found, joint
    results.n_iter, results.n_passes = found.path.steps + results.n_iter, found.path.passes + results.n_passes
    results.cov_params_default = joint[:-1, :-1]
    return wrapped


def _cross_validated(
    model: BinaryGLM, words: dict[str, Any], alpha: Any, bias: Any, options: dict[str, Any]
) -> BinaryGLMResults:
    if bias is not None and (alpha == "cv" or alpha):
        raise IncompatibleOptionsError("bias and alpha cannot be combined; leave one of them out.")
    if not model.design.has_rows:
        raise InvalidOptionError(
            "cross-validation needs the rows in memory, but the data are read in pieces; use xi='ml', or choose by predictions of other data."
        )
    rule = words.pop("rule", "best")
    if rule not in ("best", "one_se"):
        raise InvalidOptionError(f"rule={rule!r} is not known; use 'best' or 'one_se'.")
    folds = make_folds(model.endog, words.pop("folds", 5), words.pop("rng", 0))
    grid = words.pop("grid", PAPER_GRID) if model.shape == "cv" else (model.loss.link.parameters.get("xi", 0.0),)
    alphas = words.pop("alphas", ALPHAS) if alpha == "cv" else (float(alpha),)
    loss_of = loss_at(model.loss) if model.shape == "cv" else lambda xi: model.loss
    penalised = {key: options[key] for key in ("penalize_intercept", "standardize")}
    found = search(
        model.problem(monitor=options["progress"], **{key: options[key] for key in ("tol", "maxiter")}),
        loss_of,
        folds,
        grid=grid,
        alphas=alphas,
        penalty_of=lambda value: model.penalty(value, **penalised),
        progress=bool(options.get("disp")),
        **words,
    )
    chosen = found.best if rule == "best" else found.one_standard_error
    fitted_model = model.at_shape(float(chosen["xi"])) if model.shape == "cv" else model
    wrapped = fitted_model.fit(bias=bias, alpha=float(chosen["alpha"]), **options)
    wrapped._results.search = found
    return wrapped


def loss_at(loss: Loss):
    """Return the function from a shape to the loss of that shape, of the kind and orientation of `loss`."""
    return lambda xi: type(loss)(loss.link.with_shape(float(xi)))


def refit(results: BinaryGLMResults, engine: Any):
    """Estimate the coefficients anew on other rows, by the method and at the shape of the results."""
    problem = replace(results.model.problem(engine), start=None)
    if results.bias is not None:
        return results.bias.estimate(problem)
    return replace(problem, penalty=results.penalty).estimate()


def _checked(words: dict[str, Any] | None, how: str) -> dict[str, Any]:
    words = dict(words or {})
    unknown = [word for word in words if word not in OPTIONS[how]]
    if unknown:
        raise InvalidOptionError(
            f"search_kwds has {unknown}, which xi={how!r} does not take; it takes {list(OPTIONS[how])}."
        )
    if "grid" in words:
        grid = [checked_shape(xi) for xi in np.ravel(words["grid"])]
        if not grid:
            raise InvalidOptionError("the grid of shapes is empty.")
        words["grid"] = grid
    for alpha in np.ravel(words.get("alphas", ())):
        if not (np.isfinite(alpha) and alpha >= 0):
            raise InvalidOptionError(f"alphas has {alpha!r}; penalties must be finite and not negative.")
    return words
