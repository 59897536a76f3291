"""Tables in memory whose design would not fit there as a dense matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import prod

import pandas as pd
from patsy import PatsyError

from gevglm.data import formula as formulas
from gevglm.data.sources.base import BATCH_ROWS, Answer, Load, Number, ReadSource
from gevglm.data.sources.frames import FramesSource

WIDE_BYTES = 2 << 30  # of a dense design that is not built
SAMPLE = 10_000  # rows that tell whether all need be looked at


class WideSource(FramesSource):
    """A table in memory whose design is built in pieces, sparse, and kept.

    Parameters
    ----------
    table : DataFrame
    """

    def __init__(self, table: pd.DataFrame):
        self._table = table
        super().__init__(self._pieces)
        self.name = "the data"

    def held(
        self, function: Callable[[pd.DataFrame, Number], Answer], columns: Sequence[str], n_bytes: float
    ) -> HeldAnswers:
        return HeldAnswers(list(self.map(function, columns)))

    def _pieces(self) -> Iterator[pd.DataFrame]:
        for start in range(0, len(self._table), BATCH_ROWS):
            yield self._table.iloc[start : start + BATCH_ROWS]


class HeldAnswers(ReadSource):
    """What was made of the pieces of a table, in memory.

    Parameters
    ----------
    answers : list of tuple
        Numbers of pieces, and what was made of each.
    """

    name = "the design"
    columns: list[str] = []

    def __init__(self, answers: list[tuple[Number, Answer]]):
        self._answers = answers

    def batches(self, columns: Sequence[str], every: int = 1) -> Iterator[tuple[Number, Load]]:
        for number, answer in self._answers:
            if number[0] % every == 0:
                yield number, partial(_same, answer)


def _same(answer: Answer) -> Answer:
    return answer


def wide_source(formula: str, table: pd.DataFrame, engine: str | None = None) -> WideSource | None:
    """Return a source for a table whose dense design would be too large because of the levels of its factors, else None.

    Parameters
    ----------
    formula : str
    table : DataFrame
    engine : {"formulaic", "patsy"}, optional
        patsy knows no sparse designs.
    """
    if (engine or formulas.default_engine()) != "formulaic":
        return None
    return WideSource(table) if _is_wide(formula, table) else None


def _is_wide(formula: str, table: pd.DataFrame) -> bool:
    most_columns = WIDE_BYTES / 8 / max(len(table), 1)
    if most_columns > len(table):
        return False
    sample = table.iloc[:: max(len(table) // SAMPLE, 1)]
    return all(_columns(formula, rows) > share * most_columns for rows, share in ((sample, 0.5), (table, 1.0)))


def _columns(formula: str, table: pd.DataFrame) -> int:
    """Return about how many columns a formula has, from the levels that rows have."""
    try:
        terms = formulas.read(formulas.split(formula)[1]).rhs_termlist
    except PatsyError:  # which is explained elsewhere
        return 0
    return sum(prod(_levels(factor.name(), table) for factor in term.factors) for term in terms)


def _levels(factor: str, table: pd.DataFrame) -> int:
    names = [name for name in formulas.names_in(factor) if name in table.columns]
    if len(names) != 1 or not (factor.startswith(("C(", "Q(")) or factor == names[0]):
        return 1
    numeric = pd.api.types.is_numeric_dtype(table[names[0]].dtype)
    return 1 if numeric and not factor.startswith("C(") else int(table[names[0]].nunique())
