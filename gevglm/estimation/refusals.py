"""What cannot be estimated, and why: errors that name rows and columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gevglm.engine.base import Block, Engine
from gevglm.engine.linalg import dependent_columns, weighted_gram
from gevglm.engine.matrices import nonfinite_counts
from gevglm.estimation.objective import Penalty
from gevglm.estimation.sums import ArraySum
from gevglm.exceptions import CollinearityError, InvalidDataError, listed


def totals(engine: Engine) -> tuple[float, float]:
    """Return the sum of the weights and of the weighted outcomes, or say what is wrong with them; an engine is asked once."""
    if "totals" in engine.known:
        return engine.known["totals"]

    def count(block: Block) -> NDArray:
        weight, y = block.weight, block.y
        if weight is None:
            return np.array([len(y), y.sum(), 0.0, _outside_unit_interval(y)])
        used = weight > 0
        events = np.where(used, weight * y, 0.0).sum()
        return np.array([weight.sum(), events, (~(weight >= 0)).sum(), _outside_unit_interval(y[used])])

    weight, events, bad_weights, bad_outcomes = engine.reduce(ArraySum(count)) if engine.n_rows else np.zeros(4)
    if bad_outcomes:
        raise InvalidDataError(
            f"the outcome is missing or outside [0, 1] in {bad_outcomes:.0f} rows; drop those rows or recode them."
        )
    if bad_weights or not np.isfinite(weight):
        raise InvalidDataError(f"weights must be finite and not negative; {bad_weights:.0f} rows have other weights.")
    if weight <= 0:
        raise InvalidDataError(f"there is nothing to fit: the weights of the {engine.n_rows} rows sum to zero.")
    if not 0 < events < weight:
        outcome = 0 if events <= 0 else 1
        raise InvalidDataError(
            f"the outcome is {outcome} in every row with weight; a binary regression needs both outcomes."
        )
    engine.known["totals"] = float(weight), float(events)
    return engine.known["totals"]


def _outside_unit_interval(y: NDArray) -> int:
    return int((~((y >= 0.0) & (y <= 1.0))).sum())


def refuse_nonfinite_columns(engine: Engine, names: Sequence[str] | None) -> None:
    """Raise if columns hold values that are not numbers, and name them."""
    counts = engine.reduce(ArraySum(lambda block: nonfinite_counts(block.X)))
    bad = [f"{names[j] if names is not None else f'column {j}'} ({counts[j]:.0f} rows)" for j in np.flatnonzero(counts)]
    if bad:
        raise InvalidDataError(f"these columns are infinite or not numbers: {listed(bad)}; mend or drop those rows.")


def refuse_collinear_columns(engine: Engine, penalty: Penalty | None, names: Sequence[str] | None) -> None:
    """Raise if columns are linear combinations of others that nothing penalises, and name them."""
    gram = engine.reduce(ArraySum(lambda block: weighted_gram(block.X, _ones_where_used(block))))
    if penalty is not None:
        gram[np.diag_indices_from(gram)] += penalty.curvature
    dependent = dependent_columns(gram)
    if dependent:
        labels = [str(names[j]) if names is not None else f"column {j}" for j in dependent]
        empty = [label for label, j in zip(labels, dependent, strict=True) if gram[j, j] == 0]
        if empty:
            raise CollinearityError(
                f"{listed(empty)}: zero in every row; drop it (a level without rows is the usual cause)."
            )
        raise CollinearityError(
            f"{listed(labels)}: an exact linear combination of the columns before it. "
            "Drop it (a constant beside a full set of dummies, or the same variable twice, are the usual causes)."
        )


def _ones_where_used(block: Block) -> NDArray:
    weight = block.weight
    return np.ones(len(block.y)) if weight is None else (weight > 0).astype(float)
