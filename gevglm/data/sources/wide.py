"""Tables in memory whose design would not fit there as a dense matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import prod

import pandas as pd
from patsy import PatsyError

from gevglm.data import formula as formulas
from gevglm.data.expressions import expression
from gevglm.data.formula_engines import read, terms_of
from gevglm.data.sources.base import BATCH_ROWS, Answer, Batches, Number, ReadSource
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

    def cached(
        self, function: Callable[[pd.DataFrame, Number], Answer], columns: Sequence[str], n_bytes: float
    ) -> CachedAnswers:
        return CachedAnswers(list(self.map(function, columns)))

    def _pieces(self) -> Iterator[pd.DataFrame]:
        for start in range(0, len(self._table), BATCH_ROWS):
            yield self._table.iloc[start : start + BATCH_ROWS]


class CachedAnswers(ReadSource):
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

    def batches(self, columns: Sequence[str], every: int = 1) -> Batches:
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
    return WideSource(table) if engine != "patsy" and _is_wide(formula, table) else None


def _is_wide(formula: str, table: pd.DataFrame) -> bool:
    most_columns = WIDE_BYTES / 8 / max(len(table), 1)
    if most_columns > len(table):
        return False
    sample = table.iloc[:: max(len(table) // SAMPLE, 1)]
    return all(_columns(formula, rows) > share * most_columns for rows, share in ((sample, 0.5), (table, 1.0)))


def _columns(formula: str, table: pd.DataFrame) -> int:
    """Return about how many columns a formula has, from the levels that rows have."""
    try:
        terms = terms_of(read(formulas.split(formula)[1]))
    except PatsyError:  # which is explained elsewhere
        return 0
    return sum(prod(_levels(factor, table) for factor in term) for term in terms)


def _levels(factor: str, table: pd.DataFrame) -> int:
    name = expression(factor).variable
    if name not in table.columns or (formulas.is_number(table[name].dtype) and not factor.startswith("C(")):
        return 1
    return int(table[name].nunique())
