"""The whole procedure on the rows of a model: penalties and risks by folds, weights by held-out outcomes, fits to all rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from gevglm.averaging.candidates import ALPHAS, START
from gevglm.averaging.optimum import Optimum, best_weights, floored
from gevglm.data.observations import Part
from gevglm.data.row_weights import RowWeights
from gevglm.engine.linalg import linear_predictor, one_blas_thread
from gevglm.exceptions import GevglmError, InvalidDataError, silenced
from gevglm.inference.cross_validation import FoldScores
from gevglm.inference.folds import Folds
from gevglm.inference.shape_path import outwards
from gevglm.losses import Loss
from gevglm.model import BinaryGLM
from gevglm.options import FitOptions
from gevglm.results import BinaryGLMResults
from gevglm.results.refit import refit_many

ENOUGH = (
    10_000  # observations of the rarer outcome by which penalties are chosen, where there are twice as many or more
)
NEAR = 0.01  # mean absolute difference of risks, as a share of their mean, below which two candidates are the same in effect
COMPARED = 20_000  # rows by which candidates are compared


@dataclass(frozen=True)
class HeldOut:
    """Outcomes and their average risks in the population, by fits that have not seen them; the mean of these where a row is held out more than once."""

    y: NDArray
    risks: NDArray
    effective: NDArray | None  # observations, for what takes weights for numbers of them
    rows: NDArray  # of the model


@dataclass(frozen=True)
class Average:
    """What the procedure found on some rows; see :class:`gevglm.AveragedLinks` for what has the same name there."""

    fits: dict[str, BinaryGLMResults]
    table: pd.DataFrame  # one row per candidate
    optimum: Optimum  # before weights were moved towards equal ones
    scores: pd.Series
    held_out: HeldOut
    alike: list[tuple[str, ...]]
    ruled_out: int
    left_out: dict[str, str]

    @property
    def weights(self) -> NDArray:
        """The weights of the fits."""
        return self.table["weight"].to_numpy()


@dataclass(frozen=True)
class Procedure:
    """Candidates, criterion and options of the fits."""

    candidates: Mapping[str, Loss]
    criterion: str
    options: FitOptions
    alphas: tuple[float, ...] = ALPHAS

    def run(self, model: BinaryGLM, folds: Folds) -> Average:
        """Run the procedure on the rows of a model."""
        held = [model.design.on_rows(test) for _, test in folds.parts]
        kept: dict[str, tuple[BinaryGLMResults, list[NDArray]]] = {}
        left_out: dict[str, str] = {}
        with silenced(), one_blas_thread(), np.errstate(all="ignore"):
            for name, found in self._fitted(model, folds):
                if isinstance(found, GevglmError):
                    left_out[name] = str(found)
                else:
                    kept[name] = found
        if not kept:
            raise GevglmError(f"no candidate could be fitted; {next(iter(left_out))}: {next(iter(left_out.values()))}")
        y = np.concatenate([each.y for each in held])
        counts = np.concatenate([_in_population(model, each) for each in held])
        events, others = y > 0.0, y < 1.0
        shares = np.concatenate([(counts * y)[events], (counts * (1.0 - y))[others]])
        risks, given, scores = np.empty((len(y), len(kept))), np.empty((len(shares), len(kept))), {}
        for j, (name, (fit, params)) in enumerate(kept.items()):
            with np.errstate(all="ignore"):
                point = fit.model.population_link.at(_linear(held, params))
                observed = np.concatenate([point.cdf[events], point.sf[others]])
                errors = np.concatenate([point.sf[events], point.cdf[others]])
            risks[:, j] = point.cdf
            given[:, j] = observed if self.criterion == "log_loss" else errors
            scores[name] = _scores(observed, errors, shares)
        optimum = best_weights(given, shares, self.criterion)
        ruled_out = int((given.max(axis=1) == 0.0).sum()) if self.criterion == "log_loss" else 0
        weights = floored(optimum.weights, float(RowWeights.of(model.design).observations.sum()))
        fits = {name: fit for name, (fit, _) in kept.items()}
        mixed = np.clip(risks @ weights, 0.0, 1.0)
        possible = given @ weights if self.criterion == "log_loss" else 1.0 - given @ weights
        whole = pd.Series(_scores(possible, 1.0 - possible, shares), index=["log_loss", "brier"])
        rows = np.concatenate([np.flatnonzero(test.rows) for _, test in folds.parts])
        held_out = _held_out(model, held, y, mixed, rows)
        alike = alike_among(list(fits), risks[:: max(1, len(risks) // COMPARED)])
        return Average(fits, _table(fits, scores, weights), optimum, whole, held_out, alike, ruled_out, left_out)

    def _fitted(self, model: BinaryGLM, folds: Folds) -> Any:
        """Yield each candidate with its fit to all rows and its coefficients without each fold, or with why there are none."""
        families: dict[tuple[type, type], dict[str, Loss]] = {}
        for name, loss in self.candidates.items():
            families.setdefault((type(loss), type(loss.link)), {})[name] = loss
        part = _part(model, folds) if self.options.alpha == "cv" else (model, folds)
        for members in families.values():
            yield from self._family(model, folds, part, members)

    def _family(
        self, model: BinaryGLM, folds: Folds, part: tuple[BinaryGLM, Folds], members: Mapping[str, Loss]
    ) -> Any:
        """Fit the candidates that differ in their shape only, from the middle outwards, each started from its neighbours."""
        models = {name: model.with_loss(loss) for name, loss in members.items()}
        by_shape = {float(loss.link.shape or 0.0): name for name, loss in members.items()}
        losses = {shape: models[name].loss for shape, name in by_shape.items()}
        options, first = self.options, next(iter(models.values()))
        scorer = self._scorer(first, losses, folds)
        chooser = scorer if part[0] is model else self._scorer(part[0].with_loss(first.loss), losses, part[1])
        found: dict[str, Any] = {}
        alpha = START if options.alpha == "cv" else float(options.alpha)
        for shape in outwards(np.array(sorted(by_shape))):
            name, params = by_shape[shape], None
            try:
                if options.alpha == "cv":
                    alpha = descended(partial(_score, chooser, shape), self.alphas, alpha)
                if options.bias is None:
                    params = scorer.params(shape, alpha)
                found[name] = self._candidate(models[name], alpha, params, folds)
            except GevglmError as error:
                found[name] = error
        yield from ((name, found[name]) for name in members)

    def _scorer(self, model: BinaryGLM, losses: Mapping[float, Loss], folds: Folds) -> FoldScores:
        options = self.options
        return FoldScores(
            model.problem(tol=options.tol, maxiter=options.maxiter),
            losses.__getitem__,
            folds,
            cache(lambda alpha: model.penalty(alpha, options.penalize_intercept, options.standardized)),
            self.criterion,
            options.collinear == "raise",
        )

    def _candidate(self, model: BinaryGLM, alpha: float, params: Any, folds: Folds) -> Any:
        """Return the fit to all rows with the coefficients without each fold, by refits where bias is reduced; or why there are none."""
        options = replace(self.options, alpha=alpha, standardize=self.options.standardized)
        start = None if params is None else np.mean(params, axis=0)
        usable = start is not None and np.isfinite(start).all()
        fit: Any = model.fit_by(replace(options, start_params=start if usable else None))
        results: BinaryGLMResults = fit._results
        if results.separated or not results.converged:
            why = "the outcomes are separated" if results.separated else f"it has not converged ({results.reason})"
            raise InvalidDataError(f"{why}; use alpha='cv' or bias='firth'.")
        if params is None:
            refits = [again for _, again in refit_many(results, (train for train, _ in folds.parts))]
            failed = next((again for again in refits if isinstance(again, GevglmError)), None)
            if failed is not None:
                raise failed
            params = [again.params for again in refits]  # type: ignore[union-attr]
        if not np.isfinite(params).all():
            raise InvalidDataError("it could not be fitted without one of the folds.")
        return results, params


def _part(model: BinaryGLM, folds: Folds) -> tuple[BinaryGLM, Folds]:
    """Return the rows by which penalties are chosen, with their folds: all, or where there are many a random part of them."""
    counts, y = RowWeights.of(model.design).observations, model.endog
    rarer = min(counts @ y, counts @ (1.0 - y))
    whole = all(side.counts is None for fold in folds.parts for side in fold)
    if rarer < 2 * ENOUGH or not whole:
        return model, folds
    n = len(y)
    chosen = np.sort(np.random.default_rng(0).permutation(n)[: round(n * ENOUGH / rarer)])
    parts = tuple((Part(train.rows[chosen]), Part(test.rows[chosen])) for train, test in folds.parts)
    return model.on_rows(chosen), Folds(parts)


def descended(score: Callable[[float], Any], grid: Sequence[float], start: float) -> float:
    """Return the point of a sorted grid from which the score rises to both sides, by going down from `start`.

    Examples
    --------
    >>> descended(lambda alpha: (alpha - 70.0) ** 2, (0.1, 1.0, 10.0, 100.0, 1000.0), 1.0)
    100.0
    """
    scores, at = cache(score), grid.index(start)
    while True:
        near = [j for j in (at, at - 1, at + 1) if 0 <= j < len(grid)]
        best = min(near, key=lambda j: scores(grid[j]))
        if best == at:
            return grid[at]
        at = best


def _score(scorer: FoldScores, shape: float, alpha: float) -> tuple[float, float]:
    """Return the held-out score; where it is infinite, the Brier score tells penalties apart."""
    try:
        mean = float(np.average(scorer.scores(shape, alpha), weights=scorer.weights))
        tie = (
            0.0
            if np.isfinite(mean)
            else float(np.average(scorer.scores(shape, alpha, "brier"), weights=scorer.weights))
        )
        return mean, tie
    except GevglmError:
        return np.inf, np.inf


def alike_among(names: Sequence[str], risks: NDArray) -> list[tuple[str, ...]]:
    """Return groups of candidates in which each has a neighbour whose risks differ from its own by less than 1 % of their mean."""
    gaps = np.array([np.abs(risks - column[:, None]).mean(axis=0) for column in risks.T])
    _, labels = connected_components(gaps < NEAR * risks.mean())
    groups = [
        tuple(name for name, own in zip(names, labels, strict=True) if own == label)
        for label in range(labels.max() + 1)
    ]
    return [group for group in groups if len(group) > 1]


def _scores(observed: NDArray, errors: NDArray, shares: NDArray) -> tuple[float, float]:
    """Return log loss and Brier score of the probabilities of outcomes, and of one minus them."""
    with np.errstate(divide="ignore"):
        return float(np.average(-np.log(observed), weights=shares)), float(np.average(errors**2, weights=shares))


def _in_population(model: BinaryGLM, held: Any) -> NDArray:
    return RowWeights.of(held, model.sampling.population_weights(held.y)).in_population


def _held_out(model: BinaryGLM, held: Sequence[Any], y: NDArray, risks: NDArray, rows: NDArray) -> HeldOut:
    """Return what was held out; no observation counts twice, also where folds are repeated."""
    counts = np.concatenate([RowWeights.of(each).observations for each in held])
    stands_for = model.design.represents
    represents = None if stands_for is None else np.concatenate([each.represents for each in held])
    own = RowWeights.of(model.design).observations
    total = np.bincount(rows, counts, minlength=len(own))
    if (total > own * (1.0 + 1e-9)).any():
        kept = np.flatnonzero(total > 0.0)
        y, risks = (np.bincount(rows, counts * each, minlength=len(own))[kept] / total[kept] for each in (y, risks))
        rows, counts = kept, np.minimum(total, own)[kept]
        represents = None if stands_for is None else stands_for[kept]
    effective = RowWeights(len(counts), freq=counts, represents=represents).effective_counts
    return HeldOut(y, risks, effective, rows)


def _linear(held: list[Any], params: list[NDArray]) -> NDArray:
    pairs = zip(held, params, strict=True)
    return np.concatenate(
        [linear_predictor(rows.X, each) + (0.0 if rows.offset is None else rows.offset) for rows, each in pairs]
    )


def _table(fits: Mapping[str, Any], scores: Mapping[str, tuple[float, float]], weights: NDArray) -> pd.DataFrame:
    rows = {
        name: {
            "link": type(fit.model.link.population).__name__,
            "xi": np.nan if fit.xi is None else fit.xi,
            "loss": fit.loss.name,
            "alpha": fit.alpha,
            "weight": weight,
            "log_loss": scores[name][0],
            "brier": scores[name][1],
        }
        for (name, fit), weight in zip(fits.items(), weights, strict=True)
    }
    return pd.DataFrame.from_dict(rows, orient="index")
