"""Rows as they would be in other worlds, a block at a time: what risks are averaged over, never as a matrix of all rows for each world."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gevglm.data.changed_columns import ChangedColumns
from gevglm.effects.rows import Rows, Scenario
from gevglm.engine import Block, MemoryEngine
from gevglm.engine.linalg import dense
from gevglm.exceptions import InvalidDataError, InvalidOptionError

# rows of a block: enough that what is done to them in every world outweighs asking for it, and the turns that threads wait for
MANY_ROWS, FEW_ROWS, ELEMENTS = 1 << 16, 1 << 13, 1 << 20

World: TypeAlias = Mapping[str, Scenario]  # what each of the variables is in it; none are as they were observed


@dataclass(frozen=True)
class Worlds:
    """Rows in several worlds, which differ in the columns of some variables and share all others."""

    rows: Rows
    worlds: Sequence[World]
    changed: ChangedColumns
    # the columns in each world: of shape (1, c) if all rows are alike, of shape (n, c) if they are held; None if they are built block by block
    columns: Sequence[NDArray | None]

    @classmethod
    def of(cls, rows: Rows, worlds: Sequence[World]) -> Worlds:
        """Return rows in worlds that change the same variables, or none."""
        changed = ChangedColumns.of(rows.design, list(dict.fromkeys(name for world in worlds for name in world)))
        found = cls(rows, worlds, changed, [None] * len(worlds))
        if not changed.in_pieces:
            return found.held()
        return replace(found, columns=found._alike_columns())

    def held(self) -> Worlds:
        """Return the same with the columns in memory, for those who look at them many times."""
        every = slice(0, len(self.rows.weights))
        given = zip(self.worlds, self.columns, strict=True)
        return replace(
            self, columns=[self._built(world, every) if world and held is None else held for world, held in given]
        )

    def one_by_one(self) -> Iterator[Worlds]:
        """Yield each of them alone."""
        for world, columns in zip(self.worlds, self.columns, strict=True):
            yield replace(self, worlds=[world], columns=[columns])

    @cached_property
    def are_alike(self) -> list[bool]:
        """Whether one row of columns, for each world, stands for all of several."""
        several = len(self.rows.weights) > 1
        return [columns is not None and len(columns) == 1 and several for columns in self.columns]

    @property
    def undefined_alike(self) -> NDArray:
        """How many rows of each world are not finite because the one that stands for all is not."""
        given = zip(self.are_alike, self.columns, strict=True)
        bad = [alike and columns is not None and not np.isfinite(columns).all() for alike, columns in given]
        return np.where(bad, len(self.rows.weights), 0)

    def _alike(self, world: World) -> bool:
        """Whether the columns are the same in all rows of a world."""
        every = set(world) == set(self.changed.variables)
        return bool(world) and every and self.changed.alone and all(each.shift is None for each in world.values())

    def _alike_columns(self) -> list[NDArray | None]:
        """Return the columns of worlds in which all rows have the same, of shape (1, c); None for others. Worlds are built together, those of the same types."""
        first = self.rows.frame.iloc[[0]]
        together: dict[tuple, list[tuple[int, dict[str, pd.Series]]]] = {}
        for i, world in enumerate(self.worlds):
            if self._alike(world):
                values = {name: pd.Series(each.column(first[name])) for name, each in world.items()}
                together.setdefault(tuple(column.dtype for column in values.values()), []).append((i, values))
        found: list[NDArray | None] = [None] * len(self.worlds)
        for alike in together.values():
            frame = first.iloc[[0] * len(alike)].reset_index(drop=True)
            columns = {
                name: pd.concat([values[name] for _, values in alike], ignore_index=True) for name in alike[0][1]
            }
            for (i, _), row in zip(alike, self.changed.build(frame, columns), strict=True):
                found[i] = row[None, :]
        return found

    def _built(self, world: World, rows: slice) -> NDArray:
        frame = self.rows.frame.iloc[rows]
        values = {name: scenario.column(frame[name]) for name, scenario in world.items()}
        try:
            return self.changed.build(frame, values)
        except InvalidDataError as error:
            moved = [name for name, scenario in world.items() if scenario.shift is not None]
            if not moved:
                raise
            raise InvalidOptionError(
                f"{error} {moved[0]!r} is moved in every row, which takes some beyond the data; use at='iqr', or give two values."
            ) from None

    def engine(self) -> MemoryEngine:
        """Return the rows as they were observed; what they count for is what their blocks represent."""
        n = len(self.rows.weights)
        offset = None if np.ndim(self.rows.offset) == 0 and not self.rows.offset else self.rows.offset
        shift = None if offset is None else np.broadcast_to(offset, (n,))
        nothing = np.broadcast_to(0.0, (n,))
        built = any(world and columns is None for world, columns in zip(self.worlds, self.columns, strict=True))
        rows = MANY_ROWS if built else max(FEW_ROWS, min(MANY_ROWS, ELEMENTS // self.rows.X.shape[1]))
        return MemoryEngine(self.rows.X, nothing, offset=shift, represents=self.rows.weights, block_rows=rows)

    def in_block(self, block: Block, params: NDArray) -> Iterator[tuple[NDArray, NDArray | None]]:
        """Yield, for each world, the linear predictor of the rows of a block, and the columns that were changed; None if none were."""
        places, rows = self.changed.places, block.rows
        others = np.array(params, dtype=float)
        others[places] = 0.0
        X = dense(block.X)
        fixed = replace(block, X=X).linear_predictor(others)
        for world, columns in zip(self.worlds, self.columns, strict=True):
            if not world:
                yield fixed + X[:, places] @ params[places], None
                continue
            if columns is None:
                columns = self._built(world, rows)
            elif len(columns) > 1:
                columns = columns[rows]
            moved = columns @ params[places]
            yield fixed + (moved[0] if len(moved) == 1 else moved), columns

    def refuse_undefined(self, undefined: NDArray) -> None:
        """Refuse worlds in which rows of the design, so many in each, are not finite."""
        n = len(self.rows.weights)
        for world, rows in zip(self.worlds, undefined, strict=True):
            if rows:
                values = ", ".join(f"{name} = {scenario.label}" for name, scenario in world.items())
                raise InvalidOptionError(
                    f"with {values}, {int(rows)} of {n} rows of the design are not finite; "
                    "the formula is not defined there. Give other values as at=."
                )
