"""Predictions of a fit, for its own rows and for new data, with standard errors and intervals."""

from __future__ import annotations

from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit, logit
from statsmodels.base._prediction_inference import PredictionResultsMonotonic
from statsmodels.genmod.generalized_linear_model import GLMResults

from gevglm.data.new_rows import read_matrix, read_table
from gevglm.data.sources import Source, as_source
from gevglm.data.sources.frames import FramesSource
from gevglm.data.tables import as_frame, vector
from gevglm.exceptions import InvalidDataError, InvalidOptionError, SupportWarning, unknown_option, warn
from gevglm.links.base import BinaryLink
from gevglm.results.scoring import predict_in_pieces
from gevglm.sampling.schemes import AS_FITTED

if TYPE_CHECKING:
    from gevglm.model import BinaryGLM
    from gevglm.results.core import BinaryGLMResults


PREDICTIONS = ("mean", "linear", "var_unscaled", "fitted")


class Predictions:
    """What results predict; a part of :class:`gevglm.results.core.BinaryGLMResults`."""

    model: BinaryGLM
    link: BinaryLink

    def predict(self, exog=None, transform=True, *, exposure=None, offset=None, which="mean", to=None):
        """Predict for the rows of the model or for new data.

        Parameters
        ----------
        exog : table or array_like, optional
            New data: a table for models from formulas (with the columns of offset and exposure, if the model names them), else a design matrix.
            Data that come in pieces (see :func:`gevglm.fit`) are read piece by piece.
        transform : bool
            Whether to apply the formula to `exog`.
        exposure, offset : str or array_like, optional
        which : {"mean", "linear", "var_unscaled", "fitted"}
            "mean" is the probability in the population, also if rows were sampled (``prevalence=``) or weighted (``class_weight=``) by their
            outcome; "fitted" is then the probability in the sample, or under the weights.
        to : path, optional
            A parquet file to write the columns of `exog` and the predictions (as ``prediction``) to, in pieces.

        Returns
        -------
        ndarray or Series, or the path written to
        """
        if which not in PREDICTIONS:
            raise unknown_option("which", which, PREDICTIONS)
        source = self._source_to_predict(exog, to)
        if source is not None:
            if offset is not None or exposure is not None:
                raise InvalidOptionError("offset and exposure of data in pieces are the columns that the model names.")
            values = predict_in_pieces(self, source, which, to)
            return values.set_axis(exog.index) if to is None and isinstance(exog, pd.DataFrame) else values
        exog, offset, exposure, index = self._rows_to_predict(exog, transform, offset, exposure)
        values = self.model.predict(self._params, exog, exposure=exposure, offset=offset, which=which)
        return values if index is None else pd.Series(values, index=index)

    def get_prediction(
        self,
        exog=None,
        exposure=None,
        offset=None,
        transform=True,
        which=None,
        average=False,
        agg_weights=None,
        row_labels=None,
    ):
        """Predictions with standard errors and intervals inside (0, 1); see statsmodels, and :meth:`predict` for `which`.

        The limits of a probability are those of the linear predictor, transformed; those of an average (``which="mean",
        average=True``) are built on the logit scale, see :func:`gevglm.results.prediction.average_prediction`. Averages over rows that were sampled by their outcome
        are weighted to the population, unless `agg_weights` are given.
        """
        exog, offset, exposure, index = self._rows_to_predict(exog, transform, offset, exposure)
        link = self.link if which == "fitted" else self.model.population_link
        if exog is None:
            offset = self.model.offset if offset is None else offset
            if agg_weights is None and which != "fitted":
                agg_weights = self.model.sampling.population_weights(self.model.endog)
        if which == "fitted":
            which = "mean" if average else None
        results = self._of_arrays(link)
        if self._joint is not None and which != "linear":
            exog = results._with_shape(exog, offset, exposure)
        if which == "mean" and average:
            linear = self.model.predict(results._params, exog, exposure=exposure, offset=offset, which="linear")
            X = self.model.exog if exog is None else exog
            df = self.df_resid if self.use_t else None
            return average_prediction(link, X, linear, results.cov_params_matrix, agg_weights, df)
        return GLMResults.get_prediction(
            results,
            exog=exog,
            exposure=exposure,
            offset=offset,
            transform=False,
            which=which,
            average=average,
            agg_weights=agg_weights,
            row_labels=index if row_labels is None else row_labels,
        )

    def get_distribution(self, exog=None, exposure=None, offset=None, var_weights=1.0, n_trials=1.0):
        """Return the binomial distribution of new outcomes, as a frozen distribution of scipy; see statsmodels."""
        mean = np.asarray(self.predict(exog, exposure=exposure, offset=offset))
        return self.family.get_distribution(mean, 1.0, var_weights=var_weights, n_trials=n_trials)

    def _of_arrays(self, link: BinaryLink) -> BinaryGLMResults:
        """Return a shallow copy that knows no formula, for statsmodels' predictions from design matrices."""
        results = self._with_link(link)
        results.model.__dict__.pop("formula", None)
        return results

    def _in_population(self) -> BinaryGLMResults:
        """Return a shallow copy with the link and the weights of the population, for averages over the rows."""
        results = self._with_link(self.model.population_link)
        weights = self.model.sampling.population_weights(self.model.endog) if self.has_data else None
        if weights is not None:
            results.model.freq_weights = self.model.freq_weights * weights
        return results

    def _with_link(self, link: BinaryLink) -> BinaryGLMResults:
        """Return a shallow copy that predicts with a link, also where statsmodels computes through the family."""
        results, model = copy(self), copy(self.model)
        model.family = copy(model.family)
        model.link = model.family.link = link
        model.sampling = AS_FITTED
        results.model = model
        return results

    def _with_shape(self, exog: Any, offset: Any, exposure: Any) -> NDArray:
        r"""Make the shape a coefficient, and return the design with its column.

        A change of the shape moves a probability as much as a change of the linear predictor by :math:`F_\xi / F'` does.
        """
        exog = self.model.exog if exog is None else np.asarray(exog)
        point = self.link.at(np.atleast_1d(self.model.predict(self._params, exog, exposure, offset, which="linear")))
        with np.errstate(divide="ignore", invalid="ignore"):
            column = np.nan_to_num(point.dcdf_dxi / point.pdf, posinf=0.0, neginf=0.0)
        self.params = np.append(self._params, 0.0)
        self.cov_params_default = self._joint
        self.normalized_cov_params = self._joint
        return np.column_stack([exog, column])

    def _source_to_predict(self, exog: Any, to: Any) -> Source | None:
        """Return new data that come in pieces, are to be written to a file, or have too many columns for a dense matrix."""
        by_formula = not isinstance(exog, (np.ndarray, type(None))) and self.model.design.recipe is not None
        source = as_source(exog) if by_formula else None
        if to is not None and not by_formula:
            raise InvalidOptionError("to= goes with new data, for a model from a formula.")
        if source is None and by_formula and (to is not None or self.model.design.recipe.sparse):
            table = as_frame(exog)
            return FramesSource(lambda: [table])
        return source

    def _rows_to_predict(self, exog: Any, transform: bool, offset: Any, exposure: Any):
        """Return design matrix, offset, exposure and row labels; None for what is that of the model."""
        design = self.model.design
        if exog is None:
            n = len(self.model.endog)
            return None, vector(offset, design.frame, "offset", n), vector(exposure, design.frame, "exposure", n), None
        by_formula = transform and design.recipe is not None and not isinstance(exog, np.ndarray)
        rows = (read_table if by_formula else read_matrix)(design.layout, exog, offset, exposure)
        linear = self.model.predict(self._params, rows.X, offset=rows.offset, which="linear")
        outside = int((self.link.outside(linear) & np.isfinite(linear)).sum())
        if outside:
            warn(
                f"{outside} of {len(linear)} rows lie outside the support of {self.link.population!r}; their probability is exactly 0 or 1.",
                SupportWarning,
            )
        return rows.X, rows.offset, None, rows.index


