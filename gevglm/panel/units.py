"""Units whose constants are absorbed: the rows of those that say something, in the order of the units."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from gevglm.conditional.model import refuse_measurement
from gevglm.data.design import Design
from gevglm.engine.base import Block, product, times
from gevglm.engine.grouped import Groups, grouped_engine
from gevglm.engine.memory import MemoryEngine
from gevglm.exceptions import InvalidDataError, InvalidOptionError

MOST_LEVELS = 3000  # of the smaller of two factors, with which everything is exact
MOST_CELLS = 1 << 27  # of both


@dataclass(frozen=True)
class Factor:
    """A factor whose levels have constants."""

    name: str
    codes: NDArray  # level of each row, from 0, without gaps
    levels: pd.Index

    def __len__(self) -> int:
        return len(self.levels)

    def on(self, rows: NDArray) -> Factor:
        """Return the factor of some rows, with the levels that they have."""
        codes = self.codes[rows]
        there = np.zeros(len(self), dtype=bool)
        there[codes] = True
        return Factor(self.name, (np.cumsum(there) - 1)[codes], self.levels[there])


@dataclass(frozen=True)
class LeftOut:
    """Units with one outcome only: how many have no event, and how many nothing else; and their rows."""

    never: int = 0
    always: int = 0
    rows: int = 0

    @property
    def units(self) -> int:
        """All of them."""
        return self.never + self.always


@dataclass(frozen=True)
class Panel:
    """Rows sorted by unit, of a design whose columns vary within units."""

    design: Design
    factors: list[Factor]  # the one whose constants are eliminated first
    positions: NDArray  # of the rows, in the design they were taken from
    left_out: list[LeftOut]  # for each factor
    columns: NDArray  # those of the design that are slopes
    # of two factors: the number of parts that share no level, in each of which one constant has no estimate, and the part of each level of the second
    components: int = 1
    parts: NDArray | None = None

    @cached_property
    def groups(self) -> Groups:
        """The groups of rows, as the solver knows them."""
        if len(self.factors) == 1:
            return Groups(self.factors[0].codes)
        second, references = self.factors[1], self.references
        kept = np.ones(len(second), dtype=bool)
        kept[references] = False
        places = np.where(kept, np.cumsum(kept) - 1, kept.sum())
        m = int(kept.sum())
        large = m > MOST_LEVELS or m * len(self.factors[0]) > MOST_CELLS
        return Groups(self.factors[0].codes, places[second.codes], m, large)

    @cached_property
    def references(self) -> NDArray:
        """The first level of the second factor in each part that shares no level with others."""
        return np.unique(np.asarray(self.parts), return_index=True)[1]

    @property
    def centres(self) -> NDArray:
        """The means of the columns in each unit; of shape (k, G)."""
        return self._centred[0]

    @property
    def X(self) -> NDArray:
        """The columns minus their means; of shape (n, k), one after the other in memory."""
        return self._centred[1].T

    @cached_property
    def _centred(self) -> tuple[NDArray, NDArray]:
        """The means of the columns in each unit, and the columns without them; column by column, so that no second copy of them is made."""
        X, groups = self.design.dense("absorb=", "leave columns out"), self.groups
        centres, columns = np.empty((len(self.columns), len(groups))), np.empty((len(self.columns), len(X)))
        for j, centre, column in zip(self.columns, centres, columns, strict=True):
            column[:] = X[:, j]
            centre[:] = groups.sums(column) / groups.sizes
            column -= groups.at_rows(centre)
        return centres, columns

    @property
    def block(self) -> Block:
        """The rows as one block."""
        design = self.design
        return Block(0, self.X, design.y, design.freq, design.var, design.trials, design.offset)

    @cached_property
    def engine(self) -> MemoryEngine:
        """The rows, in blocks of whole units."""
        design = self.design
        vectors = {"freq": design.freq, "var": design.var, "trials": design.trials, "offset": design.offset}
        return grouped_engine(self.X, design.y, self.groups, **vectors)

    def with_columns(self, columns: NDArray) -> Panel:
        """Return the panel with other columns of the design."""
        return replace(self, columns=columns)

    @property
    def weight(self) -> NDArray:
        """The weight of each row."""
        design = self.design
        return times(np.ones(design.n_rows), design.freq, design.var, design.trials)


def factors_of(design: Design, absorb: Any) -> list[Factor]:
    """Return the factors that a user names, or gives as values; the one with more levels first."""
    given = design.rows_of(absorb, "absorb")
    if given.shape[1] not in (1, 2):
        raise InvalidOptionError(
            f"absorb has {given.shape[1]} columns; constants of one factor or of two can be absorbed. Have the smallest as C(...) among the terms."
        )
    factors = [
        _factor(given.iloc[:, j], f"absorb{j + 1}" if given.shape[1] > 1 else "absorb") for j in range(given.shape[1])
    ]
    return sorted(factors, key=len, reverse=True)


def _factor(column: pd.Series, fallback: str) -> Factor:
    name = column.name if isinstance(column.name, str) else fallback
    n, missing = len(column), int(column.isna().sum())
    if missing:
        raise InvalidDataError(
            f"{name!r}, whose constants are absorbed, is missing in {missing} of the {n} rows of the model; leave those rows out, or use missing='drop'."
        )
    codes, levels = pd.factorize(column, sort=False)
    if len(levels) == n:
        raise InvalidDataError(
            f"{name!r} has a different value in each of the {n} rows, so that every unit is one row; name the column that rows of a unit share."
        )
    refuse_measurement(name, column, levels)
    if len(levels) == 1:
        raise InvalidDataError(
            f"{name!r} has one level only, {levels[0]!r}: its constant is the ordinary one. Leave it out."
        )
    return Factor(name, codes, pd.Index(levels))


def panel_of(design: Design, factors: list[Factor], columns: NDArray, *, all_units: bool) -> Panel:
    """Return the rows in the order of the first factor; without units of one outcome only, unless all are asked for."""
    kept, left_out = _informative(design, factors)
    if not kept.any():
        raise InvalidDataError(_no_variation(factors[0], left_out[0], design))
    if all_units:
        kept, left_out = np.ones(design.n_rows, dtype=bool), [LeftOut() for _ in factors]
    rows = np.flatnonzero(kept)
    codes = factors[0].codes if len(rows) == len(kept) else factors[0].codes[rows]
    if (np.diff(codes) < 0).any():
        rows = rows[np.argsort(codes, kind="stable")]
    if len(rows) < design.n_rows or (np.diff(rows) != 1).any():
        design, factors = design.selected(rows), [factor.on(rows) for factor in factors]
    components, parts = (1, None) if len(factors) == 1 else parts_of(*factors)
    return Panel(design, factors, rows, left_out, columns, components, parts)


def _informative(design: Design, factors: list[Factor]) -> tuple[NDArray, list[LeftOut]]:
    """Return the rows of levels with both outcomes; leaving out those of one factor may leave a level of the other with one outcome."""
    weight = product(design.freq, design.var, design.trials)
    events = times(design.y, weight)
    kept, left_out = np.ones(design.n_rows, dtype=bool), [LeftOut() for _ in factors]
    looking, everything = True, True
    while looking:
        looking = False
        for j, factor in enumerate(factors):
            there = weight if everything else kept if weight is None else weight * kept
            total = np.bincount(factor.codes, there, len(factor))
            cases = np.bincount(factor.codes, events if everything else events * kept, len(factor))
            never, always = (total > 0) & (cases <= 0), (total > 0) & (cases >= total)
            one = (never | always)[factor.codes] & kept
            if one.any():
                known, looking, everything = left_out[j], len(factors) > 1, False
                kept &= ~one
                left_out[j] = LeftOut(
                    known.never + int(never.sum()), known.always + int(always.sum()), known.rows + int(one.sum())
                )
    return kept, left_out


def parts_of(first: Factor, second: Factor) -> tuple[int, NDArray]:
    """Return in how many parts two factors fall that share no level, and the part of each level of the second."""
    size = len(first) + len(second)
    edges = coo_array((np.ones(len(first.codes)), (first.codes, second.codes + len(first))), (size, size))
    components, label = connected_components(edges, directed=False)
    return components, label[len(first) :]


def _no_variation(factor: Factor, left_out: LeftOut, design: Design) -> str:
    single = int((np.bincount(factor.codes) == 1).sum())
    return (
        f"none of the {len(factor)} levels of {factor.name!r} has both outcomes ({left_out.never} have no event, {left_out.always} nothing else, {single} one row "
        "only): their constants have no estimates, and slopes within them neither. Is it the column that units are told apart by?"
    )
