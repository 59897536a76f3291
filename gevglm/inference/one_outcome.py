"""Columns and levels with one outcome only: separation that is seen by looking at one column, before any linear programme.

A column whose numbers have one sign in all events and the other (or zero) in all other rows separates the rows where it is not zero: so does
that of a level without events. The rows of a reference level are those in which all columns of its factor are zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, issparse

from gevglm.engine.linalg import Matrix, dense
from gevglm.exceptions import listed


@dataclass(frozen=True)
class OneOutcome:
    """What single columns, and the levels of factors, predict perfectly."""

    rows: NDArray  # which rows are; of shape (n,)
    signs: NDArray  # in which direction each coefficient goes to infinity, -1 or 1, and 0 if it does not; of shape (k,)
    factors: list[Factor]  # the factors among them
    columns: NDArray  # which columns separate by themselves; of shape (k,)


@dataclass
class Factor:
    """A factor: neighbouring columns of zeros and ones of which a row has at most a single one."""

    columns: list[int]
    used: NDArray  # which rows have a one in some of them
    with_reference: bool = False  # whether other rows, which are those of a reference level, have one outcome only too


def find(X: Matrix, y: NDArray, *, levels_only: bool = False) -> OneOutcome:
    """Find the columns that separate by themselves, again in the rows that are left, until there are no more.

    A share between 0 and 1 stands for both outcomes. With `levels_only`, columns of zeros and ones are looked at, and no others.
    """
    n, k = X.shape
    event, other = y > 0, y < 1
    rows, signs, alone = np.zeros(n, dtype=bool), np.zeros(k), np.zeros(k, dtype=bool)
    low, high = _range(X)
    factors = _factors(X, np.flatnonzero((low == 0.0) & (high == 1.0)))
    constant = np.flatnonzero((low == 1.0) & (high == 1.0))
    indicators = np.isin(np.arange(k), [j for factor in factors for j in factor.columns])
    candidates = indicators if levels_only else np.ones(k, dtype=bool)
    candidates[constant] = False
    while True:
        left = ~rows
        found = _signs(X[left & event], X[left & other]) * candidates
        new = found != 0.0
        before = int(rows.sum())
        rows |= np.asarray(dense(abs(X) @ new.astype(float)) > 0.0).ravel() & left
        signs[new & (signs == 0.0)] = found[new & (signs == 0.0)]
        alone |= new
        candidates &= ~new
        for factor in factors if len(constant) else ():
            reference = ~factor.used & ~rows
            kinds = (event & reference).any(), (other & reference).any()
            if reference.any() and not factor.with_reference and not all(kinds):
                factor.with_reference = True
                sign = 1.0 if kinds[0] else -1.0
                for columns, direction in ((constant[:1], sign), (factor.columns, -sign)):
                    free = [j for j in columns if signs[j] == 0.0]
                    signs[free] = direction
                rows |= reference
        if int(rows.sum()) == before:
            return OneOutcome(rows, signs, factors, alone)


def describe(found: OneOutcome, names: Sequence[str]) -> str:
    """Return which levels and columns have one outcome only, in words, such as "86 of 194 levels of C(commune) (11731 rows)"."""
    texts, told = [], set()
    for factor in found.factors:
        separated = [j for j in factor.columns if found.columns[j]]
        number = len(separated) + factor.with_reference
        prefixes = {str(names[j]).partition("[")[0] for j in factor.columns}
        if number and len(factor.columns) > 1 and len(prefixes) == 1:
            texts.append(f"{number} of {len(factor.columns) + 1} levels of {prefixes.pop()}")
            told.update(separated)
        elif factor.with_reference:
            texts.append(f"rows without {listed(str(names[j]) for j in factor.columns)}")
    single = [str(names[j]) for j in np.flatnonzero(found.columns).tolist() if j not in told]
    texts += [listed(single)] if single else []
    return f"{'; '.join(texts)} ({int(found.rows.sum())} rows)"


def _range(X: Matrix) -> tuple[NDArray, NDArray]:
    """Return the smallest and the largest number of each column."""
    if not X.shape[0]:
        return np.zeros(X.shape[1]), np.zeros(X.shape[1])
    return np.ravel(dense(X.min(axis=0))), np.ravel(dense(X.max(axis=0)))


def _signs(events: Matrix, others: Matrix) -> NDArray:
    """Return the direction in which each column separates events from others, 0 if it does not."""
    (low, high), (other_low, other_high) = _range(events), _range(others)
    up = (low >= 0.0) & (other_high <= 0.0) & ((high > 0.0) | (other_low < 0.0))
    down = (high <= 0.0) & (other_low >= 0.0) & ((low < 0.0) | (other_high > 0.0))
    return up.astype(float) - down.astype(float)


def _factors(X: Matrix, columns: NDArray) -> list[Factor]:
    """Put neighbouring columns of zeros and ones together as long as no row has two of them."""
    factors: list[Factor] = []
    by_column: Any = csc_array(X) if issparse(X) else X
    for j in columns.tolist():
        column = dense(by_column[:, [j]]).ravel()
        ones = column == 1.0
        if not (ones | (column == 0.0)).all():
            continue
        if factors and factors[-1].columns[-1] == j - 1 and not (factors[-1].used & ones).any():
            factors[-1].columns.append(j)
            factors[-1].used |= ones
        else:
            factors.append(Factor([j], ones))
    return factors
