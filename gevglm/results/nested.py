"""Nested models: whether the columns of one fit lie in the space of those of another, and the likelihood-ratio test between the two."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.stats import chi2

from gevglm.data.design import MOST_DENSE, VECTORS, Design
from gevglm.engine.linalg import dense
from gevglm.exceptions import (
    ConvergenceWarning,
    GevglmError,
    InvalidDataError,
    InvalidOptionError,
    WeakShapeWarning,
    listed,
    warn,
)

if TYPE_CHECKING:
    from gevglm.results.likelihood import LikelihoodInference

OUTSIDE = 1e-8  # share of the length of a column outside a space that rounding explains
ROUNDING = 1e-6  # of a statistic, which then may be negative


def lr_test(full: LikelihoodInference, restricted: LikelihoodInference) -> tuple[float, float, float]:
    """Return the likelihood-ratio statistic of two nested fits, its p-value and degrees of freedom; refuse fits that it does not compare."""
    full._likelihood_problem("compare_lr_test")
    restricted._likelihood_problem("compare_lr_test with such a restricted model")
    given = _given_shapes(full, restricted)
    if full.bias != restricted.bias or given is None:
        raise InvalidOptionError("the models differ in link or bias reduction; fit both by the same method.")
    refuse_robust(full, restricted)
    refuse_other_rows(full.model.design, restricted.model.design)
    df = full.rank - restricted.rank + given
    if df <= 0:
        raise InvalidOptionError("the restricted model has no fewer coefficients than this one.")
    outside = columns_outside(restricted.model.design, full.model.design)
    if outside:
        raise InvalidOptionError(
            f"the models are not nested: the restricted model has columns ({listed(outside)}) that are no linear combinations of those of this one. "
            "gevglm.compare shows Vuong's test, which does not need that."
        )
    if full.bias is None:
        statistic = 2.0 * (full.llf - restricted.llf)
    else:
        dropped = dropped_columns(full.model.design, restricted.model.design)
        statistic = full._likelihood("compare_lr_test").ratios([dropped])[0]
    if statistic < -ROUNDING:
        raise GevglmError(
            f"the likelihood of the restricted model is larger, by {-statistic / 2:.3g}, than that of the model it is nested in, which has not "
            "reached its maximum; fit it again from other start_params."
        )
    if not (full.converged or full.separated) or not (restricted.converged or restricted.separated):
        warn("the likelihood ratio is that of a fit that has not converged.", ConvergenceWarning)
    _warn_of_boundary(full, restricted)
    statistic = max(float(statistic), 0.0)
    return statistic, float(chi2.sf(statistic, df)), float(df)


def is_nested(full: Any, restricted: Any) -> bool:
    """Whether a model is another one with fewer columns: with the same rows, link, loss and bias reduction."""
    try:
        refuse_other_rows(full.model.design, restricted.model.design)
    except InvalidDataError:
        return False
    given = _given_shapes(full, restricted)
    same = given is not None and full.loss.name == restricted.loss.name and full.bias == restricted.bias
    fewer = restricted.rank - (given or 0) < full.rank
    return same and fewer and not columns_outside(restricted.model.design, full.model.design)


def _given_shapes(full: Any, restricted: Any) -> int | None:
    """Return how many shapes that a model estimates are given in the restricted one; None if their links differ in another way."""
    link, other = full.link, restricted.link
    if full._shape is None:
        return 0 if restricted._shape is None and link == other else None
    if isinstance(other, type(link)) and other.shape_name is None:  # the loglog link is GEV at a shape
        return 1
    if type(link) is not type(other) or link.with_shape(float(other.shape or 0.0)) != other:
        return None
    return 1 if restricted._shape is None else 0


def _warn_of_boundary(*fits: LikelihoodInference) -> None:
    """Warn of shapes estimated at an end of their grid."""
    for fit in fits:
        if fit._shape is not None and fit._shape.boundary:
            low, high = fit._shape.range
            warn(
                f"the likelihood is largest at an end of the grid of shapes ({fit.link.shape_name} from {low:g} to {high:g}): the p-value of a "
                "likelihood-ratio test is approximate there.",
                WeakShapeWarning,
            )
            return


def refuse_robust(*fits: LikelihoodInference) -> None:
    """Refuse fits whose covariance says that their likelihood is not to be trusted."""
    for fit in fits:
        if fit.cov_type != "nonrobust":
            raise InvalidOptionError(
                f"a likelihood ratio takes rows to be independent and the model to be right, but the fit has cov_type={fit.cov_type!r}, which does "
                "not; test the same restrictions by wald_test of the larger model, or fit both with cov_type='nonrobust'."
            )


def refuse_other_rows(ours: Design, other: Design) -> None:
    """Refuse designs that do not have the same outcomes, weights and offsets in the same rows."""
    if not ours.same_outcomes(other):
        raise InvalidDataError(
            f"the models are fitted to different data ({ours.n_rows} and {other.n_rows} rows); fit both to the same complete rows."
        )
    if not ours.has_rows:
        return
    if ours.index is not None and other.index is not None and not ours.index.equals(other.index):
        raise InvalidDataError(
            "the models are fitted to different rows (their labels differ); fit both to the same rows."
        )
    words = dict(
        zip(VECTORS, ("freq_weights", "var_weights", "numbers of trials", "offsets", "sampling_weights"), strict=True)
    )
    for name, word in words.items():
        neutral = 0.0 if name == "offset" else 1.0
        pair = (neutral if (vector := getattr(design, name)) is None else vector for design in (ours, other))
        first, second = (np.broadcast_to(vector, (ours.n_rows,)) for vector in pair)
        if not np.array_equal(first, second):
            raise InvalidDataError(
                f"the models have different {word} in {int((first != second).sum())} of {ours.n_rows} rows; give both the same."
            )


def columns_outside(inner: Design, outer: Design) -> list[str]:
    """Return the columns of one design that are no linear combinations of those of another with the same rows.

    Data in pieces, and large sparse designs, are compared by the names of their columns.
    """
    if not (_comparable(inner) and _comparable(outer)):
        return [name for name in inner.names if name not in outer.names]
    return [name for name, far in zip(inner.names, _is_outside(inner, outer), strict=True) if far]


def _comparable(design: Design) -> bool:
    """Whether the columns of a design can be looked at as dense ones."""
    return design.has_rows and not (issparse(design.X) and design.X.shape[0] * design.X.shape[1] > MOST_DENSE)


def _is_outside(inner: Design, outer: Design) -> NDArray:
    used = np.ones(inner.n_rows, dtype=bool)
    for weights in (inner.freq, inner.var, inner.trials):
        used &= True if weights is None else weights > 0
    X, basis = dense(inner.X[used]).astype(float), np.linalg.qr(dense(outer.X[used]).astype(float))[0]
    rest = X - basis @ (basis.T @ X)
    rest -= basis @ (basis.T @ rest)  # once more, against rounding
    return np.linalg.norm(rest, axis=0) > OUTSIDE * np.linalg.norm(X, axis=0)


def dropped_columns(full: Design, restricted: Design) -> list[int]:
    """Return the columns of a model that a model nested in it does not have."""
    if _comparable(full) and _comparable(restricted):
        dropped = np.flatnonzero(_is_outside(full, restricted)).tolist()
    else:
        dropped = [j for j, name in enumerate(full.names) if name not in restricted.names]
    dropped = [j for j in dropped if j not in full.omitted]
    if len(full.names) - len(full.omitted) - len(dropped) != len(restricted.names) - len(restricted.omitted):
        raise InvalidOptionError(
            "the columns of the restricted model must be columns of this one; code its factors in the same way."
        )
    return dropped
