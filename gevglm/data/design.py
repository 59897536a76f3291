"""A design: the numbers of a regression and their names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from math import isfinite
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import issparse

from gevglm.data import formula as formulas
from gevglm.data.grouping import Grouping
from gevglm.data.observations import Part
from gevglm.data.row_weights import RowWeights
from gevglm.data.survey import SampleReplicates, SampleUnits
from gevglm.data.tables import (
    aligned,
    columns_given,
)
from gevglm.data.unloaded import UnloadedArray, rows_needed
from gevglm.engine import Engine, MemoryEngine
from gevglm.engine.base import ArraySum, Block, product, without_columns
from gevglm.engine.linalg import Matrix, dense, squared_deviations
from gevglm.engine.sparse import columns_of_ones, sparse_if_mostly_zero
from gevglm.exceptions import InvalidDataError

FIT_AGAIN = "fit the model again, to a table that is held in memory"
FEW = 4096  # rows that are looked at all at once
SMALL = 1 << 18  # numbers of a matrix that one core copies as fast
MOST_DENSE = 1 << 25  # elements of a sparse design that is made dense where need be
VECTORS = ("freq", "var", "trials", "offset", "represents")


@dataclass(frozen=True, kw_only=True)
class Layout:
    """What is known of a design without its rows: all that reading new data needs."""

    names: list[str]  # of the columns
    recipe: formulas.Recipe | None = None  # the right-hand side of the formula
    # columns that prediction on new data looks for
    offset_name: str | None = None
    exposure_name: str | None = None
    # whether an offset, an exposure was given as an array, so that prediction on new data has to be given one too
    array_offset: bool = False
    array_exposure: bool = False
    # columns of weights by their roles, which averages over new data look for
    weight_names: dict[str, str] = field(default_factory=dict)
    outcome: str = "y"  # name of the outcome
    event: Any = 1  # the level of the outcome that counts as the event

    @property
    def layout(self) -> Layout:
        """The layout alone, which is small."""
        return Layout(**{each.name: getattr(self, each.name) for each in fields(Layout)})


@dataclass(frozen=True, kw_only=True)
class Design(Layout):
    """The numbers of a regression, in memory; :class:`~gevglm.data.streamed_design.StreamedDesign` reads them in pieces."""

    X: Matrix  # of shape (n, k), dense or sparse
    y: NDArray  # outcomes in [0, 1]; shares of successes for grouped rows
    freq: NDArray | None = None
    var: NDArray | None = None  # as the loss has it: variance weights, sampling weights and those by the outcome
    trials: NDArray | None = None
    offset: NDArray | None = None
    represents: NDArray | None = (
        None  # variance times sampling weights, as given: how much an observation counts in averages
    )
    constant: int | None = None  # the first column of ones
    # columns that are left out, with those that each is a combination of; their coefficients are zero
    omitted: dict[int, tuple[int, ...]] = field(default_factory=dict)
    rows: NDArray | None = None  # positions of the rows used in the data given; None if all were
    index: pd.Index | None = field(default=None, repr=False)  # labels of the rows used, if the data given have any
    frame: pd.DataFrame | None = field(default=None, repr=False)  # the rows used of the table given
    n_given: int = 0  # rows of the data given
    n_missing: int = 0  # those dropped because of missing values
    sample: SampleUnits | SampleReplicates | None = field(default=None, repr=False)  # the survey design of the rows
    population: float | None = None  # members of the population behind all rows, by sampling weights if there are

    @property
    def has_rows(self) -> bool:
        """Whether the rows are in memory (no more, after they were removed)."""
        return not isinstance(self.X, UnloadedArray)

    @property
    def readable(self) -> bool:
        """Whether passes can be made over the rows, in memory or from where they are read."""
        return self.has_rows

    def need_rows(self, what: str, instead: str = "") -> None:
        """Refuse, where the rows are not in memory, what needs them, and say what to do instead."""
        if not self.has_rows:
            raise InvalidDataError(rows_needed(what, instead))

    def dense(self, what: str, instead: str) -> NDArray:
        """Return the design matrix as an array, for what cannot do without; refuse it for a large sparse one, and say what to do instead."""
        if issparse(self.X) and self.X.shape[0] * self.X.shape[1] > MOST_DENSE:
            size = 8e-9 * self.X.shape[0] * self.X.shape[1]
            raise InvalidDataError(
                f"{what} needs a dense design, but this one is sparse, and would take {size:.1f} GB; {instead}."
            )
        return dense(self.X)

    @property
    def n_rows(self) -> int:
        """Rows used."""
        return len(self.y)

    @property
    def counts(self) -> NDArray | None:
        """Observations behind each row, by frequency weight and trials, or None where each row is one."""
        return product(self.freq, self.trials)

    @cached_property
    def n_events(self) -> float:
        """Events, counted by frequency weights and trials."""
        counts = self.counts
        return float((self.y if counts is None else counts * self.y).sum())

    @property
    def n_total(self) -> float:
        """Observations, counted likewise."""
        counts = self.counts
        return float(len(self.y) if counts is None else counts.sum())

    @property
    def sum_freq(self) -> float:
        """The sum of the frequency weights."""
        return float(len(self.y) if self.freq is None else self.freq.sum())

    @property
    def n_non_integer(self) -> int:
        """Frequency weights that are not whole numbers."""
        return 0 if self.freq is None else int((self.freq != np.round(self.freq)).sum())

    def engine(self, exog: Matrix | None = None) -> Engine:
        """Return the rows, as the solver sees them; with another design matrix, if one is given."""
        self.need_rows("a pass over the data", f"give data where there is a place for them, or {FIT_AGAIN}")
        X = self._X_of_passes if exog is None else exog
        engine = MemoryEngine(X, self.y, **{name: getattr(self, name) for name in VECTORS})
        if self.var is self.counts is None and 0.0 < self.n_events < self.n_rows:
            engine.cache["totals"] = float(self.n_rows), self.n_events
        return without_columns(engine, [j for j, others in self.omitted.items() if others])  # others are zero

    @cached_property
    def _X_of_passes(self) -> Matrix:
        """The design matrix, sparse if it is mostly zero: sums over its rows take what is not zero."""
        return sparse_if_mostly_zero(self.X)

    def labelled(self) -> tuple[Any, Any]:
        """Return outcome and design matrix with the labels that statsmodels shows; of a sparse matrix, which it does not know, no column."""
        X = np.zeros((self.n_rows, 0)) if issparse(self.X) else self.X
        if self.index is None:
            return self.y, X
        y = pd.Series(self.y, index=self.index, name=self.outcome, copy=False)
        return y, pd.DataFrame(X, index=self.index, columns=self.names[: X.shape[1]], copy=False)

    def reweighted(self, weights: Callable[[NDArray], NDArray | None]) -> Self:
        """Return the design with weights that depend on the outcome."""
        added = weights(self.y)
        return self if added is None else replace(self, var=product(added, self.var))

    def unweighted(self) -> Self:
        """Return the design without variance weights."""
        return replace(self, var=None)

    def grouping(self, groups: Any) -> Grouping:
        """Return the clusters of the rows, from arrays or from one or two column names."""
        return Grouping.of(self.rows_of(groups, "groups"))

    def same_outcomes(self, other: Design) -> bool:
        """Whether another design has the same rows, as far as their outcomes tell."""
        return self.n_rows == other.n_rows and other.has_rows and np.array_equal(self.y, other.y)

    def column_variances(self, by_outcome: Callable[[NDArray], NDArray | None]) -> NDArray:
        """Return the variance of each column in the population, with n - 1; `by_outcome` are weights that make the rows represent it."""

        def rows(block: Block) -> RowWeights:
            return RowWeights.of(block, by_outcome(block.y))

        engine = self.engine()
        total = engine.reduce(ArraySum(lambda block: rows(block).in_population.sum()))
        n = float(engine.reduce(ArraySum(lambda block: rows(block).observations.sum())))
        mean = engine.reduce(ArraySum(lambda block: rows(block).in_population @ block.X)) / total
        squares = engine.reduce(ArraySum(lambda block: squared_deviations(block.X, mean, rows(block).in_population)))
        return squares / total * (n / max(n - 1.0, 1.0))

    def rows_of(self, values: Any, role: str) -> pd.DataFrame:
        """Return what is known of rows (their clusters, say), given by names of columns or as values, for the rows used.

        Values are for the rows of the data given, or for the rows used; those with labels are put into the order of the data.
        """
        self.need_rows(f"{role} as an array", "name a column")
        table = columns_given(values, self.frame, role, (self.n_given, self.n_rows))
        if len(table) not in (self.n_given, self.n_rows):
            raise InvalidDataError(f"{role} has {len(table)} rows, but the data have {self.n_given}.")
        used = table if self.rows is None or len(table) == self.n_rows else table.iloc[self.rows]
        if self.index is None or not isinstance(values, (pd.Series, pd.DataFrame)) or used.index.equals(self.index):
            return used
        return aligned(table[table.index.isin(self.index)], self.index, role)

    def labels_of(self, positions: list[int]) -> list[str]:
        """Return how the user knows the rows at these positions: by label, or by position in the data given."""
        if self.index is not None:
            return [str(label) for label in self.index[positions]]
        return [str(position) for position in (positions if self.rows is None else self.rows[positions])]

    def on_rows(self, rows: NDArray | Part) -> Self:
        """Return the design of some of the rows, without formula and table.

        `rows` are positions, of which some may repeat, or a part of the observations; rows that it divides have their numbers and shares of
        events there.
        """
        self.need_rows("a fit to some of the rows", FIT_AGAIN)
        part = rows if isinstance(rows, Part) else None
        positions: Any = rows if part is None else np.flatnonzero(part.rows)
        X = self.X[positions]
        facts: dict[str, Any] = {
            name: None if (vector := getattr(self, name)) is None else vector[positions] for name in ("y", *VECTORS)
        }
        if part is not None and part.counts is not None:
            facts["freq"] = None
            facts["y"], facts["freq" if self.trials is None else "trials"] = part.outcomes(self.y)
        facts |= {"constant": constant_column(X), "n_given": len(positions), "sample": self._sample_at(positions)}
        return replace(self, X=X, **facts, rows=None, index=None, recipe=None, frame=None)

    def selected(self, positions: NDArray) -> Self:
        """Return the design of the rows at some positions, with formula and table."""
        facts: dict[str, Any] = {
            name: None if (vector := getattr(self, name)) is None else vector[positions] for name in ("y", *VECTORS)
        }
        return replace(
            self,
            X=self.X[positions],
            **facts,
            sample=self._sample_at(positions),
            rows=positions if self.rows is None else self.rows[positions],
            index=None if self.index is None else self.index[positions],
            frame=None if self.frame is None else self.frame.iloc[positions],
        )

    def without_rows(self) -> Self:
        """Return the design without anything of the length of the data."""
        n = self.n_rows
        vectors: dict[str, Any] = {
            name: None if getattr(self, name) is None else UnloadedArray.of(n) for name in ("y", *VECTORS)
        }
        recipe = None if self.recipe is None else self.recipe.without_rows(self.n_given)
        X = UnloadedArray.of(n, len(self.names))
        return replace(self, X=X, **vectors, rows=None, index=None, frame=None, recipe=recipe, sample=None)

    def _sample_at(self, positions: NDArray) -> SampleUnits | SampleReplicates | None:
        return None if self.sample is None else self.sample.taken(positions)


def constant_column(X: Matrix) -> int | None:
    """Return the first column of ones, if there is one."""
    if issparse(X):
        ones = np.flatnonzero(columns_of_ones(X))
        return int(ones[0]) if len(ones) else None
    for j, first in enumerate(X[:1].ravel().tolist()):
        if first == 1.0 and (len(X) < FEW or (X[:64, j] == 1.0).all()) and (X[:, j] == 1.0).all():
            return j
    return None


def first_look(X: Matrix) -> tuple[bool, int | None]:
    """Return whether the sum of all numbers is finite, as that of complete ones is, and the first column of ones; a large matrix is read once, by all cores."""
    if issparse(X) or X.size <= SMALL:
        with np.errstate(all="ignore"):
            return isfinite(np.add.reduce(X.data if issparse(X) else X, axis=None)), constant_column(X)
    ones = np.flatnonzero(X[0] == 1.0)

    def look(block: Block) -> NDArray:
        """Add up all numbers, and count in these columns what is not one."""
        return np.append(np.add.reduce(block.X, axis=None), (block.X[:, ones] != 1.0).sum(axis=0))

    total, *others = MemoryEngine(X, X[:, 0]).reduce(ArraySum(look)).tolist()
    return isfinite(total), next((int(j) for j, count in zip(ones, others, strict=True) if not count), None)


def copied(X: NDArray) -> NDArray:
    """Return a copy of a matrix: a small one column by column, which passes are faster over, a large one in its own order, by all cores."""
    if X.size <= SMALL:
        return X.copy(order="F")
    copy = np.empty_like(X)

    def write(block: Block) -> NDArray:
        copy[block.rows] = X[block.rows]
        return np.zeros(())

    MemoryEngine(X, X[:, 0]).reduce(ArraySum(write))
    return copy


def weight_names(weights: dict[str, Any]) -> dict[str, str]:
    """Return the columns of weights that were given by name, by their roles."""
    return {role: name for role, name in weights.items() if isinstance(name, str)}
