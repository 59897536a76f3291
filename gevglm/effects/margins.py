"""Marginal effects on the probability scale, with offsets and weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from statsmodels.discrete.discrete_margins import DiscreteMargins

from gevglm.calibration._summary_table import EscapedSummary
from gevglm.calibration.bins import weighted_quantile
from gevglm.display.brief import line_in_html
from gevglm.effects.linear import Uncertainty
from gevglm.engine import Block, MemoryEngine
from gevglm.engine.base import ArraySum
from gevglm.engine.linalg import dense
from gevglm.exceptions import InvalidOptionError, unknown_option

if TYPE_CHECKING:
    from statsmodels.iolib.summary import Summary

    from gevglm.inference.shape_track import ShapeTrack
    from gevglm.links.base import BinaryLink
    from gevglm.model import BinaryGLM
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
    its mean there. Standard errors are by the delta method; averages over a sample include its randomness.
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
        model, params = results.model, np.asarray(results.params)
        exog = model.design.dense("get_margeff()", "use risk(), one variable at a time").astype(float, copy=False)
        model.exog = exog  # of a copy of the model, in which statsmodels looks for constants
        columns = np.flatnonzero(exog.max(axis=0) != exog.min(axis=0))
        discrete = _discrete_columns(exog, columns, dummy, count)
        undefined = [i for i, j in enumerate(columns) if results.infinite[j] != 0.0 and j not in discrete]
        self.margeff_options = {"method": method, "at": at}
        effects = _Effects(columns, discrete, method)
        if at == "all":
            fixed, offset = _with_fixed(exog.astype(float), atexog), np.broadcast_to(model._offset_exposure, len(exog))
            self.margeff = effects.at(model.family.link, params, fixed, offset).value
            self.margeff[:, undefined] = np.nan
            return
        averages = _Averages(effects, *_representative(model, exog, at, atexog, weights))
        self.margeff, jacobian = averages.of(model.family.link, params)
        if results._joint is not None:
            self.margeff_cov = _shape_covariance(results, averages, jacobian, model.family.link)
        elif influence is not None and at == "overall":
            own = partial(averages.own, model.family.link, params, self.margeff)
            self.margeff_cov = influence.covariance(jacobian, own)
        else:
            self.margeff_cov = results.delta_covariance(jacobian, "an average marginal effect")
        self.margeff[undefined] = np.nan  # slopes of infinite coefficients
        nothing = results.is_omitted[columns]  # to test
        self.margeff_cov[nothing] = self.margeff_cov[:, nothing] = np.nan
        self.uncertainty = Uncertainty(self.margeff_cov, jacobian, results.degrees)
        self.margeff_se = self.uncertainty.errors

    @property
    def pvalues(self) -> NDArray:
        """P-values of the tests that effects are zero, by the t distribution where those of the coefficients are."""
        return self._of_averages().tests(self.margeff)["pvalue"]

    def conf_int(self, alpha: float = 0.05) -> NDArray:
        """Return the limits of the effects."""
        reach = self._of_averages().reach(alpha)
        return np.column_stack([self.margeff - reach, self.margeff + reach])

    def _of_averages(self) -> Uncertainty:
        if self.margeff_options["at"] == "all":
            raise InvalidOptionError("at='all' has an effect for each row, without standard errors; use another at=.")
        return self.uncertainty

    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """Return the effects as a table; see statsmodels."""
        self._of_averages()
        frame = super().summary_frame(alpha)
        return frame.rename(columns={"z": "t", "Pr(>|z|)": "Pr(>|t|)"}) if self.uncertainty.by_t else frame

    def summary(self, alpha: float = 0.05) -> Summary:
        """Summarise the effects; see statsmodels."""
        self._of_averages()
        summary = EscapedSummary.of(super().summary(alpha))
        if self.uncertainty.by_t:
            heads = {"z": "t", "P>|z|": "P>|t|"}
            for cell in summary.tables[1][0]:
                cell.data = heads.get(cell.data, cell.data)
        return summary

    def __repr__(self) -> str:
        return str(self.summary()) if self.margeff_options["at"] != "all" else super().__repr__()

    def _repr_html_(self) -> str:
        return self.summary().as_html() if self.margeff_options["at"] != "all" else line_in_html(repr(self))


class _Slopes(NamedTuple):
    r"""Effects in rows x, of shape (rows, effects), and their derivatives by the coefficients, :math:`a_{ij} x_i + c_{ij} e_j`."""

    value: NDArray
    of_row: NDArray  # a
    of_column: NDArray  # c


@dataclass(frozen=True)
class _Effects:
    """The effect of each column in a row: its slope, or a discrete change."""

    columns: NDArray
    discrete: dict[int, str]  # the kind of those that change discretely
    method: str

    def at(self, link: BinaryLink, params: NDArray, X: NDArray, offset: Any) -> _Slopes:
        """Return the effects in rows, with the numbers that make up their derivatives."""
        linear = X @ params + offset
        point = link.at(linear)
        value, of_row = point.pdf[:, None] * params[self.columns], point.dpdf[:, None] * params[self.columns]
        of_column = np.repeat(point.pdf[:, None], len(self.columns), axis=1)
        for i, j in enumerate(self.columns):
            kind, x = self.discrete.get(int(j)), X[:, j]
            if kind == "dummy":
                high, low = link.at(linear + params[j] * (1.0 - x)), link.at(linear - params[j] * x)
                value[:, i], of_row[:, i] = high.cdf - low.cdf, high.pdf - low.pdf
                of_column[:, i] = high.pdf * (1.0 - x) + low.pdf * x
            elif kind == "count":
                high, low = link.at(linear + params[j]), link.at(linear - params[j])
                value[:, i], of_row[:, i] = (high.cdf - low.cdf) / 2.0, (high.pdf - low.pdf) / 2.0
                of_column[:, i] = (high.pdf + low.pdf) / 2.0
        slopes = _Slopes(value, of_row, of_column)
        if "ex" in self.method:
            slopes = _Slopes(*(part * X[:, self.columns] for part in slopes))
        if "ey" in self.method:
            risk = point.cdf[:, None]
            value = slopes.value / risk
            of_row = (slopes.of_row - value * point.pdf[:, None]) / risk
            slopes = _Slopes(value, of_row, slopes.of_column / risk)
        return slopes


@dataclass(frozen=True)
class _Averages:
    """Averages of effects over rows, block by block."""

    effects: _Effects
    engine: MemoryEngine
    weights: NDArray  # of the rows, which its blocks represent
    fixed: dict[int, float]  # columns that have the same value in all rows

    def of(self, link: BinaryLink, params: NDArray) -> tuple[NDArray, NDArray]:
        """Return the average effects, of shape (m,), and their derivatives by the coefficients, of shape (m, k)."""
        sums = self.engine.reduce(ArraySum(partial(self._sums, link, params)))
        averages = sums[:, :-1] / sums[0, -1]
        return averages[:, 0], averages[:, 1:]

    def _sums(self, link: BinaryLink, params: NDArray, block: Block) -> NDArray:
        X, columns, weight = _with_fixed(block.X, self.fixed), self.effects.columns, block.represents
        assert weight is not None
        found = self.effects.at(link, params, X, 0.0 if block.offset is None else block.offset)
        gradient = (weight[:, None] * found.of_row).T @ X
        gradient[np.arange(len(columns)), columns] += weight @ found.of_column
        total = np.full((len(columns), 1), weight.sum())
        return np.hstack([(weight @ found.value)[:, None], gradient, total])

    def own(self, link: BinaryLink, params: NDArray, averages: NDArray, block: Block) -> NDArray:
        """Return what the rows of a block contribute to the averages by their own values, for their influence."""
        values = self.effects.at(
            link, params, _with_fixed(block.X, self.fixed), 0.0 if block.offset is None else block.offset
        ).value
        return (self.weights[block.rows] / self.weights.sum())[:, None] * (values - averages)


def _with_fixed(X: NDArray, fixed: Mapping[int, float] | None) -> NDArray:
    """Return rows in which columns have a value."""
    X = dense(X)
    if fixed:
        X = X.copy()
        for j, value in fixed.items():
            X[:, j] = value
    return X


def _shape_covariance(results: ResultsCore, averages: _Averages, jacobian: NDArray, link: BinaryLink) -> NDArray:
    """Return the covariance of average effects whose link has an estimated shape, by the delta method."""
    covariance, params = results.joint_covariance, np.asarray(results.params)

    def average(params: NDArray, link: BinaryLink) -> NDArray:
        return averages.of(link, params)[0]

    shape, xi = results._shape, float(results.xi or 0.0)
    if shape is not None and shape.irregular:
        return _covariance_by_steps(covariance, params, shape.track, average, link)
    moved = [average(params, link.with_shape(xi + step)) for step in (SHAPE_STEP, -SHAPE_STEP)]
    change = (moved[0] - moved[1]) / (2.0 * SHAPE_STEP)
    gradient = np.column_stack([jacobian, change])
    return gradient @ covariance @ gradient.T


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
    model: BinaryGLM, exog: NDArray, at: str, atexog: Mapping[int, float] | None, weights: NDArray
) -> tuple[MemoryEngine, NDArray, dict[int, float]]:
    """Return the rows at which effects are taken, with their offset, their weights, and the columns that are held fixed."""
    fixed, offset = dict(atexog or {}), np.broadcast_to(model._offset_exposure, (len(exog),))
    if at == "overall":
        nothing = np.broadcast_to(0.0, (len(exog),))
        return MemoryEngine(model.exog, nothing, offset=offset, represents=weights), weights, fixed
    if at == "mean":
        row = weights @ exog / weights.sum()
    elif at == "median":
        row = np.array([weighted_quantile(column, weights, np.array([0.5]))[0] for column in exog.T])
    else:
        row = np.where((exog[0] != 0) & (exog == exog[0]).all(axis=0), exog[0], 0.0)
    one, shift = np.ones(1), np.atleast_1d(weights @ offset / weights.sum())
    return MemoryEngine(row[None, :], one, offset=shift, represents=one), one, fixed
