"""Checking and repairing the probabilities of a fit: what results offer of :mod:`gevglm.calibration`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gevglm import calibration
from gevglm.calibration.calibrators import calibrator_of
from gevglm.calibration.optimism import Optimism, optimism_of, performance
from gevglm.data.design import Design
from gevglm.data.observations import Part
from gevglm.data.row_weights import RowWeights
from gevglm.data.sources import as_source
from gevglm.data.survey import SampleReplicates, SampleUnits
from gevglm.display.brief import Summarised
from gevglm.engine.linalg import linear_predictor
from gevglm.engine.monitor import progress_bar
from gevglm.exceptions import (
    GevglmError,
    InvalidDataError,
    InvalidOptionError,
    unknown_option,
    whole_number,
)
from gevglm.results.clusters import independent, kept_rows, refuse_in_pieces, repeated
from gevglm.results.core import ResultsCore
from gevglm.results.predicted_rows import (
    assessed_rows,
    complete_rows,
    population_counts,
    predictions_in_pieces,
    single_outcomes,
)
from gevglm.results.refit import Refit, folds_of, refit_many
from gevglm.results.saving import save_recalibrated
from gevglm.results.validation import assess_by_group, assess_new_rows, with_size
from gevglm.sampling.schemes import Sampling

if TYPE_CHECKING:
    from statsmodels.iolib.summary import Summary

    from gevglm.calibration.assessment import Assessment
    from gevglm.calibration.calibrators import Calibrator
    from gevglm.calibration.classification import ClassificationTable
    from gevglm.calibration.paired import PairedTest
    from gevglm.model import BinaryGLM

CLOSEST = 1e-10  # to 0 and 1 that a prediction by a refit comes, so that its log-odds are finite
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
        folds: Any = 10,
        groups: Any = None,
        by: Any = None,
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
        resamples : int
            Of the bootstrap.
        folds : int, splitter, boolean array or iterable of (train, test)
            Of the cross-validation, see :func:`gevglm.inference.folds.make_folds`.
        groups : str or array_like, optional
            Clusters that resampling keeps together and that intervals take as independent in place of the rows: a column, or an array. By default
            those of a cluster-robust fit, of new data too if they have its column; of two kinds, resampling wants to be told which.
        by : str or array_like, optional
            Groups of the new rows (hospitals, say), a column or an array, each of which is assessed: see
            :func:`gevglm.calibration.calibration_by_group`, whose answer is returned.
        rng : int or Generator
        workers : int
            Threads.
        progress : bool
            Show a bar, if tqdm is installed.
        **options
            Of :func:`gevglm.calibration.assess`.

        Returns
        -------
        Assessment, Optimism for the bootstrap, or GroupCalibration with `by`

        Notes
        -----
        The rows of a fit with ``prevalence=`` were sampled by their outcome. Their outcomes are compared with probabilities in such
        a sample, whose odds are those of :meth:`predict` times a constant: tests and intervals then hold, and the one are calibrated if
        and only if the others are. New data are taken as a random sample of the population.

        With frequency weights or trials, resampling draws and holds out single observations.
        """
        if resampling not in RESAMPLING:
            raise unknown_option("resampling", resampling, [str(word) for word in RESAMPLING])
        if by is not None:
            if resampling is not None or groups is not None:
                raise InvalidOptionError("by= assesses predictions as they are; leave resampling and groups out.")
            return assess_by_group(self, data, endog, by, **options)
        if data is None and resampling is not None:
            instead = "assess new data, as in calibration(data), or fit a table that is held in memory"
            self.model.design.need_rows(f"resampling={resampling!r}", instead)
        sampling, source = self.model.sampling, None if data is None else as_source(data)
        if source is not None or (data is None and not self.has_data):
            if resampling is not None or endog is not None:
                raise InvalidOptionError("data in pieces hold their outcomes, and are not resampled.")
            refuse_in_pieces(groups)
            predicted: tuple = predictions_in_pieces(self, source)
        elif data is not None:
            if resampling is not None:
                raise InvalidOptionError("resampling is for the rows of the fit; new data need none.")
            return assess_new_rows(self, data, endog, np.asarray(self.predict(data)), groups, rng=rng, **options)
        elif resampling is not None:
            shared = {"rng": rng, "workers": workers, "progress": progress}
            if resampling == "bootstrap":
                return _optimism(self, groups, resamples=resamples, **shared)
            y, p, weights, clusters = _held_out(self, folds, groups, **shared)
            assessed = calibration.assess(y, p, weights, groups=clusters, rng=rng, **options)
            return with_note(sampling, assessed, independent(self, groups)[1])
        else:
            predicted = self.model.endog, np.asarray(self.predict()), self.row_weights.effective_counts
        y, p, weights = single_outcomes(*predicted)
        if data is not None:
            return with_size(self.model.design, calibration.assess(y, p, weights, rng=rng, **options))
        clusters, notes = independent(self, groups)
        options |= {"groups": repeated(clusters, len(y)), "in_sample": True, "rng": rng}
        assessed = calibration.assess(y, as_sampled(sampling, p), weights, **options)
        if not isinstance(clusters, (SampleUnits, SampleReplicates)):
            assessed = with_size(self.model.design, assessed)
        return with_note(sampling, assessed, notes)

    def classification(
        self, threshold: float, data: Any = None, *, endog: Any = None, level: float = 0.95
    ) -> ClassificationTable:
        """Outcomes against decisions at a threshold: counts, sensitivity, specificity, predictive values with limits.

        Parameters
        ----------
        threshold : float
            Risks of at least this are called events.
        data, endog
            New data, and their outcomes; see :meth:`calibration`. The rows of the fit, which flatter it, by default.
        level : float
            Coverage of the limits.
        """
        y, p, weights = single_outcomes(*assessed_rows(self, data, endog))
        return calibration.classification_table(y, p, threshold, weights, level=level)

    def compare_auc(self, other: ResultsCore, data: Any = None, *, endog: Any = None, groups: Any = None) -> PairedTest:
        """Test whether this and another fit have the same area under the ROC curve, by DeLong's paired method.

        Parameters
        ----------
        other : BinaryGLMResults
            Of the same outcomes.
        data, endog
            New data, and their outcomes; see :meth:`calibration`. The rows of the fit by default, on which a test of nested models is not valid.
        groups : array_like, optional
            Clusters of the rows; those of a survey design by default.
        """
        theirs: Any = getattr(other, "_results", other)
        ours, second = (assessed_rows(each, data, endog) for each in (self, theirs))
        if ours[0].shape != second[0].shape or not np.array_equal(ours[0], second[0]):
            raise InvalidDataError(
                f"the models have other outcomes, {len(ours[0])} and {len(second[0])} rows; fit both to the same complete rows, or give data=."
            )
        y, p, weights = single_outcomes(*ours)
        q = single_outcomes(*second)[1]
        if groups is None and data is None and self.model.design.sample is not None:
            groups = repeated(independent(self)[0], len(y))
        return calibration.delong_test(y, p, q, weights=weights, groups=groups)

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
                self.model.endog, unfitted.scores(), population_counts(self.row_weights)
            )
        return replace(unfitted, calibrator=calibrator.fit(scores, y, weights))


