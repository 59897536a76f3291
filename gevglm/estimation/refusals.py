"""What cannot be estimated, and why: errors that name rows and columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from gevglm.engine.base import ArraySum, Block, Engine
from gevglm.engine.linalg import combinations, dependent_columns, nonfinite_counts, squared_deviations, weighted_gram
from gevglm.estimation.objective import Penalty
from gevglm.exceptions import CollinearityError, InvalidDataError, listed

FAR = 1e-6  # spread relative to the mean, below which a column is constant as far as its sums of squares tell


def refuse_nonfinite_columns(engine: Engine, names: Sequence[str] | None) -> None:
    """Raise if columns hold values that are not numbers, and name them."""
    counts = engine.reduce(ArraySum(lambda block: nonfinite_counts(block.X)))
    labels = [f"column {j}" for j in range(len(counts))] if names is None else names
    bad = [f"{label} ({count:.0f} rows)" for label, count in zip(labels, counts, strict=False) if count]
    if bad:
        raise InvalidDataError(f"these columns are infinite or not numbers: {listed(bad)}; fix or drop those rows.")


def refuse_collinear_columns(
    engine: Engine, penalty: Penalty | None, names: Sequence[str] | None, omitted: Sequence[int] = ()
) -> None:
    """Raise if columns are linear combinations of others that nothing penalises, and name them; `omitted` columns are left out already."""
    gram = engine.reduce(ArraySum(lambda block: weighted_gram(block.X, _ones_where_used(block))))
    if penalty is not None:
        gram[np.diag_indices_from(gram)] += penalty.curvature
    dependent = [j for j in dependent_columns(gram) if j not in omitted]
    if not dependent:
        return
    labels = [f"column {j}" for j in range(engine.n_cols)] if names is None else [str(name) for name in names]
    empty = [j for j in dependent if gram[j, j] == 0]
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
    columns = combinations(gram, dependent)
    error = CollinearityError(
        f"{collinear_text(columns, labels)}. Drop it, or leave it out by collinear='drop' "
        "(a level without rows, a constant beside a full set of dummies, or the same variable twice, are the usual causes)."
    )
    error.columns = columns
    raise error


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
