"""The design of data that are never in memory at once."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, NoReturn

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gevglm.data import formula as formulas
from gevglm.data.design import Design, UnloadedArray, rows_needed
from gevglm.data.expressions import names_in
from gevglm.data.formula import Recipe
from gevglm.data.grouping import Grouping, check_ways, refuse_missing
from gevglm.data.new_rows import Layout
from gevglm.data.outcome import Coding
from gevglm.data.reader import Reader, refuse_dependence_on_other_rows
from gevglm.data.selection import ROLES, Selection, check_rows
from gevglm.data.sources.base import Number, Source
from gevglm.engine.base import ArraySum, Block
from gevglm.engine.linalg import squared_deviations
from gevglm.engine.memory import physical_memory
from gevglm.engine.monitor import NULL_MONITOR, Monitor
from gevglm.engine.streamed import StreamedEngine
from gevglm.exceptions import InvalidDataError, InvalidOptionError

BYTES_PER_PAIR = 50.0  # of coefficients: second derivatives, their factor and inverse, and the covariance


@dataclass(frozen=True)
class StreamedDesign(Layout):
    """A design whose rows are read in pieces; see :class:`gevglm.data.design.Design`."""

    source: Source | None  # None after the data were removed
    reader: Reader
    kept: dict[Number, int] = field(repr=False)  # complete rows of every batch of rows
    n_given: int
    n_missing: int
    n_events: float
    n_total: float
    sum_freq: float
    n_non_integer: int = 0
    constant: int | None = None
    has_rows = False
    rows = index = frame = None

    @property
    def outcome(self) -> str:
        return self.reader.outcome

    @property
    def event(self) -> Any:
        return self.reader.coding.event

    @property
    def n_rows(self) -> int:
        return sum(self.kept.values())

    @property
    def X(self) -> NDArray:
        return UnloadedArray.of(self.n_rows, len(self.names))

    @property
    def y(self) -> NDArray:
        return UnloadedArray.of(self.n_rows)

    @property
    def freq(self) -> NDArray | None:
        return self._vector(self.reader.selection.freq_weights is not None and not self.reader.coding.shares)

    @property
    def trials(self) -> NDArray | None:
        return self._vector(self.reader.coding.counts or self.reader.coding.shares)

    @property
    def var(self) -> NDArray | None:
        return self._vector(self.reader.selection.var_weights is not None or self.reader.weights is not None)

    @property
    def offset(self) -> NDArray | None:
        return self._vector(self.offset_name is not None or self.exposure_name is not None)

    @property
    def counts(self) -> NDArray | None:
        return self._vector(self.freq is not None or self.trials is not None)

    def _vector(self, there: bool) -> NDArray | None:
        return UnloadedArray.of(self.n_rows) if there else None

    def need_rows(self, what: str, instead: str = "") -> NoReturn:
        raise InvalidDataError(rows_needed(what, instead))

    def engine(self, exog: NDArray | None = None) -> StreamedEngine:
        if exog is not None:
            self.need_rows("another design matrix")
        return self._engine

    @cached_property
    def _engine(self) -> StreamedEngine:
        return StreamedEngine(self._source, self.reader, self.kept)

    @property
    def _source(self) -> Source:
        if self.source is None:
            self.need_rows("a pass over the data", "give data")
        return self.source

    def labelled(self) -> tuple[Any, Any]:
        return pd.Series(np.zeros(0), name=self.outcome), pd.DataFrame(
            np.zeros((0, len(self.names))), columns=self.names
        )

    def labels_of(self, positions: list[int]) -> list[str]:
        return [str(position) for position in positions]

    def reweighted(self, weights: Callable[[NDArray], NDArray | None]) -> StreamedDesign:
        if weights(np.array([0.0, 1.0])) is None:
            return self
        return replace(self, reader=replace(self.reader, weights=weights))

    def unweighted(self) -> StreamedDesign:
        selection = replace(self.reader.selection, var_weights=None)
        return replace(self, reader=replace(self.reader, selection=selection, weights=None))

    def grouping(self, groups: Any) -> Grouping:
        names = [groups] if isinstance(groups, str) else list(groups)
        if not all(isinstance(name, str) for name in names):
            raise InvalidOptionError("the data are read in pieces: give groups as the name of a column, or two names.")
        check_ways(len(names))
        self._source.check(names)
        columns = list(dict.fromkeys([*self.reader.columns, *names]))
        keys, missing = [], 0
        with closing(self._source.map(partial(_distinct, self.reader.selection, names), columns)) as answers:
            for _, (rows, absent) in answers:
                keys.append(rows)
                missing += absent
                if len(keys) > 64:
                    keys = [pd.concat(keys).drop_duplicates()]
        refuse_missing(missing)
        return Grouping(pd.concat(keys, ignore_index=True).drop_duplicates(ignore_index=True))

    def same_outcomes(self, other: Design) -> bool:
        if not isinstance(other, StreamedDesign):
            return False
        return (self.kept, self.n_events, self.outcome) == (other.kept, other.n_events, other.outcome)

    def column_variances(self) -> NDArray:
        engine = self.engine()
        mean = engine.reduce(ArraySum(lambda block: block.X.sum(axis=0))) / engine.n_rows
        return engine.reduce(ArraySum(lambda block: squared_deviations(block.X, mean))) / engine.n_rows

    def rows_of(self, values: Any, role: str) -> NoReturn:
        self.need_rows(f"{role} as an array", "name a column")

    def on_rows(self, rows: NDArray) -> NoReturn:
        self.need_rows("a fit to some of the rows")

    def of_single_observations(self, y: NDArray) -> NoReturn:
        self.need_rows("a fit to single observations")

    def without_rows(self) -> StreamedDesign:
        return replace(self, source=None)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_engine"}


def from_source(
    formula: str,
    source: Source,
    *,
    scope: dict[str, Any],
    event: Any = None,
    subset: Any = None,
    missing: str = "drop",
    engine: str | None = None,
    monitor: Monitor = NULL_MONITOR,
    **roles: Any,
) -> StreamedDesign:
    """Build a design from a formula and a table in pieces, by one look at the table.

    Parameters
    ----------
    formula : str
    source : Source
    scope : dict
        Objects of the user's scope that the formula names.
    event, subset, missing, engine
        See :meth:`gevglm.BinaryGLM.from_formula`.
    monitor : Monitor
        Follows the look.
    **roles
        Offset, exposure and weights, as names of columns.
    """
    _refuse_arrays(roles, subset)
    if engine not in (None, "formulaic"):
        raise InvalidOptionError("data in pieces need formula_engine='formulaic'.")
    from gevglm.data.scan import scan

    selection = Selection(formula, scope, **roles, subset=subset, missing=missing)
    columns = _columns(selection, source)
    source.check(columns)
    found, state = scan(source, selection, columns, monitor)
    if not found.n_given:
        raise InvalidDataError("the data have no rows.")
    check_rows(found.n_given, found.n_selected, found.n_missing, missing)
    for problem, count in found.problems.items():
        raise InvalidDataError(f"{problem}; {count} rows are not.")
    if not found.sums[0] > 0:
        raise InvalidDataError(f"freq_weights are zero in all {sum(found.kept.values())} rows.")
    outcome = formulas.outcome_name(selection.left.text, source.columns)
    recipe = Recipe(
        selection.right, found.example, selection.scope_beside(source.columns), "formulaic", state, sparse=True
    )
    recipe.take_first()
    if not recipe.names:
        raise InvalidDataError("the design has no columns; a model with a constant only is 'y ~ 1'.")
    _refuse_too_many_columns(len(recipe.names))
    coding, events, total = _outcome(found, event, outcome, selection)
    reader = Reader(selection, recipe, coding, tuple(columns), outcome)
    refuse_dependence_on_other_rows(reader, found.example)
    design = StreamedDesign(
        source,
        reader,
        found.kept,
        found.n_given,
        found.n_missing,
        events,
        total,
        float(sum(found.kept.values())) if coding.shares else float(found.sums[0]),
        found.non_integer,
        names=recipe.names,
        recipe=recipe,
        offset_name=selection.offset,
        exposure_name=selection.exposure,
    )
    return replace(design, constant=_constant(design))


def _outcome(found: Any, event: Any, name: str, selection: Selection) -> tuple[Coding, float, float]:
    """Return how the outcome is read, the events and the observations."""
    rows = sum(found.kept.values())
    if found.counts:
        if event is not None:
            raise InvalidDataError("event= does not go with counts: the first column counts the events.")
        if not 0 < found.sums[2] < found.sums[1]:
            raise InvalidDataError(
                f"the outcome {name!r} has one outcome only in {rows} rows; a binary regression needs both."
            )
        return Coding("successes", counts=True), float(found.sums[2]), float(found.sums[1])
    coding = Coding.learn(list(found.outcomes), event, name, rows, selection.freq_weights is not None)
    events = found.sums[2] if coding.numbers else found.outcomes[coding.event]
    return coding, float(events), float(found.sums[1])


def _columns(selection: Selection, source: Source) -> list[str]:
    """Return the columns to read."""
    named = [getattr(selection, role) for role in ROLES]
    subset = names_in(selection.subset) if selection.subset is not None else []
    for name in named:
        if name is not None and name not in source.columns:
            source.check([name])
    return list(
        dict.fromkeys(
            [
                *selection.used(source.columns),
                *(name for name in named if name is not None),
                *(name for name in subset if name in source.columns),
            ]
        )
    )


def _refuse_too_many_columns(number: int) -> None:
    """Refuse designs whose second derivatives do not fit in memory."""
    needed, there = BYTES_PER_PAIR * number**2, physical_memory()
    if needed > there:
        raise InvalidDataError(
            f"the design has {number} columns, whose k x k matrices need about {needed / 1e9:.0f} GB, but this machine has {there / 1e9:.0f} GB; "
            "join rare levels of factors, or leave some out."
        )


def _refuse_arrays(roles: dict[str, Any], subset: Any) -> None:
    for role, value in {**roles, "subset": subset}.items():
        if value is not None and not isinstance(value, str):
            what = "a condition, such as 'age > 40'" if role == "subset" else "the name of a column"
            raise InvalidOptionError(f"the data are read in pieces: give {role} as {what}.")


def _distinct(selection: Selection, names: list[str], table: pd.DataFrame, number: Number) -> tuple[pd.DataFrame, int]:
    rows = selection.of(table).frame[names]
    return rows.drop_duplicates(), int(rows.isna().any(axis=1).sum())


def _constant(design: StreamedDesign) -> int | None:
    """Return the first column of ones, if there is one."""
    if "Intercept" in design.names:
        return design.names.index("Intercept")
    ones = design.engine().reduce(ArraySum(_not_one)) == 0
    return int(np.flatnonzero(ones)[0]) if ones.any() else None


def _not_one(block: Block) -> NDArray:
    return len(block.y) - (block.X == 1.0).sum(axis=0)
