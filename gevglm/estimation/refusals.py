"""What cannot be estimated, and why: errors that name rows and columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gevglm.engine.base import ArraySum, Block, Engine, Reducer
from gevglm.engine.linalg import (
    combinations,
    dense,
    independent_columns,
    nonfinite_counts,
    root,
    squared_deviations,
    triangle,
    weighted_gram,
)
from gevglm.estimation.objective import Penalty
from gevglm.exceptions import CollinearityError, InvalidDataError, InvalidOptionError, SupportError, listed

if TYPE_CHECKING:
    from gevglm.estimation.estimate import Problem

MOST_COLUMNS = 500  # beyond, cross-products tell which columns are dependent: with less accuracy, in less time
FAR = 1e-6  # spread relative to the mean, below which a column is constant as far as its sums of squares tell


def refuse_nonfinite_columns(engine: Engine, names: Sequence[str] | None) -> None:
    """Raise if columns hold values that are not numbers, and name them."""
    counts = engine.reduce(ArraySum(lambda block: nonfinite_counts(block.X)))
    labels = [f"column {j}" for j in range(len(counts))] if names is None else names
    bad = [f"{label} ({count:.0f} rows)" for label, count in zip(labels, counts, strict=False) if count]
    if bad:
        raise InvalidDataError(f"these columns are infinite or not numbers: {listed(bad)}; fix or drop those rows.")


def refuse_impossible_risks(problem: Problem) -> None:
    """Raise because no coefficients keep every risk between 0 and 1, with the rows that say most about why."""
    link = problem.loss.link
    zeros = int(problem.engine.reduce(ArraySum(lambda block: _ones_where_used(block) @ _is_zero(block))))
    if zeros and problem.constant is None and not link.support[0] < 0.0 < link.support[1]:
        why = f"{zeros} rows are zero in every column, and have a risk of exactly {link.inverse(0.0):g} whatever these are: add a constant"
    else:
        why = "offsets, or columns without a constant, put rows on opposite sides"
    raise SupportError(
        f"no coefficients keep the risks of all rows strictly between 0 and 1 with {link.population!r}: {why}; or use loss='canonical', which has no bounds."
    )


def refuse_start(problem: Problem, start: NDArray) -> None:
    """Raise if starting values put rows at risks that the model does not have."""
    link = problem.loss.link
    if not problem.has_walls:
        return
    lower, upper = link.support

    def outside(block: Block) -> NDArray:
        v, used = block.linear_predictor(start), _ones_where_used(block) > 0
        return np.array([(used & (v < lower)).sum(), (used & (v > upper)).sum()])

    below, above = problem.engine.reduce(ArraySum(outside)).astype(int).tolist()
    if below or above:
        lower, upper = lower + 0.0, upper + 0.0  # no minus before a zero
        seen = [f"{count} rows at risks {side}" for count, side in ((below, "below 0"), (above, "above 1")) if count]
        raise InvalidOptionError(
            f"start_params puts {' and '.join(seen)}, which {link.population!r} does not have; give values that keep every linear predictor "
            f"between {lower:g} and {upper:g}, or none."
        )


def _is_zero(block: Block) -> NDArray:
    empty = np.ravel(dense(abs(block.X).sum(axis=1))) == 0.0
    return (empty if block.offset is None else empty & (block.offset == 0.0)).astype(float)


def refuse_collinear_columns(
    engine: Engine, penalty: Penalty | None, names: Sequence[str] | None, omitted: Sequence[int] = ()
) -> None:
    """Raise if columns are linear combinations of others that nothing penalises, and name them; `omitted` columns are left out already."""
    columns = _condensed(engine, penalty)
    if not np.isfinite(columns).all() or not len(columns):
        return
    independent = independent_columns(columns)
    dependent = [j for j in range(engine.n_cols) if j not in omitted and j not in independent]
    if not dependent:
        return
    labels = [f"column {j}" for j in range(engine.n_cols)] if names is None else [str(name) for name in names]
    empty = [j for j in dependent if not (columns[:, j] ** 2).any()]
    if empty:
        used = engine.reduce(ArraySum(_nonzero_counts))
        tiny = [labels[j] for j in empty if used[j]]
        if tiny:
            raise CollinearityError(
                f"{listed(tiny)}: so near to zero in every row that its square is zero; give it in other units."
            )
    mean, spread = _moments(engine)
    far = [j for j in dependent if 0.0 < spread[j] < FAR * abs(mean[j])]
    if far:
        raise CollinearityError(
            f"{listed(labels[j] for j in far)}: nearly constant: {mean[far[0]]:.6g} on average with a standard deviation of {spread[far[0]]:.2g}, "
            "which rounding hides; subtract a number near its mean, as center() does in formulas."
        )
    combined = combinations(columns, dependent)
    error = CollinearityError(
        f"{collinear_text(combined, labels)}. Drop it, or leave it out by collinear='drop' "
        "(a level without rows, a constant beside a full set of dummies, or the same variable twice, are the usual causes)."
    )
    error.columns = combined
    raise error


def _condensed(engine: Engine, penalty: Penalty | None) -> NDArray:
    """Return few rows with the cross-products of all rows that are used and, if there is one, of the penalty."""
    k = engine.n_cols
    if k > MOST_COLUMNS:
        gram = engine.reduce(ArraySum(lambda block: weighted_gram(block.X, _ones_where_used(block))))
        return root(gram if penalty is None else gram + np.diag(penalty.curvature))
    columns = engine.reduce(_Triangle(k))
    return columns if penalty is None else np.vstack([columns, np.diag(np.sqrt(penalty.curvature))])


class _Triangle(Reducer[NDArray]):
    """The triangle of the QR decomposition of the rows that are used."""

    def __init__(self, n_cols: int):
        self.n_cols = n_cols

    def zero(self) -> NDArray:
        return np.zeros((0, self.n_cols))

    def map(self, block: Block) -> NDArray:
        return triangle(dense(block.X[_ones_where_used(block) > 0]))

    def combine(self, total: NDArray, part: NDArray) -> NDArray:
        return triangle(np.vstack([total, part]))


def collinear_text(columns: Mapping[int, tuple[int, ...]], names: Sequence[str]) -> str:
    """Return which columns are combinations of which others, in words."""
    empty = [str(names[j]) for j, others in columns.items() if not others]
    others = [
        f"{names[j]} (of {listed((str(names[i]) for i in parts), most=4)})" for j, parts in columns.items() if parts
    ]
    texts = [f"{listed(empty)}: zero in every row"] if empty else []
    texts += [f"{listed(others)}: an exact linear combination of the columns before it"] if others else []
    return "; ".join(texts)


def _moments(engine: Engine) -> tuple[NDArray, NDArray]:
    """Return the mean and the standard deviation of each column."""
    mean = engine.reduce(ArraySum(lambda block: np.ravel(block.X.sum(axis=0)))) / engine.n_rows
    squares = engine.reduce(ArraySum(lambda block: squared_deviations(block.X, mean, np.ones(len(block.y)))))
    return mean, np.sqrt(squares / engine.n_rows)


def _nonzero_counts(block: Block) -> NDArray:
    return _ones_where_used(block) @ (block.X != 0)


def _ones_where_used(block: Block) -> NDArray:
    weight = block.weight
    return np.ones(len(block.y)) if weight is None else (weight > 0).astype(float)
