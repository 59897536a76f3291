"""Choosing shape and penalty by how well held-out outcomes are predicted.

Losses of different shapes are different yardsticks, so candidates are compared by a proper score of the predicted
probabilities, the log loss or the Brier score, on rows that were not used to fit them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gevglm.data.observations import Part
from gevglm.display.brief import Brief
from gevglm.engine.base import ArraySum, Block, Engine, MappedEngine
from gevglm.engine.linalg import one_blas_thread
from gevglm.engine.monitor import progress_bar
from gevglm.estimation.estimate import Problem
from gevglm.estimation.objective import Penalty
from gevglm.exceptions import CollinearityError, GevglmError, unknown_option
from gevglm.inference.fold_fits import FoldFits, Looks, Score, held_out_by, scores_by_fold, weights_by_fold
from gevglm.inference.folds import Folds, make_folds
from gevglm.inference.shape_equations import LossOf
from gevglm.inference.shape_path import ROUGH, ShapePath, outwards
from gevglm.links.base import BinaryLink
from gevglm.losses import Log

__all__ = ["CRITERIA", "Search", "make_folds", "rows_of", "search"]

CRITERIA: dict[str, Score] = {
    "log_loss": lambda y, point, link: Log(link).value_at(y, point),
    "brier": lambda y, point, link: y * point.sf**2 + (1.0 - y) * point.cdf**2,
}
# of a design whose selected rows are kept from pass to pass, since picking them takes longer than using them
KEPT_ELEMENTS = 1 << 21
REFINED = 5  # shapes tried on either side of the best one, between it and its neighbours on the grid


@dataclass(frozen=True, repr=False)
class Search(Brief):
    """The scores of all candidates.

    Attributes
    ----------
    table : DataFrame
        One row per candidate: ``xi``, ``alpha``, ``score`` (mean over the held-out rows; smaller is better) and ``se``, its standard
        error over the folds (missing with a single one).
    criterion : str
        "log_loss" or "brier".
    folds : int
    """

    table: pd.DataFrame
    criterion: str
    folds: int

    @property
    def best(self) -> pd.Series:
        """The candidate with the smallest score."""
        return self.table.loc[self.table["score"].idxmin()]

    @property
    def one_standard_error(self) -> pd.Series:
        """The most regular candidate within a standard error of the best: the largest alpha, then the shape nearest to zero."""
        limit = self.best["score"] + np.nan_to_num(self.best["se"])
        near = self.table[self.table["score"] <= limit]
        return near.assign(size=near["xi"].abs()).sort_values(["alpha", "size"], ascending=[False, True]).iloc[0][:4]

    def plot(self, ax=None):
        """Draw the scores against the shape; see :func:`gevglm.plots.plot_search`."""
        from gevglm.plots import plot_search

        return plot_search(self, ax=ax)


def search(
    problem: Problem,
    loss_of: LossOf,
    folds: Folds,
    *,
    grid: Sequence[float],
    alphas: Sequence[float] = (0.0,),
    penalty_of: Callable[[float], Penalty | None] = lambda alpha: None,
    criterion: str = "log_loss",
    refine: bool = True,
    raise_collinear: bool = False,
    progress: bool = False,
) -> Search:
    """Score every shape of `grid` and penalty of `alphas` on held-out rows; `refine` looks between the best shape and its neighbours too.

    Columns that are collinear in the rows of a fold are left out there, unless `raise_collinear`.
    See :func:`gevglm.inference.folds.make_folds` for the folds.
    """
    if criterion not in CRITERIA:
        raise unknown_option("criterion", criterion, CRITERIA)
    shapes = np.unique(np.asarray(grid, dtype=float))
    scores: dict[tuple[float, float], list[float]] = {}
    with one_blas_thread():
        scorer = FoldScores(problem, loss_of, folds, penalty_of, criterion, raise_collinear)
        candidates = [(xi, alpha) for alpha in alphas for xi in outwards(shapes)]
        for xi, alpha in progress_bar(candidates, len(candidates), progress):
            scores[xi, alpha] = scorer.scores(xi, alpha)
        weights = scorer.weights
        best = min(scores, key=lambda candidate: np.average(scores[candidate], weights=weights))
        if refine and len(shapes) > 1:
            for xi in _between(shapes, best[0]):
                scores[xi, best[1]] = scorer.scores(xi, best[1])
    found = Search(_table(scores, weights), criterion, len(folds))
    if not np.isfinite(found.best["score"]):
        raise GevglmError(
            f"the {criterion} of every candidate is infinite: each rules out some held-out outcome. Use criterion='brier', or loss='log'."
        )
    return found


def rows_of(engine: Engine, part: Part) -> MappedEngine:
    """Return an engine over some of the observations."""
    keep = engine.in_memory and engine.n_rows * engine.n_cols <= KEPT_ELEMENTS
    kept: dict[int, Block] = {}

    def select(block: Block) -> Block:
        if block.start in kept:
            return kept[block.start]
        rows = part.rows[block.start : block.start + len(block.y)]
        y, counts = part.outcomes(block.y, block.start)
        vectors = {each.name: getattr(block, each.name) for each in fields(Block) if each.name not in ("start", "y")}
        chosen: dict[str, Any] = {name: None if vector is None else vector[rows] for name, vector in vectors.items()}
        if counts is not None:
            chosen |= {"freq": counts, "trials": None}
        selected = Block(start=block.start, y=y, **chosen)
        if keep:
            kept[block.start] = selected
        return selected

    return MappedEngine(engine, select, engine.n_cols)


class FoldScores:
    """The scores of candidates on held-out rows."""

    def __init__(
        self,
        problem: Problem,
        loss_of: LossOf,
        folds: Folds,
        penalty_of: Callable[[float], Penalty | None],
        criterion: str,
        raise_collinear: bool,
    ):
        self.problem, self.loss_of, self.penalty_of = problem, loss_of, penalty_of
        self.raise_collinear = raise_collinear
        self.score = CRITERIA[criterion]
        self.parts = [(rows_of(problem.engine, train), rows_of(problem.engine, test)) for train, test in folds.parts]
        self.codes = held_out_by(folds, problem.engine)
        self.weights = (
            [_weight(held) for _, held in self.parts]
            if self.codes is None
            else weights_by_fold(problem.engine, self.codes, len(folds))
        )
        self._paths: dict[tuple[float, int], ShapePath] = {}
        self._shared: dict[float, FoldFits] = {}
        self._looks = Looks()
        self._params: dict[tuple[float, float], list[NDArray]] = {}

    def scores(self, xi: float, alpha: float, criterion: str | None = None) -> list[float]:
        """Return the mean score of the held-out rows of each fold, by another criterion if one is given; infinite where the fit fails."""
        link, params = self.loss_of(xi).link, self.params(xi, alpha)
        score = self.score if criterion is None else CRITERIA[criterion]
        if self.codes is not None:
            return scores_by_fold(self.problem.engine, self.codes, params, link, score, self.weights)
        return [_held_out_score(held, each, link, score) for (_, held), each in zip(self.parts, params, strict=True)]

    def params(self, xi: float, alpha: float) -> list[NDArray]:
        """Return the coefficients without each fold."""
        if (xi, alpha) not in self._params:
            self._params[xi, alpha] = self._found(xi, alpha)
        return self._params[xi, alpha]

    def _found(self, xi: float, alpha: float) -> list[NDArray]:
        near = None if self.codes is None else self._fits(alpha, self.codes).steps(xi)
        if near is not None and near[1]:
            return near[0]
        starts = [None] * len(self.parts) if near is None else near[0]
        return [self._fitted(alpha, f, xi, start) for f, start in enumerate(starts)]

    def _fitted(self, alpha: float, f: int, xi: float, start: NDArray | None) -> NDArray:
        """Return the coefficients without a fold; without a penalty a rare column may be constant in its rows, and is left out."""
        while True:
            path = self._path(alpha, f)
            try:
                return path.fit(xi, ROUGH, start).params
            except CollinearityError as error:
                if self.raise_collinear or not error.columns:
                    raise
                self._paths[alpha, f] = ShapePath(path.problem.omitting(list(error.columns)), self.loss_of)

    def _fits(self, alpha: float, codes: NDArray) -> FoldFits:
        if alpha not in self._shared:
            penalty = self.penalty_of(alpha)
            self._shared[alpha] = FoldFits(self.problem, self.loss_of, codes, len(self.parts), penalty, self._looks)
        return self._shared[alpha]

    def _path(self, alpha: float, f: int) -> ShapePath:
        if (alpha, f) not in self._paths:
            train = replace(self.problem, engine=self.parts[f][0], start=None, penalty=self.penalty_of(alpha))
            self._paths[alpha, f] = ShapePath(train, self.loss_of)
        return self._paths[alpha, f]


def _held_out_score(held: Engine, params: NDArray, link: BinaryLink, score: Score) -> float:
    """Return the mean score of the held-out rows; infinite where the fit fails."""
    if not np.isfinite(params).all():
        return np.inf

    def total(block: Block) -> NDArray:
        value = score(block.y, link.at(block.linear_predictor(params)), link)
        return np.array([block.weighted(value).sum(), block.weighted(np.ones_like(value)).sum()])

    value, weight = held.reduce(ArraySum(total))
    return float(value / weight) if np.isfinite(value) else np.inf


def _weight(held: Engine) -> float:
    def weight(block: Block) -> NDArray:
        return block.weighted(np.ones_like(block.y)).sum()

    return float(held.reduce(ArraySum(weight)))


def _between(grid: NDArray, best: float) -> NDArray:
    """Return shapes between the best one and its neighbours on the grid."""
    position = int(np.searchsorted(grid, best))
    ends = [grid[i] for i in (position - 1, position + 1) if 0 <= i < len(grid)]
    return np.concatenate([np.linspace(best, end, REFINED + 2)[1:-1] for end in ends])


def _table(scores: dict[tuple[float, float], list[float]], weights: list[float]) -> pd.DataFrame:
    rows = []
    for (xi, alpha), values in scores.items():
        mean = np.average(values, weights=weights)
        error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 and np.isfinite(mean) else np.nan
        rows.append((xi, alpha, mean, error))
    table = pd.DataFrame(rows, columns=["xi", "alpha", "score", "se"])
    return table.sort_values(["alpha", "xi"], ignore_index=True)
