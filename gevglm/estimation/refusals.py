"""What cannot be estimated, and why: errors that name rows and columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gevglm.engine.base import ArraySum, Block, Engine
from gevglm.engine.linalg import dependent_columns, nonfinite_counts, weighted_gram
from gevglm.estimation.objective import Penalty
from gevglm.exceptions import CollinearityError, InvalidDataError, listed


def refuse_nonfinite_columns(engine: Engine, names: Sequence[str] | None) -> None:
    """Raise if columns hold values that are not numbers, and name them."""
    counts = engine.reduce(ArraySum(lambda block: nonfinite_counts(block.X)))
    labels = [f"column {j}" for j in range(len(counts))] if names is None else names
    bad = [f"{label} ({count:.0f} rows)" for label, count in zip(labels, counts, strict=False) if count]
    if bad:
        raise InvalidDataError(f"these columns are infinite or not numbers: {listed(bad)}; fix or drop those rows.")


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
