"""Marginal effects on the probability scale, with offsets and weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from statsmodels.discrete.discrete_margins import DiscreteMargins
from statsmodels.tools.numdiff import approx_fprime_cs

from gevglm.calibration._summary_table import EscapedSummary
from gevglm.calibration.bins import weighted_quantile
from gevglm.exceptions import InvalidOptionError, unknown_option

if TYPE_CHECKING:
    from statsmodels.iolib.summary import Summary

    from gevglm.inference.shape import ShapeEstimate
    from gevglm.inference.shape_track import ShapeTrack
    from gevglm.links.base import BinaryLink
    from gevglm.results.core import ResultsCore

METHODS = ("dydx", "eyex", "dyex", "eydx")
SHAPE_STEP = 1e-5
AT = ("overall", "mean", "median", "zero", "all")


class Margins(DiscreteMargins):
    r"""Marginal effects of every column but the constant; statsmodels' object, with offsets and weights.

    Parameters
    ----------
    results : BinaryGLMResults
    args : tuple
        ``(at, method, atexog, dummy, count)``, as in :meth:`BinaryGLMResults.get_margeff`, the weights of the rows in averages, and the
        influence of observations, if the rows are a sample.

    Notes
    -----
    The average over the rows, and the means and medians at which effects are taken, are weighted by what the rows stand for; the offset is at
    its mean there. Standard errors are by the delta method, through complex steps; averages over a sample include its randomness.
    """

    def get_margeff(
        self, at="overall", method="dydx", atexog=None, dummy=False, count=False, weights=None, influence=None
    ):
        """Compute the effects; see :meth:`BinaryGLMResults.get_margeff`."""
        self._reset()
        if method not in METHODS:
            raise unknown_option("method", method, METHODS)
        if at not in AT:
            raise unknown_option("at", at, AT)
        if (dummy or count) and method in ("eyex", "dyex"):
            raise InvalidOptionError(f"method={method!r} has no meaning for a discrete change; use 'dydx' or 'eydx'.")
        results: ResultsCore = self.results
        model = results.model
        exog = model.design.dense("get_margeff()", "use risk(), one variable at a time").astype(float, copy=False)
        model.exog = exog  # of a copy of the model, in which statsmodels looks for constants
        columns = np.flatnonzero(exog.var(axis=0) != 0)
        discrete = _discrete_columns(exog, columns, dummy, count)
        exog, offset, weight = _representative(model, exog, at, atexog, weights)

        def effects(params: NDArray, link=model.family.link) -> NDArray:
            return _effects(link, params, exog, offset, columns, discrete, method)

        params = np.asarray(results.params)
        undefined = [i for i, j in enumerate(columns) if results.infinite[j] != 0.0 and j not in discrete]
        self.margeff_options = {"method": method, "at": at}
        if at == "all":
            self.margeff = effects(params)
            self.margeff[:, undefined] = np.nan
            return
        average = lambda params, *link: weight @ effects(params, *link)  # noqa: E731
        self.margeff = average(params)
        jacobian = np.atleast_2d(approx_fprime_cs(params, average))
        if results._shape is not None:
            self.margeff_cov = _shape_covariance(results, results._shape, average, model.family.link)
        elif influence is not None and at == "overall":
            values = effects(params)
            averaged = np.broadcast_to(weight[:, None], values.shape)
            self.margeff_cov = influence.covariance(self.margeff, jacobian, values, averaged)
        else:
            self.margeff_cov = results.delta_covariance(jacobian, "an average marginal effect")
        self.margeff[undefined] = np.nan  # slopes of infinite coefficients
        self.margeff_se = np.sqrt(np.diagonal(self.margeff_cov))

    def summary(self, alpha: float = 0.05) -> Summary:
        """Summarise the effects; see statsmodels."""
        return EscapedSummary.of(super().summary(alpha))


def _shape_covariance(
    results: ResultsCore, shape: ShapeEstimate, average: Callable[..., NDArray], link: BinaryLink
) -> NDArray:
    """Return the covariance of average effects whose link has an estimated shape, by the delta method."""
    covariance, params = results.joint_covariance, np.asarray(results.params)
    if shape.irregular:
        return _covariance_by_steps(covariance, params, shape.track, average, link)
    moved = [average(params, link.with_shape(shape.xi + step)) for step in (SHAPE_STEP, -SHAPE_STEP)]
    change = (moved[0] - moved[1]) / (2.0 * SHAPE_STEP)
    jacobian = np.column_stack([np.atleast_2d(approx_fprime_cs(params, average)), change])
    return jacobian @ covariance @ jacobian.T


def _covariance_by_steps(
    covariance: NDArray, params: NDArray, track: ShapeTrack, average: Callable[..., NDArray], link: BinaryLink
) -> NDArray:
    """Do what the delta method does with differences over one standard error, for effects without a useful derivative.

    They have none where rows are at the end of the support. One step is along the fits of other shapes, the others along the principal axes of the
    covariance of the coefficients at the estimated shape.
    """
    here = link.with_shape(track.xi)
    if not np.isfinite(covariance).all():
        return np.full((len(average(params, here)),) * 2, np.nan)
    error, mixed = np.sqrt(covariance[-1, -1]), covariance[:-1, -1]
    values, vectors = np.linalg.eigh(covariance[:-1, :-1] - np.outer(mixed, mixed) / error**2)
    steps = (vectors * np.sqrt(np.maximum(values, 0.0))).T
    changes = [(average(params + step, here) - average(params - step, here)) / 2.0 for step in steps]
    ends = track.inside(track.xi + np.array([-error, error]))
    before, after = (
        average(params + shift, link.with_shape(xi)) for xi, shift in zip(ends, track.moved(ends)[0], strict=True)
    )
    changes.append((after - before) * error / np.ptp(ends))
    return np.transpose(changes) @ changes


def _discrete_columns(exog: NDArray, columns: NDArray, dummy: bool, count: bool) -> dict[int, str]:
    kinds = {}
    for j in columns:
        values = exog[:, j]
        if dummy and ((values == 0) | (values == 1)).all():
            kinds[int(j)] = "dummy"
        elif count and (values >= 0).all() and (values == np.floor(values)).all() and values.max() > 1:
            kinds[int(j)] = "count"
    return kinds


def _representative(
    model, exog: NDArray, at: str, atexog, weights: NDArray
) -> tuple[NDArray, NDArray | float, NDArray]:
    """Return the rows at which effects are taken, their offset, and the weight of each in the average."""
    share = weights / weights.sum()
    offset = np.broadcast_to(model._offset_exposure, (len(exog),))
    if at in ("overall", "all"):
        if atexog:
            exog = exog.copy()
            for j, value in atexog.items():
                exog[:, j] = value
        return exog, offset, share
    if at == "mean":
        row = share @ exog
    elif at == "median":
        row = np.array([weighted_quantile(column, weights, np.array([0.5]))[0] for column in exog.T])
    else:
        row = np.zeros(exog.shape[1])
        constant = (exog[0] != 0) & (exog == exog[0]).all(axis=0)
        row[constant] = exog[0, constant]
    for j, value in (atexog or {}).items():
        row[j] = value
    return row[None, :], float(share @ offset), np.ones(1)


def _effects(link, params, exog, offset, columns, discrete, method) -> NDArray:
    """Return the effects, one row per row of `exog`, one column per effect."""
    linear = exog @ params + offset
    effects = link.inverse_deriv(linear)[:, None] * params[columns]
    for position, j in enumerate(columns):
        kind = discrete.get(int(j))
        if kind is not None:
            if kind == "dummy":
                base = linear - params[j] * exog[:, j]
                effects[:, position] = link.inverse(base + params[j]) - link.inverse(base)
            else:
                effects[:, position] = (link.inverse(linear + params[j]) - link.inverse(linear - params[j])) / 2.0
    if "ex" in method:
        effects = effects * exog[:, columns]
    if "ey" in method:
        effects = effects / link.inverse(linear)[:, None]
    return effects