@dataclass(frozen=True, repr=False)
class Recalibrated(Summarised):
    """A fit whose probabilities pass through a calibrator."""

    results: ResultsCore
    calibrator: Calibrator

    def summary(self) -> Summary:
        """Summarise the calibrator."""
        return self.calibrator.summary()

    def _in_a_line(self) -> str:
        return f"{self.results!r} through {self.calibrator!r}"

    def predict(self, data: Any = None) -> NDArray | pd.Series:
        """Return recalibrated probabilities for new data, missing in incomplete rows, or for the rows of the fit."""
        scores = self.scores(data)
        known = ~np.isnan(scores)
        values = np.full(len(scores), np.nan)
        if known.any():
            values[known] = self.calibrator.predict(scores[known])
        return pd.Series(values, index=data.index) if isinstance(data, pd.DataFrame) else values

    def save(self, fname: str | Path, remove_data: bool = True) -> None:
        """Save fit and calibrator, by default without the data, which the objects at hand keep; :func:`gevglm.load` reads the file.

        Parameters
        ----------
        fname : path
        remove_data : bool
            Save nothing of the length of the data; a calibrator holds what its curve consists of, which for "isotonic" are the scores where it steps.
        """
        save_recalibrated(self, fname, remove_data)

    def scores(self, data: Any = None) -> NDArray:
        """Return what the calibrator sees: probabilities if it needs them, else the linear predictor, which is finite everywhere."""
        which = "mean" if self.calibrator.of_probabilities else "linear"
        return np.asarray(
            self.results.predict(data, which=which) if data is not None else self.results.predict(which=which)
        )


