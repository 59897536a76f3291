"""Random 70/30 splits, with 30 % of the training rows held out to choose by."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from replications.gev_canonical.tasks import Data

TEST_SHARE = VALIDATION_SHARE = 0.3
SEED = 2014


@dataclass(frozen=True)
class Split:
    """Rows to train with and rows to test with; the first column is the constant.

    Attributes
    ----------
    X : ndarray of shape (n, k)
        Numeric columns are standardised by the training rows, dummies are 0 and 1.
    y : ndarray of shape (n,)
    held : ndarray of bool
        Training rows to choose shape and penalty by.
    X_test, y_test : ndarray
    rng : Generator
        For methods that draw rows.
    """

    X: NDArray
    y: NDArray
    held: NDArray
    X_test: NDArray
    y_test: NDArray
    rng: np.random.Generator


def split_of(data: Data, number: int) -> Split:
    """Return split `number`, which is the same whenever it is asked for."""
    rng = np.random.default_rng([SEED, len(data.y), number])
    rows = rng.permutation(len(data.y))
    test, train = np.split(rows, [round(TEST_SHARE * len(rows))])
    center, scale = data.numeric[train].mean(axis=0), data.numeric[train].std(axis=0)
    numeric = (data.numeric - center) / np.where(scale > 0, scale, 1.0)
    X = np.column_stack([np.ones(len(rows)), numeric, data.dummies])
    held = np.arange(len(train)) < round(VALIDATION_SHARE * len(train))
    return Split(X[train], data.y[train], held, X[test], data.y[test], rng)
