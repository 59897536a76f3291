r"""Separation: whether a combination of columns predicts outcomes perfectly, so that maximum likelihood is infinite.

A direction b separates the data if :math:`s_i x_i'b \ge 0` in every row and > 0 in some, with :math:`s_i = 1` for events and -1
for the others; the likelihood then rises all the way along b. It is found by the linear programme of Konis (2007),

.. math:: \max_b \sum_i s_i x_i'b \quad\text{subject to}\quad s_i x_i'b \ge 0,\; -1 \le b_j \le 1,

and solved anew for the rows that the direction found leaves on the plane :math:`x_i'b = 0`, until none is left that can be
separated: with :math:`b_1` strict in some rows and :math:`b_2` in some of the others, :math:`b_1 + \epsilon b_2` is strict in all of
them for a small :math:`\epsilon`.

What single columns separate is seen without it (:mod:`gevglm.inference.one_outcome`), and whether that is all by a logistic regression of the
rows that are left. Otherwise few rows matter. The programme is solved with a small part of its constraints, the rows that the solution violates most are
added, and so on: as soon as the optimum is zero, the part proves that nothing separates the whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_array, issparse

from gevglm.data.build import from_arrays
from gevglm.engine import MemoryEngine
from gevglm.engine.base import Block
from gevglm.engine.cholesky import Cholesky
from gevglm.engine.linalg import (
    Matrix,
    dense,
    dependent_columns,
    independent_columns,
    nonfinite_counts,
    one_blas_thread,
    scale_columns,
    scale_rows,
    vstack_rows,
    weighted_gram,
)
from gevglm.estimation.checks import UNIDENTIFIED
from gevglm.estimation.estimate import Problem
from gevglm.exceptions import CollinearityError, GevglmError, InvalidDataError, listed, unknown_option
from gevglm.inference import one_outcome
from gevglm.links import BinaryLink, Logit
from gevglm.losses import Log

CLEARLY_INDEPENDENT = 1e-9  # share of the length of columns, squared, at which their cross-products say that they are
# rows and directions are of length 1 where these are used
TIE = 1e-7  # distance from the plane up to which a row lies on it
FEASIBLE = 1e-9  # distance by which a row may lie on its wrong side
PRECISION = 1e-10  # of the linear programmes, the best that HiGHS offers
ADDED = 100  # violated rows added at a time


@dataclass(frozen=True)
class Separation:
    """Which outcomes are predicted perfectly, and which coefficients that makes infinite.

    Attributes
    ----------
    separated : bool
        Whether any row is.
    complete : bool
        Whether every row is; if only some are, the separation is called quasi-complete.
    directions : ndarray of shape (k,)
        Where the maximum-likelihood estimate of each coefficient lies: -inf, +inf, or 0 for a finite one.
    names : list of str
        Of the coefficients.
    rows, n_rows : int
        Rows that are separated, out of those with weight.
    """

    separated: bool
    complete: bool
    directions: NDArray
    names: list[str]
    rows: int
    n_rows: int

    @property
    def infinite(self) -> list[str]:
        """Names of the coefficients whose estimates are infinite."""
        return [self.names[j] for j in np.flatnonzero(self.directions)]

    @property
    def limits(self) -> NDArray:
        """``directions``, with NaN for finite coefficients of completely separated data, of which no row determines them."""
        return np.where(self.complete & (self.directions == 0), np.nan, self.directions)

    def summary_frame(self) -> pd.DataFrame:
        """Return a table with the direction of each coefficient, "finite", "-inf" or "+inf"."""
        words = {0.0: "finite", np.inf: "+inf", -np.inf: "-inf"}
        return pd.DataFrame({"coefficient": self.names, "direction": [words[d] for d in self.directions]})

    def __str__(self) -> str:
        if not self.separated:
            return f"no separation: the outcomes overlap in all {self.n_rows} rows, and maximum-likelihood estimates are finite"
        kind = "complete" if self.complete else "quasi-complete"
        infinite = [f"{self.names[j]} ({self.directions[j]:+})" for j in np.flatnonzero(self.directions)]
        return f"{kind} separation: {self.rows} of {self.n_rows} rows are predicted perfectly; infinite estimates: {listed(infinite)}"

    def __repr__(self) -> str:
        return f"<Separation: {self}>"


def detect_separation(
    endog: Any, exog: Any, *, trials: Any = None, freq_weights: Any = None, event: Any = None, link: Any = None
) -> Separation:
    r"""Find out whether maximum-likelihood estimates exist, before or without fitting a model.

    Parameters
    ----------
    endog : array_like of shape (n,) or (n, 2)
        Binary outcome; or shares of successes, with `trials`; or counts of successes and failures.
    exog : array_like or sparse matrix of shape (n, k)
        Design matrix, used unchanged; a constant is a column of ones.
    trials : array_like of shape (n,), optional
        Number of trials behind each share.
    freq_weights : array_like of shape (n,), optional
        Rows of weight zero are left out; otherwise weights do not matter.
    event : object, optional
        The level of the outcome that is the event, where that is not plainly 1 or True.
    link : str or BinaryLink, optional
        The link of the model, which matters if it is "log", "logc" or "identity": see the notes.

    Returns
    -------
    Separation

    Raises
    ------
    InvalidDataError
        If values are missing, lengths differ, the outcome is not binary, or only one outcome occurs.

    Notes
    -----
    The answer holds for every link whose distribution function is between 0 and 1 everywhere. With the log link risks stop at 1, and a group with
    events only has a finite estimate, on the boundary: estimates are infinite in directions b with :math:`x_i'b = 0` for every event and
    :math:`\le 0` for the others, such as that of a group without events. With "logc" it is the other way round, and with "identity", whose risks stop at
    both ends, estimates are always finite. Where coefficients can go to
    infinity in either direction (common under complete separation), the direction is that of the linear programme. Of collinear
    columns, the last ones count as dropped, and as finite.

    References
    ----------
    Albert, A. and Anderson, J. A. (1984). On the existence of maximum likelihood estimates in logistic regression models.
    Biometrika 71, 1-10. https://doi.org/10.1093/biomet/71.1.1

    Konis, K. (2007). Linear programming algorithms for detecting separated data in binary logistic regression models.
    DPhil thesis, University of Oxford.

    Examples
    --------
    >>> import pandas as pd
    >>> exog = pd.DataFrame({"const": 1.0, "dose": [1, 2, 3, 4, 5, 6], "treated": [0, 0, 0, 0, 1, 1]})
    >>> found = detect_separation([0, 1, 0, 1, 1, 1], exog)
    >>> found
    <Separation: quasi-complete separation: 2 of 6 rows are predicted perfectly; infinite estimates: treated (+inf)>
    >>> found.summary_frame()
      coefficient direction
    0       const    finite
    1        dose    finite
    2     treated      +inf
    """
    design = from_arrays(endog, exog, event=event, freq_weights=freq_weights, n_trials=trials)
    weight = Block(0, design.X, design.y, freq=design.freq, trials=design.trials).weight
    return find_directions(design.X, design.y, weight, design.names, _link_of(link))


def _link_of(link: Any) -> BinaryLink | None:
    if link is None or isinstance(link, BinaryLink):
        return link
    kind = BinaryLink.words.get(str(link).lower())
    if kind is None:
        raise unknown_option("link", link, sorted(BinaryLink.words))
    return kind() if kind.shape_name is None else None  # of shapes the answer does not depend on


def find_directions(
    X: Matrix,
    y: NDArray,
    weight: NDArray | None = None,
    names: Sequence[str] | None = None,
    link: BinaryLink | None = None,
) -> Separation:
    """Find the directions in which a likelihood rises without end; a share between 0 and 1 stands for both outcomes."""
    names = [f"column {j}" for j in range(X.shape[1])] if names is None else [str(name) for name in names]
    _refuse_different_lengths(X, y, weight)
    if weight is not None and not (weight > 0).all():
        X, y = X[weight > 0], y[weight > 0]
    _refuse_bad_values(X, y, names)
    directions, kept = np.zeros(X.shape[1]), _independent(X)
    X = X if len(kept) == X.shape[1] else X[:, kept]
    walled = link is not None and link.edge == "wall"
    strict, directions[kept] = _look_inside(X, y, link.support) if walled else _look(X, y)
    return Separation(bool(strict.any()), bool(strict.all()), directions, names, int(strict.sum()), len(y))


def _independent(X: Matrix) -> NDArray:
    """Return the columns that are not combinations of earlier ones; their cross-products decide where they leave no doubt."""
    gram = dense(weighted_gram(X, np.ones(X.shape[0])))
    if issparse(X):
        return np.setdiff1d(np.arange(X.shape[1]), dependent_columns(gram))
    if Cholesky(gram).smallest_pivot > CLEARLY_INDEPENDENT:
        return np.arange(X.shape[1])
    scale = np.abs(X).max(axis=0, initial=0.0)
    triangle = np.linalg.qr(X / np.where(scale > 0.0, scale, 1.0), mode="r")
    return np.asarray(independent_columns(np.asarray(triangle)), dtype=np.intp)


def _look(X: Matrix, y: NDArray) -> tuple[NDArray, NDArray]:
    """Return which rows are separated, and where that takes each coefficient: by inspection, then by linear programmes where need be."""
    seen = one_outcome.find(X, y)
    strict, directions = seen.rows.copy(), np.where(seen.signs == 0.0, 0.0, np.copysign(np.inf, seen.signs))
    left, free = np.flatnonzero(~strict), np.flatnonzero(~seen.columns)
    if not strict.any() or (len(left) and not _overlap(X[left][:, free], y[left])):
        strict[left], found = _by_programmes(X[left][:, free], y[left])
        directions[free] = np.where(directions[free] == 0.0, found, directions[free])
    return strict, directions


def _look_inside(X: Matrix, y: NDArray, support: tuple[float, float]) -> tuple[NDArray, NDArray]:
    """Do what :func:`_look` does for links whose risks stop at a wall: rows whose outcome is certain there cannot move."""
    lower, upper = np.isfinite(support)
    held = ((y > 0) & bool(upper)) | ((y < 1) & bool(lower))
    gram = dense(weighted_gram(X, held.astype(float)))
    scale = np.sqrt(np.maximum(np.diagonal(dense(weighted_gram(X, np.ones(len(y))))), np.finfo(float).tiny))
    values, vectors = np.linalg.eigh(gram / scale[:, None] / scale)
    free = vectors[:, values <= TIE**2 * max(values[-1], 1.0)]
    free = np.where(np.abs(free) > TIE, free, 0.0) / scale[:, None]
    strict, directions = np.zeros(len(y), dtype=bool), np.zeros(X.shape[1])
    others = np.flatnonzero(~held)
    if free.shape[1] and len(others):
        with one_blas_thread():
            moved = dense(X[others]) @ free
            length = np.sqrt((moved**2).sum(axis=1))
            moved[length <= TIE * length.max()] = 0.0  # rounding
            rows, basis = _orthonormal(moved)
            strict[others], found = _separate(np.where(y[others] > 0, 1.0, -1.0)[:, None] * rows)
        basis = free @ basis
        directions = _first_signs(found @ basis.T, TIE * np.sqrt((basis**2).sum(axis=1)))
    return strict, directions


def _overlap(X: NDArray, y: NDArray) -> bool:
    """Whether the outcomes are certain to overlap, because a logistic regression of them has a finite solution."""
    if not X.shape[1]:
        return True
    if not (len(y) and y.max() > 0.0 and y.min() < 1.0):
        return False
    problem = Problem(MemoryEngine(X, y), Log(Logit()))
    while True:
        try:
            found = problem.estimate()
            break
        except CollinearityError as error:
            if not error.columns:
                return False
            problem = problem.omitting(list(error.columns))
    return found.converged and found.least_information is not None and found.least_information >= UNIDENTIFIED


def _by_programmes(X: NDArray, y: NDArray) -> tuple[NDArray, NDArray]:
    """Return which rows are separated, and where that takes each coefficient, by linear programmes."""
    event, other = np.flatnonzero(y > 0), np.flatnonzero(y < 1)  # a share is in both
    with one_blas_thread():
        rows, basis = _scaled(X) if issparse(X) else _orthonormal(X)
        separated, found = _separate(vstack_rows(rows[event], -rows[other]))
    strict = np.ones(len(y), dtype=bool)
    strict[np.concatenate([event, other])[~separated]] = False
    return strict, _first_signs(found @ basis.T, TIE * np.sqrt((basis**2).sum(axis=1)))


def _refuse_different_lengths(X: Matrix, y: NDArray, weight: NDArray | None) -> None:
    if y.shape != (X.shape[0],):
        raise InvalidDataError(f"the outcome has shape {y.shape}, but the design has {X.shape[0]} rows.")
    if weight is not None and weight.shape != y.shape:
        raise InvalidDataError(f"the weights have shape {weight.shape}, but the design has {X.shape[0]} rows.")
    if weight is not None and not (weight >= 0).all():
        raise InvalidDataError(
            f"weights and trials must be numbers and not negative; {int((~(weight >= 0)).sum())} rows are not."
        )


def _refuse_bad_values(X: Matrix, y: NDArray, names: list[str]) -> None:
    bad = [f"{names[j]} ({count:.0f} rows)" for j, count in enumerate(nonfinite_counts(X)) if count]
    if bad:
        raise InvalidDataError(f"these columns are infinite or not numbers: {listed(bad)}; fix or drop those rows.")
    if not ((y >= 0) & (y <= 1)).all():
        raise InvalidDataError("outcomes must lie in [0, 1]; drop the rows where they are missing, or recode them.")
    if not len(y) or y.max() == 0 or y.min() == 1:
        raise InvalidDataError(
            f"only one outcome occurs among the {len(y)} rows with weight; separation is a matter of two."
        )


def _orthonormal(X: NDArray) -> tuple[NDArray, NDArray]:
    """Return the rows in an orthonormal basis of the columns, each of length 1, and the basis, zero for dependent columns.

    In that basis the units of the columns, and how they are coded, make no difference to tolerances.
    """
    scale = np.abs(X).max(axis=0).astype(float)
    scale[scale == 0] = 1.0
    X = X / scale
    triangle = np.asarray(np.linalg.qr(X, mode="r"))
    kept = independent_columns(triangle)
    basis = np.zeros((X.shape[1], len(kept)))
    basis[kept] = np.linalg.inv(np.asarray(np.linalg.qr(triangle[:, kept], mode="r")))
    rows = X @ basis
    length = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    rows /= np.where(length > 0, length, 1.0)[:, None]
    return rows, basis / scale[:, None]


def _scaled(X: csr_array) -> tuple[csr_array, csr_array]:
    """Return sparse rows, each of length 1, by the columns that are independent, and these as the basis: sparse where an orthonormal one is not.

    Columns are scaled to a largest value of 1, so that their units make no difference to tolerances.
    """
    scale = np.asarray(abs(X).max(axis=0).todense(), dtype=float).ravel()
    scale[scale == 0] = 1.0
    X = scale_columns(X, 1.0 / scale)
    kept = np.setdiff1d(np.arange(X.shape[1]), dependent_columns(dense(weighted_gram(X, np.ones(X.shape[0])))))
    rows = X[:, kept]
    length = np.sqrt(rows.multiply(rows).sum(axis=1))
    basis = csr_array((1.0 / scale[kept], (kept, np.arange(len(kept)))), shape=(X.shape[1], len(kept)))
    return scale_rows(rows, 1.0 / np.where(length > 0, length, 1.0)), basis


def _separate(rows: Matrix) -> tuple[NDArray, NDArray]:
    """Return which rows are strictly positive in some direction in which none is negative, and such directions in turn."""
    separated = np.zeros(rows.shape[0], dtype=bool)
    directions = [np.zeros(rows.shape[1])]
    left = np.arange(rows.shape[0])
    while len(left):
        direction = _direction(rows[left])
        strict = rows[left] @ direction > TIE
        if not strict.any():
            break
        directions.append(direction)
        separated[left[strict]] = True
        left = left[~strict]
    return separated, np.array(directions)


def _direction(rows: Matrix) -> NDArray:
    """Return a direction that separates as many of the rows as the linear programme finds, zero if none does."""
    total = np.ones(rows.shape[0]) @ rows
    direction = np.sign(total)  # the solution without constraints
    used = np.zeros(rows.shape[0], dtype=bool)
    while total @ direction > TIE:
        distance = rows @ direction
        violated = np.flatnonzero((distance < -FEASIBLE) & ~used)
        if not len(violated):
            return direction
        used[violated[np.argsort(distance[violated])[:ADDED]]] = True
        direction = _solve(total, rows[used])
    return np.zeros_like(total)


def _solve(total: NDArray, rows: Matrix) -> NDArray:
    options = {"primal_feasibility_tolerance": PRECISION, "dual_feasibility_tolerance": PRECISION}
    result = linprog(
        -total / np.abs(total).max(),
        A_ub=-rows,
        b_ub=np.zeros(rows.shape[0]),
        bounds=(-1, 1),
        method="highs",
        options=options,
    )
    if result.x is None:
        raise GevglmError(f"the linear programme that looks for separation was not solved: {result.message}")
    return result.x


def _first_signs(directions: NDArray, unit: NDArray) -> NDArray:
    """Return minus or plus infinity by the sign of the first direction that moves each coefficient, zero if none does."""
    moves = np.abs(directions) > unit
    first = directions[moves.argmax(axis=0), np.arange(len(unit))]
    return np.where(moves.any(axis=0), np.copysign(np.inf, first), 0.0)