# -- samples drawn by the outcome, and weights that are no numbers of observations ------------


def as_sampled(sampling: Sampling, p: NDArray) -> NDArray:
    """Return the probabilities in a sample drawn by the outcome, for those in the population."""
    weights = sampling.population_weights(np.array([0.0, 1.0]))
    return p if weights is None else calibration.shift_odds(p, weights[0] / weights[1])


def with_note(sampling: Sampling, assessment: Assessment, notes: Sequence[str] = ()) -> Assessment:
    """Return the assessment with notes, and another if its probabilities are those of a sample drawn by the outcome."""
    assessment = replace(assessment, notes=(*assessment.notes, *notes))
    weights = sampling.population_weights(np.array([0.0, 1.0]))
    if weights is None:
        return assessment
    note = (
        "The rows were sampled by their outcome: probabilities and outcomes are those of the sample, where the odds are "
        f"{weights[0] / weights[1]:.4g} times those in the population."
    )
    return replace(assessment, notes=(*assessment.notes, note))


# -- refits ----------------------------------------------------------------------------------


def _optimism(results: ResultsCore, groups: Any, **options: Any) -> Optimism:
    """Return the indices corrected by refits of the whole procedure to resamples of the observations, or of the clusters."""
    refuse_weights_by_hand(results.model)
    design, rows = results.model.design, kept_rows(results, groups)

    def refitted(parts: Iterable[Part]) -> Iterator[tuple[Part, NDArray | GevglmError]]:
        for part, again in refit_many(results, parts, options["workers"]):
            if isinstance(again, GevglmError):
                yield part, again
            else:
                yield part, predictions_by(again, results.model.sampling, design)

    def unpacked(part: Part, p: NDArray) -> tuple[Any, ...]:
        y, counts = part.outcomes(design.y)
        represents = None if design.represents is None else design.represents[part.rows]
        weights = RowWeights(len(y), freq=counts, represents=represents).effective_counts
        return single_outcomes(y, p[part.rows], weights)

    return optimism_of(refitted, unpacked, performance, design.y, rows, **options)


def _held_out(
    results: ResultsCore, folds: Any, groups: Any, *, rng: Any, workers: int, progress: bool
) -> tuple[NDArray, NDArray, NDArray | None, NDArray | SampleUnits | SampleReplicates | None]:
    """Return outcomes, predictions, weights and clusters of the observations that folds hold out, by refits that have not seen them."""
    refuse_weights_by_hand(results.model)
    workers, design = whole_number("workers", workers, 1), results.model.design
    positions, (clusters, _) = np.arange(len(design.y)), independent(results, groups)
    split = folds_of(results, folds, rng, groups, each_outcome=False).refuse_repeats(design.counts)

    def predicted(again: Refit | GevglmError, test: Part) -> tuple[NDArray, ...]:
        if isinstance(again, GevglmError):
            raise again
        held = design.on_rows(test)
        p = predictions_by(again, results.model.sampling, held)
        represents = np.ones_like(p) if held.represents is None else held.represents
        return held.y, p, RowWeights.of(held).observations, represents, positions[test.rows]

    refits = progress_bar(refit_many(results, (train for train, _ in split.parts), workers), len(split), progress)
    answers = [predicted(again, test) for (_, again), (_, test) in zip(refits, split.parts, strict=True)]
    y, p, counts, represents, rows = (np.concatenate(parts) for parts in zip(*answers, strict=True))
    weights = RowWeights(len(y), freq=counts, represents=None if design.represents is None else represents)
    y, p, size = single_outcomes(y, p, weights.effective_counts)
    return y, p, size, repeated(clusters, len(y), rows)


def predictions_by(again: Refit, sampling: Sampling, rows: Design) -> NDArray:
    """Return the probabilities of rows by a refit, those in the sample if it was drawn by the outcome."""
    linear = linear_predictor(rows.X, np.asarray(again.params)) + (0.0 if rows.offset is None else rows.offset)
    p = as_sampled(sampling, again.population_link.inverse(linear))
    return np.clip(p, CLOSEST, 1.0 - CLOSEST)


def refuse_weights_by_hand(model: BinaryGLM) -> None:
    """Refuse to resample rows of which nobody knows what they stand for."""
    if model.options.var_weights is not None:
        raise InvalidDataError("rows with var_weights cannot be resampled: what a row stands for is not known.")