def average_prediction(
    link: BinaryLink, X: NDArray, linear: NDArray, cov_params: NDArray, weights: Any = None, df: float | None = None
) -> PredictionResultsMonotonic:
    r"""Average probabilities over rows, with limits that no probability can pass.

    Parameters
    ----------
    link : BinaryLink
    X : ndarray of shape (n, k)
    linear : ndarray of shape (n,)
        The linear predictor of the rows.
    cov_params : ndarray of shape (k, k)
    weights : array_like of shape (n,) or (n, m), optional
        Weights of the rows, for m averages at once; as in statsmodels they are not normalised.
    df : float, optional
        Degrees of freedom of the t distribution; the limits are by the normal distribution without it.

    Notes
    -----
    The average :math:`m = \frac1n \sum w_i F(v_i)` lies between 0 and the mean weight a (1 without weights). With s its standard
    error by the delta method and q a quantile, the limits are symmetric for the logit of m/a,

    .. math:: a \, \mathrm{expit}\left(\mathrm{logit}\frac{m}{a} \pm q \frac{a s}{m (a - m)}\right).

    With negative weights (a contrast) there are no such bounds, and the limits are :math:`m \pm q s`.
    """
    n = len(linear)
    weights = np.ones(n) if weights is None else np.asarray(weights, dtype=float).T
    if weights.ndim and weights.shape[-1] != n:
        raise InvalidDataError(f"agg_weights has {weights.shape[-1]} rows, but {n} rows are averaged.")
    weights = np.broadcast_to(weights, (*weights.shape[:-1], n))
    average = (weights * link.inverse(linear)).mean(axis=-1)
    gradient = np.dot(weights * link.inverse_deriv(linear), X) / n
    variance = np.einsum("...j,jk,...k->...", gradient, cov_params, gradient)
    facts = {"df": df, "dist": "norm" if df is None else "t"}
    top = weights.mean(axis=-1)
    if (weights < 0).any() or not np.all(top > 0):
        return PredictionResultsMonotonic(average, variance, average, np.sqrt(variance), func=_same, **facts)
    share = average / top
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.where(variance > 0, np.sqrt(variance) / top / (share * (1.0 - share)), 0.0)
    func = partial(_share_of, np.reshape(top, (-1, 1)))
    return PredictionResultsMonotonic(average, variance, logit(share), error, func=func, **facts)


def _share_of(top: NDArray, z: NDArray) -> NDArray:
    return top * expit(z)


def _same(z: NDArray) -> NDArray:
    return z
