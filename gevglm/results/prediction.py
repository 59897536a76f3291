"""Predictions of a fit, for its own rows and for new data, with standard errors and intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.special import expit, logit
from statsmodels.base._prediction_inference import PredictionResultsMonotonic
from statsmodels.genmod.generalized_linear_model import GLMResults

from gevglm._files import check_target, refuse_overwriting
from gevglm.covariance import Degrees
from gevglm.data.design import Design
from gevglm.data.formula import names_in
from gevglm.data.new_rows import is_read_by_formula, read_matrix, read_table, read_weights
from gevglm.data.sources import Source, as_source
from gevglm.data.sources.base import Number
from gevglm.data.sources.frames import FramesSource
from gevglm.data.sources.parquet import write_parquet
from gevglm.data.tables import as_frame, vector
from gevglm.effects.king_zeng import shape_column
from gevglm.effects.posterior import DrawnPredictions
from gevglm.effects.sampled import RowInfluence, influence_for
from gevglm.engine.base import product
from gevglm.engine.factored_matrix import FactoredMatrix, restricted, with_value
from gevglm.engine.linalg import Matrix, dense, hstack_columns, quadratic_forms, rows_of
from gevglm.exceptions import InvalidDataError, InvalidOptionError, SupportWarning, unknown_option, warn
from gevglm.links.base import BinaryLink
from gevglm.results.core import ResultsCore

PREDICTIONS = ("mean", "linear", "var_unscaled", "fitted")
COLUMN = "prediction"


class Predictions(ResultsCore):
    """What results predict; a part of :class:`gevglm.BinaryGLMResults`."""

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
        source = _source_to_predict(self.model.design, exog, to)
        if source is not None:
            if offset is not None or exposure is not None:
                raise InvalidOptionError("offset and exposure of data in pieces are the columns that the model names.")
            values = predict_in_pieces(self, source, which, to)
            return values.set_axis(exog.index) if to is None and isinstance(exog, pd.DataFrame) else values
        exog, offset, exposure, index = rows_to_predict(self, exog, transform, offset, exposure)
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

        After ``xi="map"`` predictions are at the mode, and errors and limits of probabilities and their averages are those of the posterior.

        The limits of a probability are those of the linear predictor, transformed; those of an average (``which="mean",
        average=True``) are built on the logit scale, see :func:`gevglm.results.prediction.average_prediction`. ``average=True`` alone averages
        probabilities. Averages are weighted by what the rows stand for (weights and counts of the fit, or the columns of new data that the
        model names; to the population, if rows were sampled by their outcome), unless `agg_weights` are given.
        """
        if average and which is None:
            which = "mean"
        influence = None
        if average and agg_weights is None and which in ("mean", "fitted"):
            agg_weights = _aggregation(self, exog, transform, which)
            influence = influence_for(self, None, exog) if which == "mean" else None
        exog, offset, exposure, index = rows_to_predict(self, exog, transform, offset, exposure)
        rows = None
        if self.posterior is not None and which in (None, "mean", "fitted", "linear"):
            rows = self._drawn(exog, offset, exposure, which, agg_weights if average else False)
        link = self.link if which == "fitted" else self.model.population_link
        if exog is None:
            offset = self.model.offset if offset is None else offset
        if which == "fitted":
            which = "mean" if average else None
        results = self._with_link(link)
        results.model.__dict__.pop("formula", None)  # statsmodels would apply it to a design matrix
        if self._joint is not None and which != "linear":
            exog = _with_shape(results, exog, offset, exposure)
        if which == "mean" and average:
            linear = self.model.predict(results._params, exog, exposure=exposure, offset=offset, which="linear")
            X = self.model.exog if exog is None else exog
            degrees = self.degrees
            if self.separated:
                self.leaning(X, "the average")
            found = average_prediction(link, X, linear, results.cov_params_matrix, agg_weights, degrees, influence)
            return found if rows is None else rows.given_to(found)
        if self._degrees is not None:
            X = dense(self.model.exog if exog is None else exog)
            weights = np.ones(len(X)) if agg_weights is None else agg_weights
            results.df_resid = self._degrees.of_contrasts(
                np.average(X, axis=0, weights=weights)[None] if average else X
            )
        leaning = None
        if self.separated:
            leaning = self.leaning(self.model.exog if exog is None else exog, "a prediction")
            infinite = np.flatnonzero(self.infinite != 0.0)
            results.cov_params_default = with_value(results.cov_params_default, infinite, 0.0)
        sparse, averaged = issparse(self.model.exog if exog is None else exog), average and which != "linear"
        if sparse and averaged:
            raise InvalidOptionError(f"an average of which={which!r} needs a dense design; give exog=X.toarray().")
        if sparse or (isinstance(results.cov_params_default, FactoredMatrix) and not averaged):
            exog = _in_two_columns(results, exog)
        found = GLMResults.get_prediction(
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
        if rows is not None:
            return rows.given_to(found)
        return found if leaning is None else _without_errors(found, leaning)

    def _drawn(self, exog: Any, offset: Any, exposure: Any, which: str | None, average: Any) -> DrawnPredictions:
        """Return the posterior of predictions, or of their average with weights; False for none."""
        model, X = self.model, self.model.exog if exog is None else exog
        shift = model._offset_exposure if exog is None and offset is None else (0.0 if offset is None else offset)
        shift = shift if exposure is None else shift + np.log(exposure)
        link = None if which == "linear" else self.link if which == "fitted" else model.population_link
        assert self.posterior is not None
        return DrawnPredictions(self.posterior, X, shift, link, average)

    def get_distribution(self, exog=None, exposure=None, offset=None, var_weights=1.0, n_trials=1.0):
        """Return the binomial distribution of new outcomes, as a frozen distribution of scipy; see statsmodels."""
        mean = np.asarray(self.predict(exog, exposure=exposure, offset=offset))
        return self.family.get_distribution(mean, 1.0, var_weights=var_weights, n_trials=n_trials)


def _aggregation(results: ResultsCore, exog: Any, transform: bool, which: str) -> NDArray | None:
    """Return the weights of rows in an average of predictions, whose mean is one; None for ones."""
    if exog is None:
        of_rows = results.row_weights
        weights = of_rows.population_weights if which == "mean" else product(of_rows.counts, of_rows.represents)
    elif transform and is_read_by_formula(results.model.design, exog):
        weights = read_weights(results.model.design.layout, exog).population_weights
    else:
        return None
    return None if weights is None else weights / weights.mean()


def rows_to_predict(
    results: ResultsCore, exog: Any, transform: bool, offset: Any, exposure: Any
) -> tuple[Matrix | None, NDArray | None, NDArray | None, pd.Index | None]:
    """Return design matrix, offset, exposure and row labels; None for what is that of the model."""
    model, design = results.model, results.model.design
    if exog is None:
        n = len(model.endog)
        return None, vector(offset, design.frame, "offset", n), vector(exposure, design.frame, "exposure", n), None
    rows = (read_table if transform and is_read_by_formula(design, exog) else read_matrix)(
        design.layout, exog, offset, exposure
    )
    linear = model.predict(results._params, rows.X, offset=rows.offset, which="linear")
    outside = int((results.link.outside(linear) & np.isfinite(linear)).sum())
    warn_of_rows_outside(results.link, outside, len(linear))
    return rows.X, rows.offset, None, rows.index


def warn_of_rows_outside(link: BinaryLink, outside: int, n_rows: int) -> None:
    """Warn of rows to predict that lie outside the support of the link, if there are any."""
    if outside:
        warn(
            f"{outside} of {n_rows} rows lie outside the support of {link.population!r}; their probability is exactly 0 or 1."
            + (" By the formula of the link it would be below 0 or above 1." if link.edge == "wall" else ""),
            SupportWarning,
        )


def _source_to_predict(design: Design, exog: Any, to: Any) -> Source | None:
    """Return new data that come in pieces, are to be written to a file, or have too many columns for a dense matrix."""
    if isinstance(exog, (np.ndarray, type(None))) or issparse(exog) or design.recipe is None:
        if to is not None:
            raise InvalidOptionError("to= goes with new data, for a model from a formula.")
        return None
    source = as_source(exog)
    if source is None and (to is not None or design.recipe.sparse):
        table = as_frame(exog)
        return FramesSource(lambda: [table])
    return source


def _with_shape(results: ResultsCore, exog: Any, offset: Any, exposure: Any) -> Matrix:
    """Make the shape a coefficient of results, and return the design with its column."""
    model = results.model
    exog = model.exog if exog is None else rows_of(exog)
    column = shape_column(model.link, model.predict(results._params, exog, exposure, offset, which="linear"))
    results.params = np.append(results._params, 0.0)
    results.cov_params_default = results.normalized_cov_params = results.joint_covariance
    return hstack_columns(exog, column)


def _in_two_columns(results: ResultsCore, exog: Any) -> NDArray:
    """Return a dense design of two columns, the linear predictor of sparse rows and its standard error, and make results predict by it.

    With coefficients 1 and 0 of variances 0 and 1, every row has the prediction and the variance that it has by the whole design.
    """
    rows = results.model.exog if exog is None else rows_of(exog)
    error = np.sqrt(quadratic_forms(rows, results.cov_params_default))
    columns = np.column_stack([rows @ results._params, error])
    results.params, results.cov_params_default = np.array([1.0, 0.0]), np.diag([0.0, 1.0])
    results.model.exog = columns
    return columns


def _without_errors(found: Any, rows: NDArray) -> Any:
    """Take the standard errors of some rows from predictions of statsmodels."""
    for part in (found, getattr(found, "linpred", None)):
        for name in ("var_pred", "linpred_se"):
            values: Any = getattr(part, name, None)
            if np.shape(values) == rows.shape:
                setattr(part, name, np.where(rows, np.nan, values))
    return found


def average_prediction(
    link: BinaryLink,
    X: Matrix,
    linear: NDArray,
    cov_params: Any,
    weights: Any = None,
    degrees: Degrees | None = None,
    influence: RowInfluence | None = None,
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
    degrees : Degrees, optional
        Degrees of freedom of the t distribution; the limits are by the normal distribution without them.
    influence : RowInfluence, optional
        Of the observations, if the rows are a sample.

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
    risks = link.inverse(linear)
    average = (weights * risks).mean(axis=-1)
    gradient = (weights * link.inverse_deriv(linear)) @ X / n
    unknown = np.isnan(cov_params.diagonal())  # infinite estimates
    along = gradient[..., ~unknown]
    variance = ((along @ restricted(cov_params, np.flatnonzero(~unknown))) * along).sum(axis=-1)
    variance = np.where((gradient[..., unknown] != 0.0).any(axis=-1), np.nan, variance)
    if influence is not None:
        own = weights * (risks - average) / weights.sum()
        variance = influence.covariance(gradient[None], lambda block: own[block.rows][:, None])[0, 0]
    df = None if degrees is None else degrees.of_contrasts(np.atleast_2d(gradient))
    facts = {"df": df, "dist": "norm" if df is None else "t"}
    top = weights.mean(axis=-1)
    if (weights < 0).any() or not np.all(top > 0):
        return PredictionResultsMonotonic(average, variance, average, np.sqrt(variance), func=_same, **facts)
    share = average / top
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.where(variance == 0, 0.0, np.sqrt(variance) / top / (share * (1.0 - share)))
    func = partial(_share_of, np.reshape(top, (-1, 1)))
    return PredictionResultsMonotonic(average, variance, logit(share), error, func=func, **facts)


def _share_of(top: NDArray, z: NDArray) -> NDArray:
    return top * expit(z)


def _same(z: NDArray) -> NDArray:
    return z


# -- tables in pieces: one batch of rows after the other, to a file or to a Series --------------


class Scorer:
    """What turns tables into predictions: coefficients and design of a fit, without its data."""

    def __init__(self, results: ResultsCore, which: str = "mean"):
        model = results.model
        self.layout = model.design.layout
        self.params = np.asarray(results.params)
        self.outside: Callable[[NDArray], NDArray] = model.link.outside
        self.links: dict[str, BinaryLink] = {"mean": model.population_link, "fitted": model.link}
        self.which = which

    def linear(self, table: pd.DataFrame) -> NDArray:
        """Return the linear predictor of the rows of a table."""
        rows = read_table(self.layout, table, sparse=True)
        return rows.X @ self.params + (0.0 if rows.offset is None else rows.offset)

    def __call__(self, table: pd.DataFrame, number: Number) -> tuple[NDArray, int]:
        """Return the predictions, and how many lie outside the support of the link."""
        linear = self.linear(table)
        outside = int((self.outside(linear) & np.isfinite(linear)).sum())
        if self.which == "linear":
            return linear, outside
        mean = self.links["fitted" if self.which == "fitted" else "mean"].inverse(linear)
        return mean * (1.0 - mean) if self.which == "var_unscaled" else mean, outside


def columns_to_predict(results: ResultsCore, source: Source) -> list[str]:
    """Return the columns of a source that predictions need."""
    design, recipe = results.model.design, results.model.design.recipe
    if recipe is None:
        raise InvalidOptionError("data in pieces go with a model from a formula; this one was built from arrays.")
    used = [name for name in names_in(recipe.formula) if name in source.columns or name in recipe.dtypes]
    columns = [*used, *(name for name in (design.offset_name, design.exposure_name) if name is not None)]
    source.check(columns)
    return columns


def predict_in_pieces(results: ResultsCore, source: Source, which: str, to: Any = None) -> pd.Series | Path:
    """Predict for a table in pieces; its columns and the predictions are written `to` a parquet file, or the latter returned."""
    needed = columns_to_predict(results, source)
    columns = needed if to is None else source.columns
    source.check(columns)
    if to is None:
        pieces = list(_scored(results, source, columns, Scorer(results, which)))
        return pd.Series(np.concatenate(pieces) if pieces else np.zeros(0))
    path = Path(to)
    if path.suffix.lower() not in (".parquet", ".pq"):
        raise InvalidOptionError(f"to={str(to)!r} is not the name of a parquet file, such as 'scored.parquet'.")
    refuse_overwriting({"to": check_target(path)}, source.paths)
    if COLUMN in columns:
        raise InvalidDataError(
            f"the data have a column {COLUMN!r} already, the name under which predictions are written."
        )
    write_parquet(path, _scored(results, source, columns, partial(_with_predictions, Scorer(results, which))))
    return path


def _scored(results: ResultsCore, source: Source, columns: list[str], function: Any) -> Iterator[Any]:
    n_outside = n_rows = 0
    with closing(source.map(function, columns)) as answers:
        for _, (answer, outside) in answers:
            n_outside += outside
            n_rows += len(answer)
            yield answer
    warn_of_rows_outside(results.link, n_outside, n_rows)


def _with_predictions(scorer: Scorer, table: pd.DataFrame, number: Number) -> tuple[pd.DataFrame, int]:
    values, outside = scorer(table, number)
    return table.assign(**{COLUMN: values}), outside
