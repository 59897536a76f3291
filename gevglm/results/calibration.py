"""Checking and repairing the probabilities of a fit: what results offer of :mod:`gevglm.calibration`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gevglm import calibration
from gevglm.calibration.bins import Collection, Predicted
from gevglm.calibration.calibrators import calibrator_of
from gevglm.data.design import Design, Layout
from gevglm.data.formula import count_columns
from gevglm.data.new_rows import read_weights, weights_in
from gevglm.data.outcome import Coding, resolve
from gevglm.data.row_weights import RowWeights
from gevglm.data.sources import Source, as_source
from gevglm.data.tables import as_frame, column
from gevglm.engine import Block, Reducer
from gevglm.engine.base import product
from gevglm.exceptions import GevglmWarning, InvalidDataError, InvalidOptionError, unknown_option, warn
from gevglm.links.base import BinaryLink
from gevglm.results.core import ResultsCore
from gevglm.results.prediction import Scorer, columns_to_predict
from gevglm.results.refit import of_single_observations, refit
from gevglm.sampling.schemes import Sampling

if TYPE_CHECKING:
    from statsmodels.iolib.summary import Summary

    from gevglm.calibration.assessment import Assessment
    from gevglm.calibration.calibrators import Calibrator
    from gevglm.model import BinaryGLM

CLOSEST = 1e-10  # to 0 and 1 that a prediction by a refit comes, so that its log-odds are finite
ROUNDING = 1e-12  # of a count that was a share of a number of observations
RESAMPLING = (None, "bootstrap", "cv")


class CalibrationChecks(ResultsCore):
    """Calibration of a fit; a part of :class:`gevglm.BinaryGLMResults`."""

    def calibration(
        self,
        data: Any = None,
        resampling: str | None = None,
        *,
        endog: Any = None,
        resamples: int = 200,
        folds: int = 10,
        rng: Any = 0,
        workers: int = 1,
        progress: bool = False,
        **options: Any,
    ):
        """Assess the predicted probabilities.

        Parameters
        ----------
        data : table or array_like, optional
            New data; the rows of the fit by default. Of more than 5,000,000 rows that are read in pieces, predictions
            are put together whose log odds differ by less than 1e-4.
        resampling : {None, "bootstrap", "cv"}
            "bootstrap" corrects every index for optimism by refitting the whole procedure (choice of xi and alpha, bias reduction) to
            resamples of the rows; "cv" assesses predictions by fits that have not seen the rows. Their probabilities are kept 1e-10 away
            from 0 and 1.
        endog : array_like, optional
            The outcomes of `data`, where it is a matrix or does not hold them under the name they had.
        resamples, folds : int
            Of the bootstrap, of the cross-validation.
        rng : int or Generator
        workers : int
            Threads.
        progress : bool
            Show a bar, if tqdm is installed.
        **options
            Of :func:`gevglm.calibration.assess`.

        Returns
        -------
        Assessment, or Optimism for the bootstrap

        Notes
        -----
        The rows of a fit with ``prevalence=`` were sampled by their outcome. Their outcomes are compared with probabilities in such
        a sample, whose odds are those of :meth:`predict` times a constant: tests and intervals then hold, and the one are calibrated if
        and only if the others are. New data are taken as a random sample of the population.

        With frequency weights or trials, resampling draws single observations.
        """
        if resampling not in RESAMPLING:
            raise unknown_option("resampling", resampling, [str(word) for word in RESAMPLING])
        sampling, source = self.model.sampling, None if data is None else as_source(data)
        if source is not None or (data is None and not self.has_data):
            if resampling is not None or endog is not None:
                raise InvalidOptionError("data in pieces hold their outcomes, and are not resampled.")
            predicted: tuple = predictions_in_pieces(self, source)
        elif data is not None:
            if resampling is not None:
                raise InvalidOptionError("resampling is for the rows of the fit; new data need none.")
            complete = complete_rows(self.model.design, data, endog, self.predict(data))
            return _with_size(self.model.design, calibration.assess(*complete, rng=rng, **options))
        elif resampling is not None:
            shared = {"rng": rng, "workers": workers, "progress": progress}
            fit, rows, y = _procedure(self)
            if resampling == "bootstrap":
                return calibration.bootstrap_optimism(fit, rows, y, resamples=resamples, **shared)
            p = calibration.cross_validated(fit, rows, y, folds=folds, **shared)
            return with_note(sampling, calibration.assess(y, p, rng=rng, **options))
        else:
            predicted = self.model.endog, np.asarray(self.predict()), self.row_weights.effective_counts
        y, p, weights = single_outcomes(*predicted)
        if data is not None:
            return _with_size(self.model.design, calibration.assess(y, p, weights, rng=rng, **options))
        assessment = calibration.assess(y, as_sampled(sampling, p), weights, in_sample=True, rng=rng, **options)
        return with_note(sampling, _with_size(self.model.design, assessment))

    def plot_calibration(self, data: Any = None, ax=None, scale: str | None = None, **options: Any):
        """Draw the reliability diagram; see :meth:`calibration` and :meth:`gevglm.calibration.assessment.Assessment.plot`."""
        return self.calibration(data, **options).plot(ax=ax, scale=scale)

    def recalibrate(self, data: Any = None, method: Any = "logistic", endog: Any = None) -> Recalibrated:
        """Learn a correction of the probabilities from data, best from new ones.

        Parameters
        ----------
        data : table or array_like, optional
            The rows of the fit by default, on which calibration looks better than it is.
        method : str or Calibrator
            "logistic" (Cox's recalibration), "platt" (the same by smoothed outcomes), "beta", "isotonic", "piecewise",
            "asymmetric_laplace", or a calibrator of :mod:`gevglm.calibration`, of which a copy is fitted.
        endog : array_like, optional
            See :meth:`calibration`.

        Returns
        -------
        Recalibrated
            With ``predict(data)`` and ``summary()``.
        """
        calibrator = calibrator_of(method)
        unfitted = Recalibrated(self, calibrator)
        if data is not None:
            y, scores, weights = complete_rows(self.model.design, data, endog, unfitted.scores(data))
        else:
            y, scores, weights = single_outcomes(
                self.model.endog, unfitted.scores(), _population_counts(self.row_weights)
            )
        return replace(unfitted, calibrator=calibrator.fit(scores, y, weights))


@dataclass(frozen=True)
class Recalibrated:
    """A fit whose probabilities pass through a calibrator."""

    results: ResultsCore
    calibrator: Calibrator

    def summary(self) -> Summary:
        """Summarise the calibrator."""
        return self.calibrator.summary()

    def predict(self, data: Any = None) -> NDArray | pd.Series:
        """Return recalibrated probabilities for new data, or for the rows of the fit."""
        values = self.calibrator.predict(self.scores(data))
        return pd.Series(values, index=data.index) if isinstance(data, pd.DataFrame) else values

    def scores(self, data: Any = None) -> NDArray:
        """Return what the calibrator sees: probabilities if it needs them, else the linear predictor, which is finite everywhere."""
        which = "mean" if self.calibrator.of_probabilities else "linear"
        return np.asarray(
            self.results.predict(data, which=which) if data is not None else self.results.predict(which=which)
        )


# -- rows and their predictions --------------------------------------------------------------


def assessed_rows(results: ResultsCore, data: Any = None, endog: Any = None) -> tuple[NDArray, NDArray, NDArray | None]:
    """Return outcomes, predicted risks and weights of the rows of a fit, weighted to the population, or of new data."""
    if data is not None:
        return complete_rows(results.model.design, data, endog, results.predict(data))
    if not results.has_data:
        raise InvalidDataError("the rows of the fit are not in memory (removed, or read in pieces); give data=.")
    if endog is not None:
        raise InvalidOptionError("endog goes with new data; the rows of the fit have their own outcomes.")
    return results.model.endog, np.asarray(results.predict()), _population_counts(results.row_weights)


def complete_rows(design: Design, data: Any, endog: Any, predicted: Any) -> tuple[NDArray, NDArray, NDArray | None]:
    """Return outcomes of 0 and 1, predictions and weights of the new rows that have both."""
    predicted = np.asarray(predicted)
    by_name = not isinstance(data, np.ndarray) and design.recipe is not None
    weights = read_weights(design.layout, data) if by_name else RowWeights(len(predicted))
    if endog is None:
        if not by_name:
            raise InvalidDataError("give the outcomes of the new data as endog=.")
        endog = outcomes_of(design, as_frame(data))
    outcomes = np.asarray(endog)
    if not len(outcomes):
        raise InvalidDataError("the new data have no rows.")
    if len(outcomes) != len(predicted):
        raise InvalidDataError(f"endog has {len(outcomes)} rows, but the new data have {len(predicted)}.")
    used = ~(pd.isna(outcomes).reshape(len(outcomes), -1).any(axis=1) | np.isnan(predicted))
    if not used.all():
        warn(
            f"{int((~used).sum())} of {len(used)} new rows have no outcome, or no prediction because a covariate is missing, "
            "and are left out.",
            GevglmWarning,
        )
    if not used.any():
        raise InvalidDataError(f"none of the {len(used)} new rows has an outcome and a prediction.")
    counted = design.event if outcomes.ndim == 1 or outcomes.shape[1] == 1 else None
    freq, represents = (None if given is None else given[used] for given in (weights.freq, weights.represents))
    found = resolve(outcomes[used], counted, design.outcome, freq, None)
    counted_rows = RowWeights(len(found.y), found.freq, trials=found.trials, represents=represents)
    return single_outcomes(found.y, predicted[used], counted_rows.effective_counts)


def outcomes_of(design: Layout, frame: pd.DataFrame) -> Any:
    """Return the outcomes of a table: the column of the outcome, or its two columns of counts."""
    counts = count_columns(design.outcome)
    if counts and set(counts) <= set(frame.columns):
        return frame[counts].to_numpy()
    return column(frame, design.outcome, "outcome")


def predictions_in_pieces(results: ResultsCore, source: Source | None) -> Predicted:
    """Return outcomes and predictions of data in pieces; those of the fit without a source."""
    if source is None:
        predictions = _BlockPredictions(results.model.population_link, results._params)
        return results.model.engine().reduce(predictions).predicted()
    design, collection = results.model.design, Collection()
    weights = weights_in(design.layout, source.columns)
    outcome = count_columns(design.outcome) or [design.outcome]
    columns = list(dict.fromkeys([*columns_to_predict(results, source), *outcome, *weights.values()]))
    source.check(columns)
    layout = replace(design.layout, weight_names=weights)
    with closing(source.map(partial(_predictions_of_table, Scorer(results), layout), columns)) as answers:
        for _, part in answers:
            collection.add(*part)
    return collection.predicted()


class _BlockPredictions(Reducer[Any]):
    """The predictions of all rows, in pieces."""

    def __init__(self, link: BinaryLink, params: NDArray):
        self.link = link
        self.params = params

    def zero(self) -> Collection:
        return Collection()

    def map(self, block: Block) -> tuple[Predicted, float]:
        weights = RowWeights.of(block)
        p = self.link.inverse(block.linear_predictor(self.params))
        return Predicted(block.y, p, weights.in_sample), weights.sum_of_squares

    def combine(self, total: Collection, part: tuple[Predicted, float]) -> Collection:
        return total.add(*part)


def _predictions_of_table(scorer: Scorer, layout: Layout, table: pd.DataFrame, number: Any) -> tuple[Predicted, float]:
    values = outcomes_of(layout, table)
    p, _ = scorer(table, number)
    used = ~np.isnan(p) & ~pd.isna(np.asarray(values)).reshape(len(table), -1).any(axis=1)
    values, weights = values[used], read_weights(layout, table[used])
    if weights.trials is not None:
        coding = Coding(layout.event, counts=True)
    else:
        coding = Coding(layout.event, numbers=layout.event in (1, True) and values.dtype.kind in "biuf")
    y = coding.apply(values, None, layout.outcome).y
    return Predicted(y, p[used], weights.in_sample), weights.sum_of_squares


def single_outcomes(y: NDArray, p: NDArray, weights: NDArray | None) -> tuple[NDArray, NDArray, NDArray | None]:
    """Return outcomes of 0 and 1: shares of events become events and others, by weight."""
    if np.isin(y, (0.0, 1.0)).all():
        return y, p, weights
    size = np.ones_like(y) if weights is None else weights
    events = size * y
    counts = np.rint(events)
    events = np.where(np.abs(events - counts) <= ROUNDING * size, counts, events)  # 49 (1/49) is not 1
    return np.repeat([1.0, 0.0], len(y)), np.tile(p, 2), np.concatenate([events, size - events])


def as_sampled(sampling: Sampling, p: NDArray) -> NDArray:
    """Return the probabilities in a sample drawn by the outcome, for those in the population."""
    weights = sampling.population_weights(np.array([0.0, 1.0]))
    return p if weights is None else calibration.shift_odds(p, weights[0] / weights[1])


def _population_counts(weights: RowWeights) -> NDArray | None:
    return product(weights.effective_counts, weights.population)


def with_note(sampling: Sampling, assessment: Assessment) -> Assessment:
    """Return the assessment with a note if its probabilities are those of a sample drawn by the outcome."""
    weights = sampling.population_weights(np.array([0.0, 1.0]))
    if weights is None:
        return assessment
    note = (
        "The rows were sampled by their outcome: probabilities and outcomes are those of the sample, where the odds are "
        f"{weights[0] / weights[1]:.4g} times those in the population."
    )
    return replace(assessment, notes=(*assessment.notes, note))


def _with_size(design: Design, assessment: Assessment) -> Assessment:
    """Return the assessment with a note if rows were weighted by what is not a number of observations."""
    if design.represents is None:
        return assessment
    note = (
        "Rows count by variance or sampling weights, which are not numbers of observations: intervals and tests are as if there were "
        f"{assessment.n:.5g} (Kish's effective size)."
    )
    return replace(assessment, notes=(*assessment.notes, note))


def _procedure(
    results: ResultsCore,
) -> tuple[Callable[[NDArray, NDArray], Callable[[NDArray], NDArray]], NDArray, NDArray]:
    """Return the whole procedure behind results for resampling, with rows and outcomes, one per observation.

    The procedure is a function of row numbers that returns predictions by row numbers.
    """
    if _weighted_by_hand(results.model):
        raise InvalidDataError("rows with var_weights cannot be resampled: what a row stands for is not known.")
    model = of_single_observations(results.model)
    offset = np.broadcast_to(model._offset_exposure, (len(model.endog),))

    def fit(rows: NDArray, y: NDArray) -> Callable[[NDArray], NDArray]:
        again = refit(results, rows[:, 0], model=model)
        params, link = np.asarray(again.params), again.model.population_link

        def predict(others: NDArray) -> NDArray:
            chosen = others[:, 0]
            p = link.inverse(np.dot(model.exog[chosen], params) + offset[chosen])
            return np.clip(as_sampled(model.sampling, p), CLOSEST, 1.0 - CLOSEST)

        return predict

    return fit, np.arange(len(model.endog))[:, None], model.endog


def _weighted_by_hand(model: BinaryGLM) -> bool:
    given, own = model.design.var, model.sampling.weights(model.design.y)
    return given is not None and (own is None or not np.array_equal(given, own))
